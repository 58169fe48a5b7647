"""A static pod is shown as a part of its node; that the node is well says nothing of the pod."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.gathering import ClusterGatherer
from handrail.model.incident import State
from handrail.model.reason import Reason
from handrail.reconciler import advance
from tests.kubernetes.objects import KnownObjects, pod, raw
from tests.reconciler.rig import Rig, Shop, rig

READY = {"conditions": [{"type": "Ready", "status": "True"}]}
NODE: Any = raw("Node", "node-1", status=READY)
STATIC: Any = pod(
    NODE, 1, ready=False, restarts=2, waiting={"reason": "CrashLoopBackOff", "message": "back-off restarting"}
)


def said(status: str, labels: dict[str, str]) -> bytes:
    alert = {"status": status, "labels": {**labels, "cluster": "demo"}, "annotations": {}}
    times = {"startsAt": "2026-01-01T00:00:00Z", "endsAt": "0001-01-01T00:00:00Z"}
    return json.dumps({"version": "4", "status": status, "receiver": "h", "alerts": [{**alert, **times}]}).encode()


@pytest.mark.parametrize(
    ("labels", "noise"),
    [
        ({"alertname": "KubePodCrashLooping", "namespace": "shop", "pod": "node-1-1"}, False),
        ({"alertname": "KubeNodeNotReady", "node": "node-1"}, True),
    ],
)
async def test_a_healthy_node_closes_its_own_alert_and_not_that_of_a_static_pod_on_it(
    shop: Shop, tmp_path: Path, labels: dict[str, str], noise: bool
) -> None:
    async with rig(shop, tmp_path) as life:
        life = Rig(replace(life.tools, gatherer=ClusterGatherer(KnownObjects(NODE, STATIC))), shop)
        for offset, status in enumerate(("firing", "resolved")):
            await life.take(said(status, labels), offset=offset)
        opened = await life.the_incident()
        await advance(life.tools, opened.id)
        await advance(life.tools, opened.id)
        seen = await life.the_incident()
        if noise:
            assert seen.end is not None
            assert (seen.state, seen.end[0]) == (State.SUPPRESSED, Reason.RESOLVED_BY_ITSELF)
        else:
            assert seen.state is State.PLANNING, (seen.state, seen.end)
            assert seen.target is not None
            assert seen.target.kind == "Node"
            assert any("CrashLoopBackOff" in item.excerpt for item in seen.evidence)
