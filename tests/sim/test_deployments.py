"""How simulated Deployments, ReplicaSets and pods live, with a clock that the test turns."""

from __future__ import annotations

from handrail.sim.clock import ManualClock
from handrail.sim.controllers.revisions import HISTORY, REVISION, bare_template
from handrail.sim.deletes import Deletion, delete
from handrail.sim.kinds import CONFIG_MAP, DEPLOYMENT, NAMESPACE, NODE, POD, REPLICA_SET
from handrail.sim.objects import Obj, annotations_of, is_true, labels_of, name_of
from tests.sim.still import CRASH, GOOD, NS, Still


def test_a_new_deployment_is_complete_once_its_pods_have_started(still: Still) -> None:
    still.deploy(3)
    still.after(0.5)
    assert (still.status("replicas"), still.status("readyReplicas")) == (3, 0)
    assert still.progress() == "ReplicaSetUpdated"
    still.after(0.6)
    assert still.status("availableReplicas") == 3
    assert still.progress() == "NewReplicaSetAvailable"
    assert is_true(still.deployment, "Available")


def test_a_rollout_that_crashes_keeps_the_old_pods(still: Still) -> None:
    still.deploy(3)
    still.after(2)
    still.roll_out(CRASH)
    still.after(60)
    assert still.sizes() == {GOOD: 3, CRASH: 1}
    assert still.status("readyReplicas") == 3
    assert still.status("unavailableReplicas") == 1


def test_a_rollout_is_late_exactly_when_its_deadline_has_passed(still: Still) -> None:
    still.deploy(3, progressDeadlineSeconds=10)
    still.after(2)
    still.roll_out(CRASH)
    still.after(9.5)
    assert still.progress() == "ReplicaSetUpdated"
    still.after(0.6)
    assert still.progress() == "ProgressDeadlineExceeded"


def test_a_rollout_never_has_fewer_pods_available_than_it_may(still: Still) -> None:
    still.deploy(4)
    still.after(2)
    still.roll_out(GOOD + "0")
    for _ in range(60):
        still.after(0.1)
        assert still.status("availableReplicas") >= 3
        assert sum(still.sizes().values()) <= 5
    assert still.sizes() == {GOOD: 0, GOOD + "0": 4}


def test_the_old_template_brings_the_old_replica_set_back_with_the_next_revision(still: Still) -> None:
    still.deploy(3)
    still.after(2)
    old = still.all(REPLICA_SET)[0]
    still.roll_out(CRASH)
    still.after(5)
    still.edit(lambda obj: obj["spec"].update(template=bare_template(old)))
    still.after(5)
    again = still.registry.get(REPLICA_SET, NS, name_of(old))
    assert annotations_of(again)[REVISION] == "3"
    assert annotations_of(again)[HISTORY] == "1"
    assert annotations_of(still.deployment)[REVISION] == "3"
    assert still.sizes() == {GOOD: 3, CRASH: 0}


def test_a_restart_rolls_the_same_image_out_anew(still: Still) -> None:
    still.deploy(2)
    still.after(2)
    before = set(still.names(POD))

    def restart(obj: Obj) -> None:
        annotations = {"kubectl.kubernetes.io/restartedAt": "2026-11-29T15:00:00Z"}
        obj["spec"]["template"]["metadata"]["annotations"] = annotations

    still.edit(restart)
    still.after(10)
    assert len(still.all(REPLICA_SET)) == 2
    assert len(still.pods) == 2
    assert not before & set(still.names(POD))


def test_a_paused_deployment_takes_a_template_and_does_not_roll_it_out(still: Still) -> None:
    still.deploy(2)
    still.after(2)
    still.edit(lambda obj: obj["spec"].update(paused=True))
    still.roll_out(CRASH)
    still.after(5)
    assert still.progress() == "DeploymentPaused"
    assert still.sizes() == {GOOD: 2}
    assert still.deployment["status"]["observedGeneration"] == still.deployment["metadata"]["generation"]
    assert still.status("updatedReplicas") == 0
    still.edit(lambda obj: obj["spec"].pop("paused"))
    still.after(5)
    assert CRASH in still.sizes()


