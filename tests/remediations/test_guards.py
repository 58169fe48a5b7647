"""What a step must refuse, one test for each guard that public failures taught; each has its own reason."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest

from handrail.model.marks import MIGRATION
from handrail.model.reason import Reason
from handrail.model.step import Thing
from handrail.model.value import Raw
from handrail.model.workload import Workload
from handrail.model.write import KEY_ANNOTATION
from tests.remediations.catalogue_cases import CATALOGUE, hung, sight
from tests.remediations.contract import params_of
from tests.remediations.workloads import (
    NOW,
    bad_revision,
    bad_rollout,
    budget,
    changed,
    deadlocked,
    node,
    replica_set,
    steady,
    template,
    with_meta,
    with_pod,
    with_spec,
    with_status,
)

EVICTABLE = (budget(1), node("node-1"))


def refused(name: str, thing: Thing, given: dict[str, Any], *around: Raw) -> str:
    refusal = CATALOGUE[name].check(sight(name, thing, around), params_of(CATALOGUE[name], given))
    return refusal.reason if refusal else ""


def undone(w: Workload) -> str:
    return refused("rollout_undo", w, {"to_revision": 1})


def deleted(w: Workload, uid: str = "") -> str:
    return refused("delete_pod", w, {"uid": uid or hung(w)})


def evicted(w: Workload, *around: Raw, uid: str = "") -> str:
    return refused("evict_pod", w, {"uid": uid or hung(w)}, *(around or EVICTABLE))


def both(w: Workload) -> set[str]:
    return {deleted(w), evicted(w)}


KINDS = pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])


@KINDS
def test_undo_without_history(kind: str) -> None:
    w = bad_revision(kind)
    assert undone(changed(w, revisions=w.revisions[1:])) == Reason.NO_HISTORY


@KINDS
def test_undo_to_the_template_that_is_there(kind: str) -> None:
    assert undone(with_spec(bad_revision(kind), template=template())) == Reason.NO_CHANGE


@KINDS
def test_undo_to_a_revision_that_never_became_healthy(kind: str) -> None:
    w = bad_revision(kind)
    sick = [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-29T11:00:00Z"}]
    for number in (1, 2):
        w = with_pod(w, number, status={"conditions": sick})
    w = with_status(w, readyReplicas=2)  # the quorum is not what refuses
    assert undone(w) == Reason.NO_HEALTHY_REVISION


@KINDS
def test_undo_after_our_own_undo(kind: str) -> None:
    """The current revision was made before one of a lower number: it came back, under a key of ours."""
    w = bad_revision(kind)
    one, two = (copy.deepcopy(raw) for raw in w.revisions)
    one["revision"], two["revision"] = 2, 1
    two["data"]["spec"]["template"], one["data"]["spec"]["template"] = (
        {**template(), "$patch": "replace"},
        {**template("shop/checkout:1.1-missing"), "$patch": "replace"},
    )
    w = changed(with_meta(w, annotations={KEY_ANNOTATION: "inc/1/0/do/dep-1/patch"}), revisions=(one, two))
    assert undone(w) == Reason.LAST_CHANGE_WAS_OURS


def test_undo_after_somebody_elses_undo() -> None:
    """Two undos return to the bad version (kubernetes/website 6921), whoever made the first."""
    back, left = replica_set(3, template(), ready=1, history="1"), replica_set(2, template("bad"), ready=1)
    w = changed(with_spec(bad_rollout(), template=template()), replica_sets=(back, left))
    assert refused("rollout_undo", w, {"to_revision": 2}) == Reason.LAST_CHANGE_WAS_UNDO


@pytest.mark.parametrize("how", ["checksum", "restart", "reloader"])
def test_undo_of_what_was_a_change_of_configuration_alone(how: str) -> None:
    """The same image and the same pods: older ones would find the ConfigMap as it is now (kubernetes#22368)."""
    new = template()
    if how == "reloader":
        new["spec"]["containers"][0]["env"] = [{"name": "STAKATER_CHECKOUT_CONFIGMAP", "value": "5f2c"}]
    else:
        key = "checksum/config" if how == "checksum" else "kubectl.kubernetes.io/restartedAt"
        new["metadata"]["annotations"] = {key: "5f2c"}
    w = bad_rollout()
    w = changed(with_spec(w, template=new), replica_sets=(w.replica_sets[0], replica_set(2, new, replicas=2)))
    assert undone(w) == Reason.CONFIG_ONLY
    assert CATALOGUE["rollout_undo"].propose(sight("rollout_undo", w)) == ()


def test_undo_of_a_variable_is_no_change_of_configuration_alone() -> None:
    new = template()
    new["spec"]["containers"][0]["env"] = [{"name": "LEVEL", "value": "debug"}]
    w = bad_rollout()
    assert undone(changed(with_spec(w, template=new), replica_sets=(w.replica_sets[0], replica_set(2, new)))) == ""


def test_pods_that_all_fail_after_an_unrecorded_change_of_configuration() -> None:
    """Nothing was rolled out; the older revision has no pods, so nothing shows that it would fare better."""
    old, new = replica_set(1, template("shop/checkout:0.9")), replica_set(2, template(), replicas=3)
    w = changed(with_status(steady(ready=0), replicas=3), replica_sets=(old, new))
    assert undone(w) == Reason.NO_HEALTHY_REVISION


def by(manager: str, minutes: int, field: str = "f:template") -> Raw:
    at = (NOW - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"manager": manager, "operation": "Update", "time": at, "fieldsV1": {"f:spec": {field: {}}}}


@pytest.mark.parametrize("manager", ["kubectl-set", "kubectl-edit", "kubectl-rollout", "k9s", "Mozilla"])
@pytest.mark.parametrize(("name", "world"), [("rollout_undo", bad_rollout()), ("rollout_restart", steady())])
def test_a_rollout_that_a_person_made_by_hand_minutes_ago(manager: str, name: str, world: Workload) -> None:
    given = {"to_revision": 1} if name == "rollout_undo" else {}
    now = with_meta(world, managedFields=[by("deploy-bot", 300), by(manager, 3)])
    assert refused(name, now, given) == Reason.SOMEONE_ELSE_ACTS
    undated = {**by(manager, 3), "time": None}
    assert refused(name, with_meta(world, managedFields=[undated]), given) == Reason.SOMEONE_ELSE_ACTS


@pytest.mark.parametrize(
    "entry", [by("kubectl-set", 11), by("kubectl-client-side-apply", 1), by("deploy-bot", 1), by("k9s", 1, "f:paused")]
)
def test_a_rollout_of_a_pipeline_or_of_long_ago_is_nobodys_hand(entry: Raw) -> None:
    assert undone(with_meta(bad_rollout(), managedFields=[entry])) == ""


def test_undo_of_a_daemon_set_that_takes_every_node_at_once() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}}
    assert undone(with_spec(bad_revision("DaemonSet"), updateStrategy=rolling)) == Reason.FULL_OUTAGE


