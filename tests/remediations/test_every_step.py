"""One suite over the whole catalogue: a new file in remediations/ is judged by it as soon as it is there."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from handrail.core.menu import Explains
from handrail.model.step import Risk, Seen, Step
from handrail.model.value import canonical
from handrail.model.workload import Workload
from handrail_remediations import catalogue
from tests.remediations.contract import Recorded, does_and_undoes, params_of
from tests.remediations.workloads import NOW, bad_rollout, steady, with_meta

CATALOGUE = catalogue()

CASES: tuple[tuple[str, Workload, dict[str, Any], bool], ...] = (
    ("rollout_undo", bad_rollout(), {"to_revision": 1}, True),
    ("rollout_restart", steady(), {}, False),
    ("rollout_restart", steady("StatefulSet"), {}, False),
    ("rollout_restart", steady("DaemonSet"), {}, False),
    ("scale_workload", steady(), {"replicas": 5}, True),
    ("scale_workload", steady("StatefulSet"), {"replicas": 4}, True),
)
"""Step, a world in which it may act, parameters, and whether it can be taken back."""

steps = pytest.mark.parametrize("step", CATALOGUE.values(), ids=CATALOGUE)
cases = pytest.mark.parametrize(("name", "workload", "given", "back"), CASES)


def test_every_file_is_a_step_of_the_catalogue_and_every_step_has_a_recorded_world() -> None:
    folder = Path(__import__("handrail_remediations").__file__ or "").parent
    assert set(CATALOGUE) == {path.stem for path in folder.glob("*.py")} - {"__init__"}
    judged = {(name, workload.ref.kind) for name, workload, _given, _back in CASES}
    assert judged == {(step.name, kind) for step in CATALOGUE.values() for kind in step.kinds}


@steps
def test_a_step_declares_its_rights_and_the_fields_that_it_changes(step: Step) -> None:
    assert step.needs
    assert step.admits
    assert all(rule.resources and rule.verbs for rule in step.needs)
    assert not {"*", "get", "list", "watch"} & {verb for rule in step.needs for verb in rule.verbs}
    assert not any("*" in (rule.api_group, *rule.resources) for rule in step.needs)
    assert all(pointer.startswith("/") for pointer in step.admits)


@steps
def test_restarts_and_rollbacks_are_above_the_floor(step: Step) -> None:
    if any(pointer.startswith("/spec/template") for pointer in step.admits):
        assert step.risk.always_asked
    assert isinstance(step.risk, Risk)


@steps
def test_unknown_parameters_are_forbidden(step: Step) -> None:
    given = next(given for name, _workload, given, _back in CASES if name == step.name)
    with pytest.raises(ValidationError):
        params_of(step, {**given, "force": True})


@steps
async def test_a_target_that_is_gone_is_seen_as_nothing(step: Step) -> None:
    world = Recorded(steady())
    assert await step.look(world, world.now.ref.model_copy(update={"uid": "another"})) is None


@cases
async def test_do_and_undo_leave_what_was_there(
    name: str, workload: Workload, given: dict[str, Any], back: bool
) -> None:
    await does_and_undoes(CATALOGUE[name], Recorded(workload), workload.ref, given, back=back)


@cases
def test_the_same_look_gives_the_same_writes_and_never_changes_what_was_seen(
    name: str, workload: Workload, given: dict[str, Any], back: bool
) -> None:
    step, p, seen = CATALOGUE[name], params_of(CATALOGUE[name], given), Seen(workload=workload)
    snapshot = canonical(workload.model_dump(mode="json"))
    assert step.writes(seen, p) == step.writes(seen, p)
    before = step.remember(seen, p)
    step.propose(seen)
    step.check(seen, p)
    step.next(seen, p, before, NOW)
    step.verify(seen, p, before, NOW, NOW + timedelta(minutes=1))
    step.undo(seen, p, before, NOW)
    assert canonical(workload.model_dump(mode="json")) == snapshot
    assert canonical(before), "what is remembered is plain JSON"


@cases
def test_writes_touch_declared_fields_only_with_declared_verbs(
    name: str, workload: Workload, given: dict[str, Any], back: bool
) -> None:
    step, p = CATALOGUE[name], params_of(CATALOGUE[name], given)
    for write in step.writes(Seen(workload=workload), p):
        assert write.object == workload.ref
        assert write.key == "", "the saga stamps the key"
        assert any(write.verb in rule.verbs for rule in step.needs)
        assert f"{workload.ref.kind.lower()}s" in {word for rule in step.needs for word in rule.resources}
        for op in write.ops:
            assert any(op["path"].startswith(p) or p.startswith(op["path"]) for p in step.admits)
        assert write.sets_replicas == any("replicas" in op["path"] for op in write.ops)


@cases
def test_what_is_proposed_passes_the_check_at_both_ends(
    name: str, workload: Workload, given: dict[str, Any], back: bool
) -> None:
    step, seen = CATALOGUE[name], Seen(workload=workload)
    candidates = step.propose(seen)
    assert 0 < len(candidates) <= 3
    for candidate in candidates:
        for end in (0, 1):
            chosen = {key: bounds[end] for key, bounds in candidate.ranges.items()}
            assert step.check(seen, params_of(step, {**candidate.params, **chosen})) is None


OTHERS_HOLD_IT: dict[str, dict[str, Any]] = {
    "BEING_DELETED": {"deletionTimestamp": "2026-11-29T11:59:00Z"},
    "GITOPS_MANAGED": {"annotations": {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/checkout"}},
    "OPERATOR_MANAGED": {"ownerReferences": [{"kind": "Rollout", "name": "checkout", "uid": "r", "controller": True}]},
}


@cases
@pytest.mark.parametrize("reason", OTHERS_HOLD_IT)
def test_what_others_hold_is_refused_in_check_next_and_undo(
    name: str, workload: Workload, given: dict[str, Any], back: bool, reason: str
) -> None:
    step, p = CATALOGUE[name], params_of(CATALOGUE[name], given)
    held = Seen(workload=with_meta(workload, **OTHERS_HOLD_IT[reason]))
    refusal = step.check(held, p)
    assert refusal is not None
    assert refusal.reason == reason
    assert step.next(held, p, step.remember(held, p), NOW) == refusal
    assert step.propose(held) == ()
    assert isinstance(step, Explains)
    assert step.why_not(held) == refusal


def test_a_gitops_tool_is_known_by_its_field_manager_too() -> None:
    step = CATALOGUE["scale_workload"]
    held = with_meta(steady(), managedFields=[{"manager": "kubectl"}, {"manager": "argocd-controller"}])
    refusal = step.check(Seen(workload=held), params_of(step, {"replicas": 5}))
    assert refusal is not None
    assert "Argo CD" in refusal.detail
