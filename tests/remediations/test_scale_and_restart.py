from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from handrail.model.step import CannotUndo, Done, Seen, Undone, Verdict
from handrail.model.workload import Workload
from handrail.model.write import Write
from handrail_remediations.rollout_restart import RESTARTED_AT
from handrail_remediations.rollout_restart import step as restart
from handrail_remediations.scale_workload import step as scale
from tests.remediations.contract import patched
from tests.remediations.workloads import (
    NOW,
    bad_rollout,
    changed,
    pod,
    steady,
    template,
    with_spec,
    with_status,
)


def seen(workload: Workload) -> Seen:
    return Seen(workload=workload)


def to(replicas: int) -> Any:
    return scale.Params(replicas=replicas)


def refused(workload: Workload, replicas: int) -> str:
    refusal = scale.check(seen(workload), to(replicas))
    return refusal.reason if refusal else ""


@pytest.mark.parametrize(
    ("has", "wants", "reason"),
    [
        (3, 0, "OUT_OF_BOUNDS"),
        (3, 1, ""),
        (3, 3, "NO_CHANGE"),
        (3, 6, ""),
        (3, 7, "OUT_OF_BOUNDS"),
        (0, 1, ""),
        (0, 2, ""),
        (0, 3, "OUT_OF_BOUNDS"),
        (80, 100, ""),
    ],
)
def test_scaling_stays_between_one_and_double(has: int, wants: int, reason: str) -> None:
    assert refused(steady(replicas=has), wants) == reason


@pytest.mark.parametrize("replicas", [-1, 101])
def test_no_plan_can_even_name_more_than_a_hundred(replicas: int) -> None:
    with pytest.raises(ValidationError):
        to(replicas)


@pytest.mark.parametrize(("has", "bounds"), [(1, (2, 2)), (3, (4, 6)), (0, (1, 2)), (60, (61, 100))])
def test_scaling_is_offered_upwards_only(has: int, bounds: tuple[int, int]) -> None:
    (offered,) = scale.propose(seen(steady(replicas=has)))
    assert offered.ranges == {"replicas": bounds}


def test_at_a_hundred_replicas_nothing_more_is_offered_and_it_says_so() -> None:
    assert scale.propose(seen(steady(replicas=100))) == ()
    why = scale.why_not(seen(steady(replicas=100)))
    assert why is not None
    assert why.reason == "OUT_OF_BOUNDS"


def test_what_an_autoscaler_sets_is_left_to_it_in_do_and_undo() -> None:
    scaled = changed(steady(replicas=4), autoscalers=("HorizontalPodAutoscaler/checkout",))
    assert refused(scaled, 5) == "AUTOSCALED"
    assert scale.propose(seen(scaled)) == ()
    assert isinstance(scale.undo(seen(scaled), to(4), {"replicas": 3, "ready": 3}, NOW), CannotUndo)


def test_the_write_counts_replicas_and_works_where_the_field_is_missing() -> None:
    live = steady(replicas=1)
    del live.object["spec"]["replicas"]
    (write,) = scale.writes(seen(live), to(2))
    assert write.sets_replicas
    assert patched(live.object, write)["spec"]["replicas"] == 2


def test_scaled_is_healed_when_all_wanted_pods_are_ready() -> None:
    before = {"replicas": 2, "ready": 2}
    up = steady(replicas=3)
    lacking = steady(replicas=3, ready=2)
    fewer = steady(replicas=3, ready=1)
    patience = NOW + timedelta(seconds=600)
    assert scale.verify(seen(up), to(3), before, NOW, NOW + timedelta(seconds=6)).verdict is Verdict.HEALED
    assert scale.verify(seen(lacking), to(3), before, NOW, NOW + timedelta(seconds=6)).verdict is Verdict.NOT_YET
    assert scale.verify(seen(lacking), to(3), before, NOW, patience).verdict is Verdict.NO_EFFECT
    assert scale.verify(seen(fewer), to(3), before, NOW, patience).verdict is Verdict.WORSE
    assert scale.verify(seen(steady(replicas=5)), to(3), before, NOW, NOW).verdict is Verdict.NO_EFFECT


def test_the_number_goes_back_unless_somebody_has_set_another() -> None:
    before = {"replicas": 3, "ready": 3}
    move = scale.undo(seen(steady(replicas=5)), to(5), before, NOW)
    assert isinstance(move, Write)
    assert move.ops[0]["value"] == 3
    assert isinstance(scale.undo(seen(steady(replicas=3)), to(5), before, NOW), Undone)
    assert isinstance(scale.undo(seen(steady(replicas=9)), to(5), before, NOW), CannotUndo)


