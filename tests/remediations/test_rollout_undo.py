from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest

from handrail.model.step import CannotUndo, Done, Seen, Undone, Verdict
from handrail.model.value import Raw
from handrail.model.workload import HASH_LABEL, Workload
from handrail.model.write import KEY_ANNOTATION, Write
from handrail_remediations.rollout_undo import step
from tests.remediations.workloads import (
    LONG_AGO,
    NOW,
    bad_rollout,
    changed,
    counted,
    pod,
    replica_set,
    template,
    text,
    thing,
    undone,
    with_meta,
    with_spec,
    with_status,
)

TO_1 = step.Params(to_revision=1)
BEFORE = step.remember(Seen(workload=bad_rollout()), TO_1)
LATER = NOW + timedelta(minutes=10)


def refused(workload: Workload, to: int = 1) -> str:
    refusal = step.check(Seen(workload=workload), step.Params(to_revision=to))
    return refusal.reason if refusal else ""


def with_sets(workload: Workload, *sets: Raw) -> Workload:
    return changed(workload, replica_sets=sets)


def verdict(workload: Workload, after: float = 60, acted: Any = NOW) -> Verdict:
    return step.verify(Seen(workload=workload), TO_1, BEFORE, acted, acted + timedelta(seconds=after)).verdict


def test_the_write_is_the_whole_old_template_without_the_hash_label() -> None:
    (write,) = step.writes(Seen(workload=bad_rollout()), TO_1)
    assert write.ops == ({"op": "replace", "path": "/spec/template", "value": template()},)
    assert HASH_LABEL not in str(write.ops)


def test_healthy_revisions_are_offered_newest_first_and_three_at_most() -> None:
    older = [replica_set(n, template(f"shop/checkout:0.{n}"), ready=1) for n in range(1, 6)]
    now = template("shop/checkout:1.0")
    live = thing("Deployment", now, 3, counted(3, 0, 3))
    world = Workload(object=live, replica_sets=(*older, replica_set(6, now)), observed_at=NOW)
    offered = step.propose(Seen(workload=world))
    assert [candidate.params["to_revision"] for candidate in offered] == [5, 4, 3]


def test_the_previous_number_is_not_good_enough_when_it_never_became_healthy() -> None:
    good = replica_set(1, template(), ready=2)
    bad = [replica_set(n, template(f"shop/checkout:bad-{n}"), ready=0, replicas=1) for n in (2, 3)]
    live = thing("Deployment", bad[1]["spec"]["template"], 3, counted(4, 1, 2))
    world = Workload(object=live, replica_sets=(good, *bad), observed_at=NOW)
    assert refused(world, to=2) == "NO_HEALTHY_REVISION"
    assert refused(world, to=1) == ""
    assert [c.params["to_revision"] for c in step.propose(Seen(workload=world))] == [1]


@pytest.mark.parametrize("to", [2, 7])
def test_a_revision_that_is_current_or_not_owned_is_refused(to: int) -> None:
    assert refused(bad_rollout(), to) == {2: "NO_CHANGE", 7: "NO_HEALTHY_REVISION"}[to]


def test_a_revision_with_the_same_template_is_no_change() -> None:
    live = bad_rollout()
    twin = replica_set(1, live.object["spec"]["template"], ready=2)
    assert refused(with_sets(live, twin, live.replica_sets[1])) == "NO_CHANGE"


def test_without_other_replica_sets_there_is_no_history() -> None:
    live = bad_rollout()
    assert refused(with_sets(live, live.replica_sets[1])) == "NO_HISTORY"
    assert refused(with_sets(live)) == "NO_HISTORY"


def test_a_revision_that_is_not_ready_now_is_not_gone_back_to() -> None:
    live = bad_rollout()
    down = replica_set(1, template(), ready=0, replicas=2)
    assert refused(with_sets(live, down, live.replica_sets[1])) == "NO_HEALTHY_REVISION"
    why = step.why_not(Seen(workload=with_sets(live, down, live.replica_sets[1])))
    assert why is not None
    assert why.reason == "NO_HEALTHY_REVISION"


