"""Another round: after no effect, or after an undo, with what was tried known, and asked once more."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from handrail.core.compile import compile_plan
from handrail.core.tried import without_tried
from handrail.model.incident import State
from handrail.model.menu import Menu, Option
from handrail.model.plan import Choice, PlanProposal
from handrail.model.reason import Reason, Refusal
from handrail.model.saga import Tried
from handrail.model.step import Verdict, Verification
from handrail.model.value import Raw
from tests.breaks.worlds import alerted, gloomy, lossy
from tests.factories import a_menu, an_incident_in
from tests.reconciler.rig import BAD, GOOD, POLICY, Rig, Shop, ended, rig


class Useless:
    """A step that does what it does, and whose verification never sees a difference."""

    def __init__(self, step: Any) -> None:
        self._step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)

    def verify(self, seen: Any, p: Any, before: Raw, acted_at: datetime, now: datetime) -> Verification:
        return Verification(verdict=Verdict.NO_EFFECT, detail="1 of 3 pods are ready, as before")


def useless(life: Rig) -> Rig:
    steps: Any = {name: Useless(step) for name, step in life.tools.steps.items()}
    return Rig(replace(life.tools, steps=steps), life.shop)


async def kinds(life: Rig) -> list[str]:
    incident = await life.the_incident()
    return [entry.event.kind for entry in await life.tools.store.entries(incident.id)]


async def test_what_is_well_when_the_next_round_looks_is_resolved_not_noise(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        incident = await useless(life).run(ended, approve=True)
        assert incident.state is State.RESOLVED, incident.end
        assert incident.round == 2
        assert [one.reason for one in incident.tried] == [Reason.NO_EFFECT]
        assert (await kinds(life)).count("replanned") == 1
        assert await shop.image() == GOOD


async def test_after_an_undo_the_same_is_not_offered_again_and_the_hand_over_says_what_was_tried(
    shop: Shop, tmp_path: Path
) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        incident = await gloomy(lossy(life, applied)).run(ended, approve=True)
        assert incident.state is State.HANDED_OVER
        assert incident.round == 2
        assert incident.end is not None
        reason, detail = incident.end
        assert reason is Reason.WORSE
        assert "2 pods are ready, 3 were before" in detail
        assert "what was done has been taken back" in detail
        assert (await kinds(life)).count("asked") == 1
        assert len(applied) == 2
        assert await shop.image() == BAD


async def test_one_round_is_the_end_where_policy_allows_only_one(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "max_rounds": 1}))
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        incident = await gloomy(life).run(ended, approve=True)
        assert incident.round == 1
        assert incident.end is not None
        assert incident.end[0] is Reason.WORSE


UNDO = a_menu().options[0]
SCALE = UNDO.model_copy(update={"id": "o2", "step": "scale_workload", "params": {}, "ranges": {"replicas": (3, 6)}})


def tried(option: Option, **params: Any) -> Tried:
    return Tried(
        round=1,
        step=option.step,
        target=option.target,
        params={**option.params, **params},
        summary=option.summary,
        reason=Reason.NO_EFFECT,
        detail="nothing changed",
        taken_back=False,
    )


def test_the_menu_leaves_out_what_was_tried_and_says_so() -> None:
    left = without_tried(Menu(options=(UNDO, SCALE)), (tried(UNDO), tried(SCALE, replicas=4)))
    assert left.options == (SCALE,)
    (no,) = left.not_offered
    assert (no.step, no.reason) == (UNDO.step, Reason.NO_EFFECT)
    other = UNDO.model_copy(update={"params": {"revision": 7}})
    assert without_tried(Menu(options=(other,)), (tried(UNDO),)).options == (other,)


def test_a_time_that_is_filled_in_makes_no_other_step_of_it() -> None:
    restart = UNDO.model_copy(update={"step": "rollout_restart", "params": {}})
    assert without_tried(Menu(options=(restart,)), (tried(restart, at="2026-11-03T03:00:00Z"),)).options == ()


def test_a_number_that_came_to_nothing_is_refused_when_it_is_chosen_again() -> None:
    incident = an_incident_in(State.COMPILING).model_copy(
        update={
            "menu": Menu(options=(SCALE,)),
            "proposal": PlanProposal(
                diagnosis=(),
                choices=(Choice(option="o2", params={"replicas": 4}),),
                expected_effect="heals",
                would_disprove="no",
            ),
            "tried": (tried(SCALE, replicas=4),),
        }
    )
    refused = compile_plan(incident, {}, incident.opened_at)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.NO_EFFECT