AT = restart.Params(at=NOW)


def why_not(workload: Workload) -> str:
    refusal = restart.check(seen(workload), AT)
    return refusal.reason if refusal else ""


def restarted(workload: Workload) -> Workload:
    (write,) = restart.writes(seen(workload), AT)
    return changed(workload, object=patched(workload.object, write))


@pytest.mark.parametrize("notes", [None, {}, {"team": "shop"}, {RESTARTED_AT: "2026-01-01T00:00:00Z"}])
def test_a_restart_sets_its_mark_and_nothing_else(notes: dict[str, str] | None) -> None:
    body = template()
    if notes is not None:
        body["metadata"]["annotations"] = notes
    live = with_spec(steady(), template=body)
    after = restarted(live).object["spec"]["template"]
    assert after["metadata"].pop("annotations") == {**(notes or {}), RESTARTED_AT: "2026-11-29T12:00:00Z"}
    body["metadata"].pop("annotations", None)
    assert after == body


def test_the_time_of_a_restart_is_a_parameter_with_a_time_zone() -> None:
    with pytest.raises(ValidationError):
        restart.Params(at=datetime(2026, 11, 29, 12, 0))  # noqa: DTZ001 -- the point
    assert restart.Params.model_validate({"at": "2026-11-29T12:00:00Z"}).at == datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "world",
    [
        bad_rollout(),
        with_status(steady(), observedGeneration=1),
        with_status(steady(), updatedReplicas=1),
        with_status(steady("DaemonSet"), updatedNumberScheduled=1),
    ],
    ids=["stuck rollout", "unseen", "half way", "daemon set"],
)
def test_no_restart_during_a_rollout(world: Workload) -> None:
    assert why_not(world) == "ROLLOUT_IN_PROGRESS"


@pytest.mark.parametrize(
    ("members", "ready", "reason"),
    [(3, 3, ""), (3, 2, "QUORUM_AT_RISK"), (5, 4, ""), (5, 3, "QUORUM_AT_RISK"), (2, 2, "QUORUM_AT_RISK"), (1, 0, "")],
)
def test_a_stateful_set_keeps_its_majority(members: int, ready: int, reason: str) -> None:
    assert why_not(steady("StatefulSet", members, ready)) == reason


@pytest.mark.parametrize(
    "strategy", [{"type": "OnDelete"}, {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}]
)
def test_a_rollout_that_a_person_steps_through_is_left_to_them(strategy: dict[str, Any]) -> None:
    assert why_not(steady("StatefulSet", updateStrategy=strategy)) == "PAUSED"
    assert why_not(with_spec(steady(), paused=True)) == "PAUSED"


def test_our_own_restart_is_done_and_not_a_rollout_in_our_way() -> None:
    rolling = with_status(restarted(steady()), observedGeneration=1)
    before = restart.remember(seen(steady()), AT)
    assert isinstance(restart.next(seen(rolling), AT, before, NOW), Done)


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_a_restart_is_healed_by_the_status_of_each_kind(kind: str) -> None:
    live = restarted(steady(kind))
    before = restart.remember(seen(steady(kind)), AT)
    assert before["ready"] == 3
    assert restart.verify(seen(live), AT, before, NOW, NOW + timedelta(seconds=6)).verdict is Verdict.HEALED
    fresh = changed(live, pods=(*live.pods[:2], pod(3, live.object, since=NOW + timedelta(seconds=4))))
    assert restart.verify(seen(fresh), AT, before, NOW, NOW + timedelta(seconds=6)).verdict is Verdict.NOT_YET
    unmarked = steady(kind)
    assert restart.verify(seen(unmarked), AT, before, NOW, NOW).verdict is Verdict.NO_EFFECT


def test_a_deployments_restart_waits_for_its_new_replica_set() -> None:
    before = restart.remember(seen(steady()), AT)
    result = restart.verify(seen(restarted(steady())), AT, before, NOW, NOW + timedelta(seconds=6))
    assert result.verdict is Verdict.NOT_YET


def test_a_restart_cannot_be_taken_back_and_says_why() -> None:
    before = restart.remember(seen(steady()), AT)
    move = restart.undo(seen(restarted(steady())), AT, before, NOW)
    assert isinstance(move, CannotUndo)
    assert "can't be taken back" in move.detail
    assert isinstance(restart.undo(seen(steady()), AT, before, NOW), Undone)
