"""Writes on a real API server: dry-runs, keys, and the preconditions that hold everything else off."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from handrail.adapters.kubernetes import Cluster, KubernetesEyes, KubernetesHands
from handrail.adapters.kubernetes.hands import carries_key, is_gone
from handrail.core.fingerprint import fingerprint
from handrail.model.errors import Transient
from handrail.model.hands import Answer
from handrail.model.reason import Reason, Refusal
from handrail.model.target import ObjectRef
from handrail.model.write import Verb, Write
from tests.kubernetes.real_shop import Shop, cluster, hands, healthy, permit, send_settled, shop, shown, until
from tests.servers.control_plane import ControlPlane

__all__ = ["cluster", "hands", "shop"]

pytestmark = pytest.mark.server


async def test_a_dry_run_changes_nothing_and_shows_what_the_write_then_does(hands: KubernetesHands, shop: Shop) -> None:
    write = shop.scale_to(3)
    dry = await shown(hands, write)
    assert shop.live()["spec"]["replicas"] == 2
    sent = await send_settled(hands, write)
    assert sent.answer is Answer.DONE
    assert sent.object is not None
    assert dry.after is not None
    dry_print, real_print = (fingerprint(one, with_replicas=True) for one in (dry.after, sent.object))
    assert dry_print == real_print
    assert shop.live()["spec"]["replicas"] == 3


async def test_a_write_leaves_its_key_on_the_object_and_not_in_its_pods(hands: KubernetesHands, shop: Shop) -> None:
    write = shop.scale_to(3)
    await send_settled(hands, write)
    live = shop.live()
    assert carries_key(live, write.key)
    assert write.key not in str(live["spec"])
    assert "handrail" in {entry["manager"] for entry in live["metadata"]["managedFields"]}


async def test_an_object_without_annotations_gets_its_key_too(
    cluster: Cluster, hands: KubernetesHands, shop: Shop
) -> None:
    path = f"/api/v1/namespaces/{shop.namespace}/configmaps"
    bare = shop.plane.api.post(path, {"metadata": {"name": "bare"}, "data": {"a": "1"}})
    assert "annotations" not in bare["metadata"]
    ref = ObjectRef.of({**bare, "apiVersion": "v1", "kind": "ConfigMap"})
    ops = ({"op": "replace", "path": "/data/a", "value": "2"},)
    sent = await send_settled(hands, shop.scale_to(1, object=ref, ops=ops, key="k"))
    assert sent.object is not None
    assert carries_key(sent.object, "k")
    assert sent.object["data"] == {"a": "2"}


async def test_a_version_that_somebody_has_moved_past_is_a_conflict(hands: KubernetesHands, shop: Shop) -> None:
    write = shop.scale_to(5)
    version = (await shown(hands, write)).resource_version
    shop.touch()
    sent = await hands.send(permit(write, version))
    assert sent.answer is Answer.CONFLICT
    assert "modified" in sent.detail
    assert shop.live()["spec"]["replicas"] == 2


async def test_the_same_permit_sent_twice_is_done_once(hands: KubernetesHands, shop: Shop) -> None:
    write = shop.scale_to(3)
    for _ in range(50):
        version = (await shown(hands, write)).resource_version
        if (await hands.send(permit(write, version))).answer is Answer.DONE:
            break
    assert (await hands.send(permit(write, version))).answer is Answer.CONFLICT
    live = await hands.read(write.object)
    assert live is not None
    assert carries_key(live, write.key)


async def test_another_object_of_the_same_name_is_never_written_to(hands: KubernetesHands, shop: Shop) -> None:
    write = shop.scale_to(5)
    other = write.model_copy(update={"object": write.object.model_copy(update={"uid": str(uuid.uuid4())})})
    refused = await hands.dry_run(other)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.DRIFTED
    for _ in range(50):
        sent = await hands.send(permit(other, shop.live()["metadata"]["resourceVersion"]))
        if sent.answer is not Answer.CONFLICT:
            break
    assert (sent.answer, sent.reason) == (Answer.REFUSED, Reason.DRIFTED)
    assert shop.live()["spec"]["replicas"] == 2


async def test_an_object_that_is_gone_is_said_to_be_gone(hands: KubernetesHands, shop: Shop) -> None:
    write = shop.scale_to(5)
    shop.plane.api.delete(shop.path)
    refused = await hands.dry_run(write)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.TARGET_GONE
    sent = await hands.send(permit(write, "1"))
    assert (sent.answer, sent.reason) == (Answer.REFUSED, Reason.DRIFTED)
    assert await hands.read(write.object) is None


@pytest.mark.parametrize(
    "ops",
    [
        ({"op": "replace", "path": "/spec/replicas", "value": -1},),
        ({"op": "add", "path": "/spec/noSuchField", "value": 1},),
        ({"op": "remove", "path": "/spec/selector"},),
        ({"op": "replace", "path": "/spec/nothing/here", "value": 1},),
    ],
)
async def test_a_patch_that_the_server_does_not_take_is_refused_before_and_when_sent(
    hands: KubernetesHands, shop: Shop, ops: tuple[dict[str, Any], ...]
) -> None:
    write = shop.scale_to(3, ops=ops)
    refused = await hands.dry_run(write)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.REFUSED_BY_SERVER
    for _ in range(50):
        sent = await hands.send(permit(write, shop.live()["metadata"]["resourceVersion"]))
        if sent.answer is not Answer.CONFLICT:
            break
    assert (sent.answer, sent.reason) == (Answer.REFUSED, Reason.REFUSED_BY_SERVER)


async def test_a_delete_names_its_object_and_its_version(hands: KubernetesHands, shop: Shop) -> None:
    path = f"/api/v1/namespaces/{shop.namespace}/configmaps"
    created = shop.plane.api.post(path, {"metadata": {"name": "old"}, "data": {}})
    ref = ObjectRef.of({**created, "apiVersion": "v1", "kind": "ConfigMap"})
    write = Write(verb=Verb.DELETE, object=ref, summary="delete it", key="k")
    dry = await shown(hands, write)
    assert dry.after is None
    assert await hands.read(ref) is not None
    stale = await hands.send(permit(write, "1"))
    assert stale.answer is Answer.CONFLICT
    other = write.model_copy(update={"object": ref.model_copy(update={"uid": str(uuid.uuid4())})})
    gone = await hands.send(permit(other, dry.resource_version))
    assert (gone.answer, "nothing was sent" in gone.detail) == (Answer.DONE, True), "another object has its name by now"
    assert await hands.read(ref) is not None
    assert (await hands.send(permit(write, dry.resource_version))).answer is Answer.DONE
    assert await hands.read(ref) is None


async def test_a_create_has_a_fixed_name_and_conflicts_with_what_is_there(hands: KubernetesHands, shop: Shop) -> None:
    name = {"namespace": shop.namespace, "name": "guard"}
    ref = ObjectRef(api_version="policy/v1", kind="PodDisruptionBudget", **name)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "checkout"}}}
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": name, "spec": spec}
    write = Write(verb=Verb.CREATE, object=ref, body=body, summary="guard", key="k")
    dry = await shown(hands, write)
    assert (dry.before, dry.resource_version) == ({}, "")
    assert await hands.read(ref) is None
    sent = await hands.send(permit(write, ""))
    assert sent.answer is Answer.DONE
    assert sent.object is not None
    assert carries_key(sent.object, "k")
    assert (await hands.send(permit(write, ""))).answer is Answer.CONFLICT
    again = await hands.dry_run(write)
    assert isinstance(again, Refusal)
    assert again.reason is Reason.DRIFTED


@contextmanager
def nobody_counts(plane: ControlPlane) -> Iterator[None]:
    """The controllers hang: what is written about a budget stays uncounted."""
    controllers = plane.processes["kube-controller-manager"]
    controllers.send(signal.SIGSTOP)
    try:
        yield
    finally:
        controllers.send(signal.SIGCONT)


async def test_an_eviction_that_a_budget_forbids_is_refused_with_the_budgets_words(
    cluster: Cluster, hands: KubernetesHands, shop: Shop
) -> None:
    await healthy(cluster, shop)
    budgets = f"/apis/policy/v1/namespaces/{shop.namespace}/poddisruptionbudgets"
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "checkout"}}}
    shop.plane.api.post(budgets, {"metadata": {"name": "all"}, "spec": spec})

    async def counted() -> bool:
        status = shop.plane.api.get(f"{budgets}/all").get("status") or {}
        return status.get("currentHealthy") == 2 and status.get("observedGeneration") == 1

    await until(counted, "the budget is counted")
    seen = await KubernetesEyes(cluster).workload(shop.ref())
    assert seen is not None
    ref = ObjectRef.of(seen.pods[0])
    write = Write(verb=Verb.EVICT, object=ref, summary="evict a pod", key="k")
    refused = await hands.dry_run(write)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.DISRUPTION_BUDGET
    sent = await hands.send(permit(write, seen.pods[0]["metadata"]["resourceVersion"]))
    assert (sent.answer, sent.reason) == (Answer.REFUSED, Reason.DISRUPTION_BUDGET)
    assert "disruption budget" in sent.detail
    with nobody_counts(shop.plane):
        shop.plane.api.patch(f"{budgets}/all", {"spec": {"minAvailable": 1}})
        for again in (hands.dry_run(write), hands.send(permit(write, "1"))):
            with pytest.raises(Transient, match="still being processed") as away:
                await again
            assert away.value.retry_after == 10
        assert not is_gone(write, await hands.read(ref))
    shop.plane.api.delete(f"{budgets}/all")
    assert (await shown(hands, write)).after is None
    other = write.model_copy(update={"object": ref.model_copy(update={"uid": str(uuid.uuid4())})})
    gone = await hands.send(permit(other, "1"))
    assert (gone.answer, "nothing was sent" in gone.detail) == (Answer.DONE, True), "another pod has its name by now"
    assert await hands.read(ref) is not None
    assert (await hands.send(permit(write, "1"))).answer is Answer.DONE
