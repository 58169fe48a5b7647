"""One suite over the whole catalogue: a new file in remediations/ is judged by it as soon as it is there."""

from __future__ import annotations

import copy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from handrail.core.menu import Explains
from handrail.model.marks import CORDONED_AT, NOTE, pointer
from handrail.model.step import CannotUndo, Risk, Seen, Step, Thing
from handrail.model.target import ObjectRef
from handrail.model.value import Raw, Value, canonical
from handrail.model.write import Verb, Write
from handrail_remediations.rollout_restart import RESTARTED_AT
from tests.remediations.catalogue_cases import CASES, CATALOGUE, Case
from tests.remediations.contract import Recorded, does_and_undoes, params_of
from tests.remediations.workloads import NOW, steady, with_meta

steps = pytest.mark.parametrize("step", CATALOGUE.values(), ids=CATALOGUE)
cases = pytest.mark.parametrize("case", CASES, ids=str)

OUR_OWN = "/metadata/annotations/handrail.dev~1"
"""Notes of ours need no declaration: every step may leave them."""


def test_every_file_is_a_step_of_the_catalogue_and_every_step_has_a_recorded_world() -> None:
    folder = Path(__import__("handrail_remediations").__file__ or "").parent
    assert set(CATALOGUE) == {path.stem for path in folder.glob("*.py")} - {"__init__"}
    judged = {(case.name, case.thing.ref.kind) for case in CASES}
    assert judged == {(step.name, kind) for step in CATALOGUE.values() for kind in step.kinds}


@steps
def test_a_step_declares_its_rights_and_the_fields_that_it_changes(step: Step) -> None:
    assert step.needs
    assert all(rule.resources and rule.verbs for rule in step.needs)
    assert {verb for rule in step.needs for verb in rule.verbs} <= {"patch", "delete", "create"}
    assert not any("*" in (rule.api_group, *rule.resources) for rule in step.needs)
    assert all(pointer.startswith("/spec/") for pointer in step.admits)
    assert all(bound.pointer in step.admits for bound in step.bounds)


@steps
def test_restarts_and_rollbacks_are_above_the_floor(step: Step) -> None:
    """Restarts, rollbacks, deletes and evictions are asked for whatever a policy says."""
    verbs = {verb for rule in step.needs for verb in rule.verbs}
    if any(pointer.startswith("/spec/template") for pointer in step.admits) or verbs & {"delete", "create"}:
        assert step.risk.always_asked
    assert step.risk is not Risk.SAFE or not step.admits, "what is safe changes no field"


@steps
def test_unknown_parameters_are_forbidden(step: Step) -> None:
    given = next(case.given for case in CASES if case.name == step.name)
    with pytest.raises(ValidationError):
        params_of(step, {**given, "force": True})


@cases
async def test_a_target_that_is_gone_is_seen_as_nothing(case: Case) -> None:
    world = Recorded(case.thing, *case.around)
    assert await case.step.look(world, case.thing.ref.model_copy(update={"uid": "another"})) is None


@cases
async def test_do_and_undo_leave_what_was_there(case: Case) -> None:
    world = Recorded(case.thing, *case.around)
    await does_and_undoes(case.step, world, case.thing.ref, case.given, back=case.back)


@cases
def test_the_same_look_gives_the_same_writes_and_never_changes_what_was_seen(case: Case) -> None:
    step, p, seen = case.step, params_of(case.step, case.given), case.sight()
    assert isinstance(seen, Value)
    snapshot = canonical(seen.model_dump(mode="json"))
    assert step.writes(seen, p) == step.writes(seen, p)
    before = step.remember(seen, p)
    step.propose(seen)
    step.check(seen, p)
    step.next(seen, p, before, NOW)
    step.verify(seen, p, before, NOW, NOW + timedelta(minutes=1))
    step.undo(seen, p, before, NOW)
    assert canonical(seen.model_dump(mode="json")) == snapshot
    assert canonical(before), "what is remembered is plain JSON"