def test_scaling_in_the_middle_of_a_stuck_rollout_is_shared_out(still: Still) -> None:
    still.deploy(10, strategy={"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}})
    still.after(3)
    still.roll_out(CRASH)
    still.after(5)
    assert still.sizes() == {GOOD: 8, CRASH: 5}
    still.scale(15)
    still.after(0.1)
    # The example in the documentation of Deployments: five more, three to the larger, two to the smaller.
    assert still.sizes() == {GOOD: 11, CRASH: 7}


def test_pods_that_do_not_work_go_first_when_scaled_down(still: Still) -> None:
    still.deploy(3)
    still.after(2)
    still.roll_out(CRASH)
    still.after(5)
    still.edit(lambda obj: obj["spec"].update(template=bare_template(still.all(REPLICA_SET)[0]), replicas=1))
    still.after(5)
    assert [pod["spec"]["containers"][0]["image"] for pod in still.pods] in ([GOOD], [CRASH])


def test_min_ready_seconds_hold_availability_back(still: Still) -> None:
    still.deploy(1, minReadySeconds=10)
    still.after(9)
    assert (still.status("readyReplicas"), still.status("availableReplicas")) == (1, 0)
    still.after(3)
    assert still.status("availableReplicas") == 1


def test_old_replica_sets_beyond_the_history_limit_are_forgotten(still: Still) -> None:
    still.deploy(1, revisionHistoryLimit=2)
    for number in range(5):
        still.after(4)
        still.roll_out(f"{GOOD}{number}")
    still.after(4)
    assert sorted(annotations_of(rs)[REVISION] for rs in still.all(REPLICA_SET)) == ["4", "5", "6"]


def test_recreate_lets_the_old_pods_go_before_the_new_ones_come(still: Still) -> None:
    still.deploy(2, strategy={"type": "Recreate"})
    still.after(2)
    still.roll_out(GOOD + "0")
    for _ in range(30):
        images = {pod["spec"]["containers"][0]["image"] for pod in still.pods}
        assert len(images) <= 1
        still.after(0.1)
    assert still.sizes() == {GOOD: 0, GOOD + "0": 2}


def test_a_deleted_pod_is_replaced(still: Still) -> None:
    still.deploy(2)
    still.after(2)
    victim = still.pods[0]
    delete(still.registry, POD, victim, Deletion())
    still.after(3)
    assert len(still.pods) == 2
    assert name_of(victim) not in still.names(POD)
    assert still.events("Killing") == ["Stopping container app"]


def test_a_deployment_takes_its_replica_sets_and_pods_with_it(still: Still) -> None:
    still.deploy(2)
    still.after(2)
    delete(still.registry, DEPLOYMENT, still.deployment, Deletion())
    still.after(2)
    assert still.all(REPLICA_SET) == []
    assert still.pods == []


def test_orphans_outlive_their_owner(still: Still) -> None:
    still.deploy(2)
    still.after(2)
    delete(still.registry, DEPLOYMENT, still.deployment, Deletion(policy="Orphan"))
    still.after(2)
    assert len(still.all(REPLICA_SET)) == 1
    assert len(still.pods) == 2


def test_a_deleted_namespace_is_emptied_first(still: Still) -> None:
    still.deploy(2)
    still.registry.create(CONFIG_MAP, NS, {"metadata": {"name": "settings"}})
    still.after(2)
    delete(still.registry, NAMESPACE, still.registry.get(NAMESPACE, "", NS), Deletion())
    still.after(0.1)
    assert still.cluster.store.get(NAMESPACE, "", NS) is not None
    still.after(2)
    assert still.cluster.store.get(NAMESPACE, "", NS) is None
    assert [kind.name for kind, obj in still.cluster.store.everything() if obj["metadata"].get("namespace") == NS] == []


def test_pods_are_not_placed_on_a_cordoned_node(still: Still) -> None:
    for node in still.cluster.store.all(NODE):
        still.registry.change(NODE, node, lambda obj: obj["spec"].update(unschedulable=True))
    still.deploy(1)
    still.after(5)
    assert [pod["status"]["phase"] for pod in still.pods] == ["Pending"]
    assert still.events("FailedScheduling") == ["0/2 nodes are available."]
    still.registry.change(NODE, still.cluster.store.all(NODE)[0], lambda obj: obj["spec"].pop("unschedulable"))
    still.after(2)
    assert [pod["spec"]["nodeName"] for pod in still.pods] == ["node-1"]


def test_pods_spread_over_the_nodes_and_bear_the_hash_of_their_template(still: Still) -> None:
    still.deploy(4)
    still.after(2)
    assert sorted(pod["spec"]["nodeName"] for pod in still.pods) == ["node-1", "node-1", "node-2", "node-2"]
    replica_set = still.all(REPLICA_SET)[0]
    assert all(labels_of(pod)["pod-template-hash"] == name_of(replica_set)[-9:] for pod in still.pods)


def test_the_same_seed_gives_the_same_names(still: Still) -> None:
    other = Still(ManualClock())
    for cluster in (still, other):
        cluster.deploy(2)
        cluster.after(2)
    assert still.names(POD) == other.names(POD)


def test_a_cluster_at_rest_changes_nothing(still: Still) -> None:
    still.deploy(3)
    still.after(5)
    version = still.cluster.store.version
    still.after(600)
    assert still.cluster.store.version == version