def test_a_paused_deployment_belongs_to_the_person_who_paused_it() -> None:
    assert refused(with_spec(bad_rollout(), paused=True)) == "PAUSED"


def test_while_the_controller_has_not_seen_the_newest_template_nothing_is_offered() -> None:
    unseen = with_status(bad_rollout(), observedGeneration=1)
    assert refused(unseen) == "ROLLOUT_IN_PROGRESS"
    live = bad_rollout()
    unmade = with_sets(with_spec(live, template=template("shop/checkout:1.2")), *live.replica_sets)
    assert refused(unmade) == "NO_HEALTHY_REVISION"
    assert step.propose(Seen(workload=unmade)) == ()


def test_an_undo_of_our_own_undo_is_refused_but_a_new_release_after_it_is_not() -> None:
    ours = {KEY_ANNOTATION: "inc-a/1/0/do/dep-1/patch"}
    one, two = replica_set(3, template(), ready=3, history="1"), replica_set(2, template("bad"), ready=1)
    live = thing("Deployment", template(), 3, counted(3, 3, 3))
    world = Workload(object=live, replica_sets=(one, two), observed_at=NOW)
    assert refused(with_meta(world, annotations=ours), to=2) == "LAST_CHANGE_WAS_OURS"
    assert refused(world, to=2) == "LAST_CHANGE_WAS_UNDO", "somebody else's undo is theirs to take back"

    new = template("shop/checkout:1.2")
    released = Workload(
        object=thing("Deployment", new, 3, counted(3, 1, 2)),
        replica_sets=(one, two, replica_set(4, new, replicas=1)),
        observed_at=NOW,
    )
    assert refused(with_meta(released, annotations=ours), to=3) == ""


def test_after_the_write_it_is_done_although_the_revision_has_another_number() -> None:
    assert isinstance(step.next(Seen(workload=undone(LONG_AGO)), TO_1, BEFORE, NOW), Done)


def test_before_the_write_the_check_is_made_once_more() -> None:
    live = bad_rollout()
    gone = with_sets(live, replica_set(1, template(), ready=0), live.replica_sets[1])
    move = step.next(Seen(workload=gone), TO_1, BEFORE, NOW)
    assert getattr(move, "reason", None) == "NO_HEALTHY_REVISION"


def test_healed_needs_every_pod_on_the_old_template_ready_and_settled() -> None:
    assert verdict(undone(LONG_AGO)) is Verdict.HEALED


def test_nothing_is_healed_within_the_first_seconds() -> None:
    assert verdict(undone(LONG_AGO), after=4) is Verdict.NOT_YET
    assert verdict(undone(NOW + timedelta(seconds=58)), after=60) is Verdict.NOT_YET
    assert verdict(undone(NOW + timedelta(seconds=55)), after=60) is Verdict.HEALED


def _crashed(at: str) -> Workload:
    world = undone(LONG_AGO)
    shaken = copy.deepcopy(world.pods[0])
    shaken["status"]["containerStatuses"][0]["lastState"] = {"terminated": {"exitCode": 1, "finishedAt": at}}
    return changed(world, pods=(shaken, *world.pods[1:]))


def test_a_pod_that_crashed_since_must_stay_up_for_a_minute() -> None:
    assert verdict(_crashed(text(NOW + timedelta(seconds=30))), after=80) is Verdict.NOT_YET
    assert verdict(_crashed(text(NOW + timedelta(seconds=30))), after=91) is Verdict.HEALED
    assert verdict(_crashed(text(NOW - timedelta(seconds=1))), after=10) is Verdict.HEALED


def _sets_left(world: Workload, **meta: Any) -> Workload:
    left = pod(9, world.replica_sets[1], ready=False)
    left["metadata"].update(meta)
    return changed(world, pods=(*world.pods, left))


