"""A step finishes and takes back what an older build began: what that one remembered is all that it may count on."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.model.step import Step
from tests.remediations.catalogue_cases import CASES, Case
from tests.remediations.contract import Recorded, does_and_undoes

FIRST_BUILD: dict[str, set[str]] = {
    "rollout_undo": {"template", "to", "revision", "ready", "desired"},
    "rollout_restart": {"restarted_at", "ready", "desired"},
    "scale_workload": {"replicas", "ready"},
}
"""What the steps of v0.1.0 wrote down before they acted. A key that came later may be missing for ever."""


class Older:
    """The step of today, whose memory is that of the first build."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)

    def remember(self, *seen: Any) -> dict[str, Any]:
        found = self._step.remember(*seen)
        return {key: value for key, value in found.items() if key in FIRST_BUILD[self._step.name]}


OLD = [case for case in CASES if case.name in FIRST_BUILD and str(case) != "rollout_undo-StatefulSet"]
"""The first build undid Deployments alone; of the kinds that came later only this one has pods to replace."""


@pytest.mark.parametrize("case", OLD, ids=str)
async def test_what_the_first_build_remembered_is_enough_to_go_on_and_to_take_it_back(case: Case) -> None:
    step: Any = Older(case.step)
    world = Recorded(case.thing, *case.around)
    await does_and_undoes(step, world, case.thing.ref, case.given, back=case.back)
