"""docs/add-a-step.md, followed as it stands: its file, its row, its policy, its rights."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

import handrail_remediations
from handrail.cli import cli
from handrail.model.step import CannotUndo, Seen, Step
from handrail.model.write import Verb, Write
from tests.remediations import catalogue_cases, workloads
from tests.remediations.contract import Recorded, does_and_undoes, params_of

PAGE = (Path(__file__).parents[2] / "docs" / "add-a-step.md").read_text(encoding="utf-8")
CODE, ROW, FOREIGN = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
(POLICY,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Step:
    """The catalogue with the page's file in it."""
    (tmp_path / "pause_rollout.py").write_text(CODE, encoding="utf-8")
    monkeypatch.setattr(handrail_remediations, "__path__", [*handrail_remediations.__path__, str(tmp_path)])
    known = handrail_remediations.catalogue()
    monkeypatch.setattr(catalogue_cases, "CATALOGUE", known)
    return known["pause_rollout"]


def row() -> catalogue_cases.Case:
    found = eval(ROW, {**vars(workloads), "Case": catalogue_cases.Case})
    assert isinstance(found, catalogue_cases.Case)
    return found


async def test_the_step_of_the_page_keeps_the_contract_in_the_world_of_its_row(step: Step) -> None:
    case = row()
    assert case.step is step
    assert case.thing.ref.kind in step.kinds
    assert step.propose(case.sight())
    await does_and_undoes(step, Recorded(case.thing), case.thing.ref, case.given, back=case.back)


async def test_its_undo_after_the_foreign_edit_of_the_page_is_refused(step: Step) -> None:
    case, world = row(), Recorded(row().thing)
    p = params_of(step, case.given)
    before = step.remember(case.sight(), p)
    edits: dict[str, tuple[dict[str, Any], ...]] = eval(FOREIGN)
    by_hand = Write(verb=Verb.PATCH, object=case.thing.ref, ops=edits[step.name], summary="by hand")
    for write in (*step.writes(case.sight(), p), by_hand):
        await world.write(write)
    assert isinstance(step.undo(case.sight(world.now), p, before, workloads.NOW), CannotUndo)


def test_it_refuses_what_others_hold_and_what_does_not_roll(step: Step) -> None:
    case = row()
    live = copy.deepcopy(case.thing.object)
    live["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"] = "shop:apps/Deployment:shop/checkout"
    held = step.check(case.sight(case.thing.model_copy(update={"object": live})), params_of(step, {}))
    still = step.check(Seen(workload=workloads.steady()), params_of(step, {}))
    assert [refusal.reason if refusal else "" for refusal in (held, still)] == ["GITOPS_MANAGED", "NO_CHANGE"]


def test_the_policy_of_the_page_gives_it_the_rights_that_it_declares_and_no_other(step: Step, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    said = CliRunner().invoke(cli, ["rbac", "--policy", str(policy)], catch_exceptions=False).output
    (role,) = [one for one in yaml.safe_load_all(said) if one["kind"] == "Role"]
    assert role["metadata"]["namespace"] == "shop"
    assert role["rules"] == [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch"]}]
    admitted = CliRunner().invoke(cli, ["admission", "--policy", str(policy)], catch_exceptions=False).output
    assert "step_pause_rollout" in admitted


def test_handrail_steps_prints_it(step: Step) -> None:
    assert step.way_back in CliRunner().invoke(cli, ["steps"], catch_exceptions=False).output
