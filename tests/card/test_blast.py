"""The numbers of the card's blast radius, from what the API server reported."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.core.blast import Around, blast
from handrail.core.fingerprint import fingerprint
from handrail.model import rollout
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.workload import Workload
from handrail.model.write import Verb, Write
from tests.card import journals as j
from tests.remediations.workloads import limited, sick_node


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
        ("Deployment", {"strategy": {"rollingUpdate": {"maxUnavailable": "5%", "maxSurge": 0}}}, 1),
        ("Deployment", {"strategy": {"rollingUpdate": {"maxUnavailable": "5%", "maxSurge": "1%"}}}, 0),
        ("StatefulSet", {}, 1),
        ("StatefulSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "5%"}}}, 1),
        ("DaemonSet", {}, 1),
        ("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "15%"}}}, 2),
        ("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}}, 0),
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


def pods(count: int, *, ready: int) -> tuple[Raw, ...]:
    return tuple(
        {
            "metadata": {
                "name": f"checkout-{n}",
                "namespace": "shop",
                "uid": f"pod-{n}",
                "labels": {"app": "checkout"},
            },
            "status": {"conditions": [{"type": "Ready", "status": "True" if n <= ready else "False"}]},
        }
        for n in range(1, count + 1)
    )


def around(*more: Raw, allowed: int = 1) -> Around:
    """A budget over the pods, and a Service in front of them and of `more`."""
    selector = {"matchLabels": {"app": "checkout"}}
    budget = {"metadata": {"name": "b"}, "spec": {"selector": selector}, "status": {"disruptionsAllowed": allowed}}
    service = {"metadata": {"name": "front"}, "spec": {"selector": {"app": "checkout"}}}
    return Around(budgets=(budget,), services=(service,), behind={"front": (*pods(5, ready=4), *more)})


def removal(uid: str, verb: Verb) -> Write:
    ref = ObjectRef(api_version="v1", kind="Pod", namespace="shop", name=uid.replace("pod", "checkout"), uid=uid)
    return Write(verb=verb, object=ref, summary="let it go")


@pytest.mark.parametrize(
    ("uid", "percent", "left", "pace"),
    [
        ("pod-5", 0, {}, "no ready pod goes before its replacement is ready"),
        ("pod-1", 25, {"front": 3}, "at most 1 ready at a time (25 % of them)"),
    ],
    ids=["the one that hangs", "one that serves"],
)
@pytest.mark.parametrize("verb", [Verb.DELETE, Verb.EVICT])
def test_of_a_saga_on_single_pods_these_alone_are_counted(
    verb: Verb, uid: str, percent: int, left: dict[str, int], pace: str
) -> None:
    five = workload(replicas=5).model_copy(update={"pods": pods(5, ready=4)})
    live = five.model_copy(update={"object": {**five.object, "status": {"readyReplicas": 4}}})
    told = blast(live, (j.STEP,), (removal(uid, verb),), around())
    assert (told.pods, told.ready, told.percent) == (1, 4, percent)
    assert (told.budgets, told.endpoints) == ({"b": 1}, left)
    assert pace in told.notes


def test_a_rollout_says_what_each_service_keeps() -> None:
    ten = workload().model_copy(update={"pods": pods(10, ready=10)})
    other = {
        "metadata": {"name": "other", "namespace": "shop", "uid": "other"},
        "status": pods(1, ready=1)[0]["status"],
    }
    everything = around(other).model_copy(update={"behind": {"front": (*pods(10, ready=10), other)}})
    told = blast(ten, (j.STEP,), (), everything)
    assert told.endpoints == {"front": 9}
    assert "Service front keeps 9 ready endpoints" in told.notes


def test_a_cordon_moves_no_pod_and_says_who_still_takes_them() -> None:
    told = blast(sick_node(), (j.STEP,))
    assert (told.pods, told.percent) == (0, 0)
    assert told.notes == ("pods on it: 1, 1 ready; none is moved", "4 of 4 other nodes take new pods")


def test_an_autoscaler_says_what_it_scales() -> None:
    told = blast(limited(), (j.STEP,))
    assert told.notes == (
        "scales Deployment shop/checkout, 5 of 5 pods ready",
        "wants 5 between 2 and 5 replicas",
    )


def test_taints_that_the_cluster_itself_sets_are_no_change() -> None:
    """A node that becomes not ready gets one, as does one that is cordoned: no approval is void by that."""
    bare = sick_node().object
    tainted = {**bare, "spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}}
    marked = {**bare, "spec": {"taints": [{"key": "shop/gpu", "effect": "NoSchedule"}]}}
    assert fingerprint(bare, with_replicas=False) == fingerprint(tainted, with_replicas=False)
    assert fingerprint(bare, with_replicas=False) != fingerprint(marked, with_replicas=False)
