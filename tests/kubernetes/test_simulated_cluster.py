"""The adapters against the simulated cluster: what the demo shows is what a real API server answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.gathering import ClusterGatherer
from handrail.adapters.kubernetes import Cluster, KubernetesEyes, KubernetesHands, KubernetesRights
from handrail.adapters.kubernetes.wire import Request
from handrail.model.config import KubernetesConfig
from handrail.model.errors import Permanent
from handrail.model.gathering import Gathering
from handrail.model.hands import Answer, DryRun
from handrail.model.reason import Reason, Refusal
from handrail.model.switch import Permit
from handrail.model.target import LabelledTarget, ObjectRef
from handrail.model.workload import Workload
from handrail.model.write import KEY_ANNOTATION, Verb, Write
from handrail.sim.simulator import Simulator
from tests.kubernetes.objects import NOW, alert

REF = ObjectRef(api_version="apps/v1", kind="Deployment", namespace="shop", name="checkout")
TARGET = LabelledTarget(kind="Deployment", namespace="shop", name="checkout")


@pytest.fixture
async def simulator() -> AsyncIterator[Simulator]:
    async with Simulator(seed=1) as started:
        yield started


@pytest.fixture
async def cluster(simulator: Simulator, tmp_path: Path) -> AsyncIterator[Cluster]:
    path = simulator.kubeconfig(tmp_path / "kubeconfig")
    async with Cluster(KubernetesConfig(mode="kubeconfig", kubeconfig=str(path))) as opened:
        await post(opened, "/api/v1/namespaces", {"metadata": {"name": "shop"}}, "v1", "Namespace")
        container = {"name": "checkout", "image": "shop/checkout:v1"}
        template = {"metadata": {"labels": {"app": "checkout"}}, "spec": {"containers": [container]}}
        spec = {"replicas": 2, "selector": {"matchLabels": {"app": "checkout"}}, "template": template}
        body = {"metadata": {"name": "checkout", "namespace": "shop"}, "spec": spec}
        await post(opened, "/apis/apps/v1/namespaces/shop/deployments", body, "apps/v1", "Deployment")
        yield opened


async def post(cluster: Cluster, path: str, body: dict[str, Any], version: str, kind: str) -> None:
    reply = await cluster.request(Request("POST", path, body={"apiVersion": version, "kind": kind, **body}))
    assert reply.ok, reply.sentence


async def settled(cluster: Cluster, ready: int, pods: int) -> Workload:
    for _ in range(300):
        seen = await KubernetesEyes(cluster).workload(REF)
        if seen is not None and seen.ready == ready and len(seen.pods) == pods:
            return seen
        await asyncio.sleep(0.05)
    raise AssertionError("the simulated cluster never came there")


def to_image(image: str, ref: ObjectRef) -> Write:
    ops = ({"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image},)
    return Write(verb=Verb.PATCH, object=ref, ops=ops, summary=f"set {image}", key=f"inc/1/0/do/{ref.uid}/patch")


async def test_a_write_is_rehearsed_done_and_marked_and_its_second_sending_conflicts(cluster: Cluster) -> None:
    seen = await settled(cluster, 2, 2)
    hands, write = KubernetesHands(cluster), to_image("shop/checkout:v2", seen.ref)
    dry = await hands.dry_run(write)
    assert isinstance(dry, DryRun)
    assert dry.after is not None
    unchanged = await hands.read(REF)
    assert unchanged is not None
    assert unchanged["spec"] == dry.before["spec"]
    permit = Permit(incident="inc", write=write, resource_version=dry.resource_version, attempt=1)
    sent = await hands.send(permit)
    assert sent.answer is Answer.DONE
    assert sent.object is not None
    assert sent.object["spec"] == dry.after["spec"]
    assert sent.object["metadata"]["annotations"][KEY_ANNOTATION] == write.key
    assert (await hands.send(permit)).answer is Answer.CONFLICT


async def test_another_uid_is_never_written_to(cluster: Cluster) -> None:
    seen = await settled(cluster, 2, 2)
    hands, write = KubernetesHands(cluster), to_image("shop/checkout:v2", seen.ref.model_copy(update={"uid": "other"}))
    refused = await hands.dry_run(write)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.DRIFTED
    live = await hands.read(REF)
    assert live is not None
    version = live["metadata"]["resourceVersion"]
    sent = await hands.send(Permit(incident="inc", write=write, resource_version=version, attempt=1))
    assert (sent.answer, sent.reason) == (Answer.REFUSED, Reason.DRIFTED)


async def test_a_user_without_rights_is_denied_and_known_by_name(
    simulator: Simulator, cluster: Cluster, tmp_path: Path
) -> None:
    simulator.add_token("bobs-token", "bob", ["dev"])
    person = await KubernetesRights(cluster).token_review("bobs-token")
    assert person is not None
    assert person.name == "bob"
    assert "dev" in person.groups
    path = simulator.kubeconfig(tmp_path / "bob", "bobs-token")
    async with Cluster(KubernetesConfig(mode="kubeconfig", kubeconfig=str(path))) as bobs:
        with pytest.raises(Permanent, match="forbidden"):
            await KubernetesEyes(bobs).get(REF)
        assert await KubernetesRights(bobs).too_much(("shop",)) == []


async def test_a_bad_rollout_is_gathered_with_its_cause(simulator: Simulator, cluster: Cluster) -> None:
    seen = await settled(cluster, 2, 2)
    hands, write = KubernetesHands(cluster), to_image("shop/checkout:v2-crash", seen.ref)
    simulator.set_logs("crash", "starting\n", "cannot connect, password=hunter2\n")
    dry = await hands.dry_run(write)
    assert isinstance(dry, DryRun)
    await hands.send(Permit(incident="inc", write=write, resource_version=dry.resource_version, attempt=1))
    await settled(cluster, 2, 3)
    found = await with_previous_logs(ClusterGatherer(KubernetesEyes(cluster)))
    texts = {piece.kind: piece.text for piece in found.pieces}
    assert "cannot connect, password=[redacted]" in texts["previous_logs"]
    assert "image: shop/checkout:v2-crash" in texts["template_diff"]
    assert "exit code 1" in texts["pods"]
    assert found.away == ()


async def with_previous_logs(gatherer: ClusterGatherer) -> Gathering:
    for _ in range(300):
        found = await gatherer.gather(TARGET, alert(), NOW)
        assert isinstance(found, Gathering)
        if any(piece.kind == "previous_logs" for piece in found.pieces):
            return found
        await asyncio.sleep(0.05)
    raise AssertionError("no container was ever restarted")
