"""What earlier rounds of an incident tried is not offered again. Pure; decides nothing about what to try instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.model.incident import Incident
from handrail.model.menu import Menu, NotOffered, Option
from handrail.model.reason import Reason, Refusal
from handrail.model.saga import Tried

NOTHING_ELSE = frozenset({Reason.NOTHING_OFFERED, Reason.NO_RUNBOOK})


def without_tried(menu: Menu, tried: tuple[Tried, ...]) -> Menu:
    """The menu less what came to nothing. An option that leaves a number open stays: the number is judged when it is
    chosen (`tried_before`). Ids stay as they were."""
    again = {option.id: _same(option, {}, tried) for option in menu.options if not option.ranges}
    refused = [_not_offered(one) for one in again.values() if one is not None]
    left = tuple(option for option in menu.options if again.get(option.id) is None)
    return Menu(options=left, not_offered=(*menu.not_offered, *refused))


def tried_before(option: Option, chosen: Mapping[str, int], tried: tuple[Tried, ...]) -> Refusal | None:
    """Why this option with these numbers is no new plan."""
    same = _same(option, chosen, tried)
    return Refusal(reason=same.reason, detail=f"it was tried before: {same}") if same else None


def after_all(refusal: Refusal, incident: Incident) -> Refusal:
    """With nothing left to try, what came of the last try is the news; what else was considered stands behind it."""
    if not incident.tried or refusal.reason not in NOTHING_ELSE:
        return refusal
    last = incident.tried[-1]
    back = "what was done has been taken back" if last.taken_back else "it stays in place"
    detail = f"{last.detail}; {back}. Nothing else to try: {refusal}"
    return Refusal(reason=last.reason, detail=detail)


def _same(option: Option, chosen: Mapping[str, int], tried: tuple[Tried, ...]) -> Tried | None:
    """Compared by what was chosen: a time that compiling fills in is another one each time."""
    wanted = {**option.params, **chosen}
    return next((one for one in tried if _is(one, option, wanted)), None)


def _is(one: Tried, option: Option, wanted: Mapping[str, Any]) -> bool:
    alike = one.step == option.step and one.target == option.target
    return alike and all(one.params.get(name) == value for name, value in wanted.items())


def _not_offered(one: Tried) -> NotOffered:
    return NotOffered(step=one.step, reason=one.reason, detail=f"tried before: {one}")