@cases
def test_writes_touch_declared_fields_only_with_declared_verbs(case: Case) -> None:
    step, p = case.step, params_of(case.step, case.given)
    mine = {case.thing.ref, *(ObjectRef.of(pod) for pod in getattr(case.thing, "pods", ()))}
    for write in step.writes(case.sight(), p):
        assert write.object in mine
        assert write.key == "", "the saga stamps the key"
        assert _right(write.object.kind, write.verb) in {
            (verb, word) for rule in step.needs for word in rule.resources for verb in rule.verbs
        }
        for op in write.ops:
            declared = any(op["path"].startswith(f) or f.startswith(op["path"]) for f in step.admits)
            assert declared or op["path"].startswith(OUR_OWN)
        assert write.sets_replicas == any(op["path"] == "/spec/replicas" for op in write.ops)


def _right(kind: str, verb: Verb) -> tuple[str, str]:
    plural = f"{kind.lower()}s"
    return ("create", f"{plural}/eviction") if verb is Verb.EVICT else (verb.value, plural)


@cases
def test_what_is_proposed_passes_the_check_at_both_ends(case: Case) -> None:
    step, seen = case.step, case.sight()
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


def held(thing: Thing, reason: str) -> Thing:
    live = copy.deepcopy(thing.object)
    live["metadata"].update(OTHERS_HOLD_IT[reason])
    return thing.model_copy(update={"object": live})


HELD = [
    pytest.param(case, reason, id=f"{case}-{reason}")
    for case in CASES
    for reason in OTHERS_HOLD_IT
    if reason != "GITOPS_MANAGED" or case.step.admits  # Git declares no pod's coming and going
]


@pytest.mark.parametrize(("case", "reason"), HELD)
def test_what_others_hold_is_refused_in_check_next_and_undo(case: Case, reason: str) -> None:
    step, p = case.step, params_of(case.step, case.given)
    seen = case.sight(held(case.thing, reason))
    refusal = step.check(seen, p)
    assert refusal is not None
    assert refusal.reason == reason
    assert step.next(seen, p, step.remember(seen, p), NOW) == refusal
    assert step.propose(seen) == ()
    assert isinstance(step, Explains)
    assert step.why_not(seen) == refusal


def _put(path: str, value: Any) -> tuple[Raw, ...]:
    return ({"op": "add", "path": path, "value": value},)


FOREIGN: dict[str, tuple[Raw, ...]] = {
    "rollout_undo": _put("/spec/template/spec/containers/0/image", "shop/checkout:by-hand"),
    "rollout_restart": _put("/spec/template/metadata/annotations", {RESTARTED_AT: "2026-11-29T11:00:00Z"}),
    "scale_workload": _put("/spec/replicas", 7),
    "cordon": _put(pointer(CORDONED_AT), "2026-11-29T11:00:00Z"),
    "uncordon": _put("/spec/unschedulable", True),
    "set_hpa_bounds": _put("/spec/maxReplicas", 9),
    "resume_rollout": _put("/spec/template/spec/containers/0/image", "shop/checkout:by-hand"),
    "annotate": _put(pointer(NOTE), "mine"),
}
"""What somebody else does to the same place after the step has been done. A pod that is gone can't be edited."""

EDITED = [pytest.param(case, id=str(case)) for case in CASES if case.step.needs[0].verbs == ("patch",)]


@pytest.mark.parametrize("case", EDITED)
async def test_an_undo_after_a_foreign_edit_is_refused(case: Case) -> None:
    step, p, world = case.step, params_of(case.step, case.given), Recorded(case.thing, *case.around)
    before = step.remember(case.sight(), p)
    for write in step.writes(case.sight(), p):
        await world.write(write)
    edit = Write(verb=Verb.PATCH, object=case.thing.ref, ops=FOREIGN[case.name], summary="by hand")
    await world.write(edit)
    assert isinstance(step.undo(case.sight(world.now), p, before, NOW), CannotUndo)


def test_a_gitops_tool_is_known_by_its_field_manager_too() -> None:
    step = CATALOGUE["scale_workload"]
    mine = with_meta(steady(), managedFields=[{"manager": "kubectl"}, {"manager": "argocd-controller"}])
    refusal = step.check(Seen(workload=mine), params_of(step, {"replicas": 5}))
    assert refusal is not None
    assert "Argo CD" in refusal.detail