@KINDS
@pytest.mark.parametrize(
    "strategy", [{"type": "OnDelete"}, {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}]
)
def test_undo_where_a_person_steps_the_rollout(kind: str, strategy: Raw) -> None:
    assert undone(with_spec(bad_revision(kind), updateStrategy=strategy)) == Reason.PAUSED


@pytest.mark.parametrize("strategy", [{"type": "Recreate"}, {"rollingUpdate": {"maxUnavailable": "100%"}}])
def test_undo_whose_strategy_takes_every_pod_away(strategy: Raw) -> None:
    assert undone(with_spec(bad_rollout(), strategy=strategy)) == Reason.FULL_OUTAGE


@pytest.mark.parametrize("how", ["annotation", "init container"])
def test_undo_across_a_schema_migration(how: str) -> None:
    w = bad_rollout()
    new = copy.deepcopy(w.spec["template"])
    if how == "annotation":
        new["metadata"]["annotations"] = {MIGRATION: "2026-11-add-column"}
    else:
        new["spec"]["initContainers"] = [{"name": "migrate-db", "image": "shop/migrations:1.1"}]
    w = changed(with_spec(w, template=new), replica_sets=(w.replica_sets[0], replica_set(2, new, replicas=2)))
    assert undone(w) == Reason.MIGRATION_BETWEEN


def test_undo_where_the_same_migration_ran_in_both_revisions() -> None:
    migrating = [{"name": "migrate-db", "image": "shop/migrations:1.0"}]
    old, new = template(initContainers=migrating), template("shop/checkout:1.1-broken", initContainers=migrating)
    w = bad_rollout()
    sets = (replica_set(1, old, ready=2), replica_set(2, new, replicas=2))
    assert undone(changed(with_spec(w, template=new), replica_sets=sets)) == ""


def test_undo_of_a_stateful_set_without_its_majority() -> None:
    assert undone(with_status(bad_revision("StatefulSet"), readyReplicas=1)) == Reason.QUORUM_AT_RISK


def test_a_pod_of_an_older_incarnation_by_the_same_name() -> None:
    w = deadlocked("StatefulSet")
    again = with_pod(w, 5, metadata={"uid": "the-new-one"})
    assert {deleted(again, hung(w)), evicted(again, uid=hung(w))} == {Reason.TARGET_GONE}