@pytest.mark.parametrize(
    "world",
    [
        with_status(undone(LONG_AGO), observedGeneration=1),
        with_spec(undone(LONG_AGO), paused=True),
        with_status(undone(LONG_AGO), updatedReplicas=2),
        with_status(undone(LONG_AGO), availableReplicas=2),
        with_status(undone(LONG_AGO), readyReplicas=2, availableReplicas=2),
        with_status(undone(LONG_AGO), replicas=4),
        _sets_left(undone(LONG_AGO)),
        changed(undone(LONG_AGO), pods=undone(LONG_AGO).pods[:2]),
        changed(undone(LONG_AGO), pods=()),
    ],
    ids=["unseen", "paused", "updated", "available", "ready", "surplus", "old pod", "pod missing", "no pods"],
)
def test_one_number_that_is_not_right_is_not_yet_healed(world: Workload) -> None:
    assert verdict(world) is Verdict.NOT_YET
    assert verdict(world, after=121) in (Verdict.NO_EFFECT, Verdict.WORSE)


def test_terminating_pods_and_corpses_of_the_old_revision_do_not_count() -> None:
    assert verdict(_sets_left(undone(LONG_AGO), deletionTimestamp=text(NOW))) is Verdict.HEALED
    corpse = pod(9, undone(LONG_AGO).replica_sets[1], ready=False)
    corpse["status"]["phase"] = "Failed"
    world = changed(undone(LONG_AGO), pods=(*undone(LONG_AGO).pods, corpse))
    assert verdict(world) is Verdict.HEALED


def test_when_patience_is_over_fewer_ready_pods_are_worse_and_as_many_are_no_effect() -> None:
    assert BEFORE["ready"] == 2
    fewer = with_status(undone(LONG_AGO), readyReplicas=1, availableReplicas=1)
    as_many = with_status(undone(LONG_AGO), readyReplicas=2, availableReplicas=2)
    assert verdict(fewer, after=119) is Verdict.NOT_YET, "a rollout takes pods away on its way"
    assert verdict(fewer, after=120) is Verdict.WORSE
    assert verdict(as_many, after=120) is Verdict.NO_EFFECT


def test_not_yet_says_until_when() -> None:
    world = with_status(undone(LONG_AGO), updatedReplicas=1)
    result = step.verify(Seen(workload=world), TO_1, BEFORE, NOW, NOW)
    assert result.until == NOW + timedelta(seconds=120)
    slow = with_spec(world, progressDeadlineSeconds=7200)
    assert step.verify(Seen(workload=slow), TO_1, BEFORE, NOW, NOW).until == NOW + timedelta(seconds=600)


def test_a_template_that_somebody_changed_since_is_no_success_of_ours() -> None:
    world = with_spec(undone(LONG_AGO), template=template("shop/checkout:2.0"))
    assert verdict(world) is Verdict.NO_EFFECT


def test_the_undo_gives_back_the_template_that_was_there() -> None:
    move = step.undo(Seen(workload=undone(LONG_AGO)), TO_1, BEFORE, LATER)
    assert isinstance(move, Write)
    assert move.ops[0]["value"] == bad_rollout().object["spec"]["template"]


def test_the_undo_keeps_off_what_somebody_has_changed_paused_or_taken_over() -> None:
    theirs = with_spec(undone(LONG_AGO), template=template("shop/checkout:2.0"))
    paused = with_spec(undone(LONG_AGO), paused=True)
    flux = with_meta(undone(LONG_AGO), labels={"kustomize.toolkit.fluxcd.io/name": "shop"})
    for world in (theirs, paused, flux):
        assert isinstance(step.undo(Seen(workload=world), TO_1, BEFORE, LATER), CannotUndo)
    assert isinstance(step.undo(Seen(workload=bad_rollout()), TO_1, BEFORE, LATER), Undone)
