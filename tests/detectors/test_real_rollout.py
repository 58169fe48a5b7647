"""The same judgement on a real control plane: its own ReplicaSets, statuses and conditions, read by the eyes."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from handrail.adapters.kubernetes import KubernetesEyes
from handrail.adapters.kubernetes.client import Cluster
from handrail.model.config import KubernetesConfig
from handrail.model.detector import Window
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.target import ObjectRef
from handrail_detectors.workload_rollout import detector
from tests.servers.api import JSON_PATCH
from tests.servers.control_plane import ControlPlane

pytestmark = pytest.mark.server

IMAGE = "/spec/template/spec/containers/0/image"
PROBE = "/spec/template/spec/containers/0/readinessProbe"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    name = f"detect-{uuid.uuid4().hex[:8]}"
    control_plane.ensure_namespace(name)
    yield name
    control_plane.api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
async def eyes(control_plane: ControlPlane) -> AsyncIterator[KubernetesEyes]:
    async with Cluster(KubernetesConfig(mode="kubeconfig", kubeconfig=str(control_plane.kubeconfig))) as cluster:
        yield KubernetesEyes(cluster)


PATIENT = 600
"""Seconds in which a rollout must progress. A few would pass on a busy machine before the first crash is seen, and the
control plane would call that rollout stuck."""


@pytest.mark.parametrize(
    ("change", "cause", "reasons"),
    [
        ({IMAGE: "shop:crash"}, Cause.BAD_REVISION_CRASHES, {"CrashLoopBackOff", "Error"}),
        ({IMAGE: "shop:nopull"}, Cause.BAD_REVISION_IMAGE, {"ErrImagePull", "ImagePullBackOff"}),
        (
            {PROBE: {"httpGet": {"path": "/", "port": 9999}}, "/spec/progressDeadlineSeconds": 5},
            Cause.BAD_REVISION_STUCK,
            {"ProgressDeadlineExceeded"},
        ),
    ],
)
async def test_a_bad_revision_is_found_while_the_one_before_stays_ready(
    control_plane: ControlPlane,
    namespace: str,
    eyes: KubernetesEyes,
    change: dict[str, Any],
    cause: Cause,
    reasons: set[str],
) -> None:
    ref = deploy(control_plane, namespace)
    await until_ready(eyes, ref)
    assert await judge(eyes, ref) == ()
    patch(control_plane, namespace, [{"op": "add", "path": path, "value": value} for path, value in change.items()])
    finding = await first(eyes, ref)
    assert (finding.cause, finding.handling, finding.corroborated) == (cause, Handling.APPROVE, True)
    assert (finding.facts["bad_revision"], finding.facts["healthy_revision"]) == (2, 1)
    assert finding.facts["reason"] in reasons
    assert finding.target is not None
    assert finding.target.uid == ref.uid


async def test_a_first_revision_that_crashes_is_only_a_crash_loop(
    control_plane: ControlPlane, namespace: str, eyes: KubernetesEyes
) -> None:
    ref = deploy(control_plane, namespace, image="shop:crash")
    finding = await first(eyes, ref)
    assert (finding.cause, finding.handling) == (Cause.CRASH_LOOP, Handling.DIAGNOSE)
    assert finding.facts["doubt"] == "no_healthy_older_revision"


async def test_a_restart_of_a_healthy_deployment_gives_no_finding_at_any_moment(
    control_plane: ControlPlane, namespace: str, eyes: KubernetesEyes
) -> None:
    ref = deploy(control_plane, namespace)
    await until_ready(eyes, ref)
    patch(
        control_plane, namespace, [{"op": "add", "path": "/spec/template/metadata/annotations", "value": {"at": "1"}}]
    )
    for _ in range(20):
        assert await judge(eyes, ref) == ()
        await asyncio.sleep(0.1)


def deploy(cluster: ControlPlane, namespace: str, image: str = "shop:1") -> ObjectRef:
    labels = {"app": "shop"}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "shop"},
        "spec": {
            "replicas": 2,
            "progressDeadlineSeconds": PATIENT,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": image}]}},
        },
    }
    return ObjectRef.of(cluster.api.post(DEPLOYMENTS.format(namespace), body))


def patch(cluster: ControlPlane, namespace: str, ops: list[dict[str, Any]]) -> None:
    cluster.api.patch(f"{DEPLOYMENTS.format(namespace)}/shop", ops, JSON_PATCH)


async def judge(eyes: KubernetesEyes, ref: ObjectRef) -> tuple[Finding, ...]:
    window = Window(workload=await eyes.workload(ref))
    return detector.detect(window, datetime.now(UTC), detector.Params())


async def first(eyes: KubernetesEyes, ref: ObjectRef) -> Finding:
    async with asyncio.timeout(60):
        while True:
            found = await judge(eyes, ref)
            if found:
                (finding,) = found
                return finding
            await asyncio.sleep(0.2)


async def until_ready(eyes: KubernetesEyes, ref: ObjectRef) -> None:
    async with asyncio.timeout(60):
        while True:
            workload = await eyes.workload(ref)
            if workload is not None and workload.ready == workload.desired:
                return
            await asyncio.sleep(0.2)