def test_a_static_pod() -> None:
    mirror = {"annotations": {"kubernetes.io/config.mirror": "abc"}}
    assert both(with_pod(deadlocked(), 5, metadata=mirror)) == {Reason.STATIC_POD}
    of_node = [{"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "n", "controller": True}]
    assert both(with_pod(deadlocked(), 5, metadata={"ownerReferences": of_node})) == {Reason.STATIC_POD}


def test_a_pod_that_no_controller_makes_again() -> None:
    assert both(with_pod(deadlocked(), 5, metadata={"ownerReferences": []})) == {Reason.BARE_POD}


@pytest.mark.parametrize("volume", [{"emptyDir": {}}, {"hostPath": {"path": "/data"}}])
def test_a_pod_with_data_on_its_node(volume: Raw) -> None:
    w = with_pod(deadlocked(), 5, spec={"volumes": [{"name": "cache", **volume}]})
    assert both(w) == {Reason.LOCAL_DATA}


def test_a_pod_whose_volume_is_only_memory() -> None:
    w = with_pod(deadlocked(), 5, spec={"volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory"}}]})
    assert both(w) == {""}


def test_the_last_ready_pod() -> None:
    w = steady(replicas=2, ready=1)
    last = w.pods[0]["metadata"]["uid"]
    assert deleted(w, last) == Reason.LAST_READY
    at = {"nodeName": "node-1"}
    sick = (budget(1), node("node-1", ready=False))
    assert evicted(with_pod(w, 1, spec=at), *sick, uid=last) == Reason.LAST_READY


def test_a_member_without_which_the_majority_is_gone() -> None:
    w = with_status(deadlocked("StatefulSet"), readyReplicas=2)
    assert both(w) == {Reason.QUORUM_AT_RISK}


def test_a_pod_whose_peers_are_ill_too() -> None:
    """All pods unready: a shared cause, and restarting all of them would only lose warm caches."""
    w = deadlocked()
    for number in (1, 2, 3, 4):
        w = with_pod(w, number, status={"conditions": w.pods[4]["status"]["conditions"]})
    assert both(w) == {Reason.NOT_LOCAL}


def test_a_pod_that_flaps() -> None:
    assert both(deadlocked(since=NOW)) == {Reason.TOO_EARLY}


def test_a_pod_that_serves() -> None:
    w = steady(replicas=5)
    assert both(w) == {Reason.NO_CHANGE}


def test_a_pod_that_somebody_else_moves() -> None:
    w = deadlocked()
    told = [*w.pods[4]["status"]["conditions"], {"type": "DisruptionTarget", "status": "True"}]
    assert both(with_pod(w, 5, status={"conditions": told})) == {Reason.SOMEONE_ELSE_ACTS}


def test_a_pod_that_is_being_deleted() -> None:
    w = with_pod(deadlocked(), 5, metadata={"deletionTimestamp": "2026-11-29T11:59:00Z"})
    assert both(w) == {Reason.BEING_DELETED}


def test_an_eviction_that_the_budget_forbids() -> None:
    full = budget(0)
    full["status"].update(currentHealthy=4, desiredHealthy=5)
    assert evicted(deadlocked(), full, node("node-1")) == Reason.DISRUPTION_BUDGET


def test_an_eviction_of_an_unready_pod_that_needs_no_budget() -> None:
    """As the eviction API counts: enough others are healthy, or the budget always lets unready pods go."""
    assert evicted(deadlocked(), budget(0), node("node-1")) == ""
    free = budget(0, unhealthyPodEvictionPolicy="AlwaysAllow")
    free["status"].update(currentHealthy=4, desiredHealthy=5)
    assert evicted(deadlocked(), free, node("node-1")) == ""


def test_an_eviction_under_two_budgets() -> None:
    assert evicted(deadlocked(), budget(1), budget(1, "other"), node("node-1")) == Reason.BUDGETS_OVERLAP


def test_an_eviction_where_nobody_could_tell_what_the_budget_says() -> None:
    silent = {**budget(1), "status": {}}
    assert evicted(deadlocked(), silent, node("node-1")) == Reason.DISRUPTION_BUDGET


def test_a_ready_pod_goes_from_an_ill_or_cordoned_node_and_from_no_other() -> None:
    w = with_pod(steady(replicas=5), 5, spec={"nodeName": "node-1"})
    assert evicted(w, budget(1), node("node-1", ready=False)) == ""
    assert evicted(w, budget(1), node("node-1", unschedulable=True)) == ""
    assert evicted(w, budget(1), node("node-1")) == Reason.NO_CHANGE


def test_a_corpse_goes_whatever_the_others_do_but_not_by_eviction() -> None:
    w = with_pod(deadlocked(), 5, status={"phase": "Failed", "reason": "Evicted", "conditions": []})
    assert deleted(w) == ""
    assert evicted(w) == Reason.NO_CHANGE
