"""The numbers of the card's blast radius, from what the API server reported."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.core.blast import blast
from handrail.model import rollout
from handrail.model.workload import Workload
from tests.card import journals as j


def workload(kind: str = "Deployment", replicas: int = 10, **spec: Any) -> Workload:
    body = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "checkout", "namespace": "shop", "uid": "uid-1"},
        "spec": {"replicas": replicas, **spec},
        "status": {"readyReplicas": replicas, "desiredNumberScheduled": replicas, "numberReady": replicas},
    }
    return Workload(object=body, pods=({},) * replicas, observed_at=j.T0)


@pytest.mark.parametrize(
    ("kind", "spec", "at_once"),
    [
        ("Deployment", {}, 2),
        ("Deployment", {"strategy": {"type": "Recreate"}}, 10),
        ("Deployment", {"strategy": {"rollingUpdate": {"maxUnavailable": 0}}}, 0),
        ("Deployment", {"strategy": {"rollingUpdate": {"maxUnavailable": "40%"}}}, 4),
        ("StatefulSet", {}, 1),
        ("DaemonSet", {}, 1),
    ],
)
def test_how_many_go_at_once_is_the_rollout_strategys_with_the_apis_default(
    kind: str, spec: dict[str, Any], at_once: int
) -> None:
    assert rollout.at_once(workload(kind, **spec)) == at_once


def test_a_disruptive_saga_says_how_fast_the_ready_pods_go() -> None:
    told = blast(workload(), (j.STEP,))
    assert (told.pods, told.ready, told.percent) == (10, 10, 20)
    assert told.notes == ("10 of 10 pods are ready now", "at most 2 ready at a time (20 % of them)")


def test_a_small_deployment_keeps_its_ready_pods_until_the_new_ones_are() -> None:
    assert blast(workload(replicas=3), (j.STEP,)).notes[1] == "no ready pod goes before its replacement is ready"
