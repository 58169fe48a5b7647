"""Stop and start, pressed by a person: who may, for what, and what it means for the incidents that are open.

The same checks whichever way a person comes. Works with the last good policy: a stop is needed most while things are
broken. Never asks the cluster before it stops.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import structlog

from handrail.adapters.http import Reply
from handrail.core import freeze, stops
from handrail.core.answer import is_one_of
from handrail.core.budgets import Spent
from handrail.core.freeze import Standing
from handrail.core.words import one_line, plural
from handrail.effects.tools import Tools
from handrail.model.approval import Person
from handrail.model.budgets import Budgets
from handrail.model.errors import HandrailError
from handrail.model.namespace import NAME
from handrail.model.policy import Policy
from handrail.model.reason import Reason, Refusal
from handrail.model.switch import Reach, Scope, Switch

log = structlog.get_logger("desk")

MOST_LOOKED_AT = 500
"""Open incidents that a press is counted over: people wait for the answer."""


def may_press(policy: Policy, person: Person) -> Refusal | None:
    """Operators, and approvers: who may say yes to a write may say no to all of them."""
    if is_one_of(policy.operators, person) or is_one_of(policy.approvers, person):
        return None
    detail = f"{person} is neither an operator nor an approver in the policy"
    return Refusal(reason=Reason.NOT_AN_APPROVER, detail=detail)


def wrong(tools: Tools, stop: bool, why: str, reach: Reach) -> str:
    """What is wrong with the press, as a sentence; "" for nothing."""
    if stop and not why.strip():
        return "say why: handrail stop --reason TEXT"
    if reach.scope is Scope.NAMESPACE and not NAME.fullmatch(reach.name):
        return f"{reach.name[:60]!r} can be no namespace's name"
    if reach.scope is Scope.STEP and reach.name not in tools.steps:
        return f"there is no step {reach.name[:60]!r}; `handrail steps` names them"
    return ""


async def press(tools: Tools, stop: bool, person: Person, why: str, reach: Reach) -> Reply:
    """Committed when this returns. A start of what was not stopped is said, not recorded."""
    problem = wrong(tools, stop, why, reach)
    if problem:
        return Reply(ok=False, message=problem)
    before = await tools.store.switch()
    standing = before.of(reach)
    if not stop and (standing is None or not standing.on):
        return Reply(ok=True, message=f"{reach} was not stopped{_still(before)}")
    now = await tools.store.set_switch(stop, by=str(person), why=why, reach=reach)
    log.warning("stopped" if stop else "started", reach=str(reach), by=str(person), why=why[:300])
    if not stop:
        return Reply(ok=True, message=f"started by {person}: {_again(reach)} where they stood{_still(now)}")
    about = await _open(tools, reach)
    done = f"stopped by {person}: nothing is written any more{stops.where(reach)} until `handrail start{reach.flag}`"
    return Reply(ok=True, message=f"{done}; {about}")


def _again(reach: Reach) -> str:
    return "incidents go on" if reach.scope is Scope.ALL else f"incidents of {reach} go on"


def _still(now: Switch) -> str:
    """What stands all the same, and how to lift it."""
    left = [f"{stops.stopped(stop)} ({stops.to_start(stop)})" for stop in now.stops]
    left += [stops.of_newer(now)] if now.newer else []
    return f"; still on: {'; '.join(left)}" if left else ""


async def _open(tools: Tools, reach: Reach) -> str:
    """How many open incidents it concerns: a name that was mistyped concerns none."""
    count = 0
    for id_ in (await tools.store.open_ids())[:MOST_LOOKED_AT]:
        try:
            incident = await tools.store.incident(id_)
        except HandrailError:
            continue
        count += incident is not None and stops.concerns(reach, incident)
    return f"{plural(count, 'open incident')} {'is' if count == 1 else 'are'} concerned"


async def standing(tools: Tools) -> dict[str, Any]:
    """For `handrail status`. `stopped` and `switch` speak of everything, `stops` of all that is on; `freezes` stand now
    by the policy, and `runs` is what its budgets have left."""
    switch = await tools.store.switch()
    heads = await tools.store.open_heads()
    policy, now = tools.policy.last_good(), tools.now()
    frozen = freeze.all_standing(policy.freezes, now)
    runs = _runs(await tools.store.spent_by_all(), policy.budgets, now)
    all_of_it = next((stop for stop in switch.stops if stop.reach.scope is Scope.ALL), None)
    shown = all_of_it.model_dump(mode="json", include={"by", "why", "at"}) if all_of_it else None
    return {
        "stopped": switch.stopped,
        "switch": shown,
        "stops": [
            {
                "reach": str(stop.reach),
                "scope": str(stop.reach.scope),
                "name": stop.reach.name,
                "by": stop.by,
                "why": stop.why,
                "at": stop.at.isoformat() if stop.at else "",
                "held_by_cluster": stop.held,
                "start": stops.to_start(stop),
            }
            for stop in switch.stops
        ],
        "stops_of_newer_builds": list(switch.newer),
        "freezes": [
            {
                "name": one.freeze.name,
                "reason": one.freeze.reason,
                "namespaces": list(one.freeze.namespaces),
                "until": one.until.isoformat(),
            }
            for one in frozen
        ],
        "runs": runs,
        "open_incidents": len(heads),
        "lines": [*_lines(switch), *_frozen(frozen), *_of_budget(runs), plural(len(heads), "open incident")],
    }


def _runs(spent: Spent, budgets: Budgets, now: datetime) -> dict[str, int]:
    since = now - timedelta(minutes=budgets.per_cluster.minutes)
    return {
        "begun": sum(one.at > since for one in spent.begun),
        "most": budgets.per_cluster.most,
        "minutes": budgets.per_cluster.minutes,
        "at_work": len(spent.at_work),
        "at_once": budgets.at_once,
    }


def _of_budget(runs: dict[str, int]) -> list[str]:
    """Nothing while nothing is taken from it."""
    if not runs["begun"] and not runs["at_work"]:
        return []
    within = f"runs begun in the last {runs['minutes']} minutes: {runs['begun']} of {runs['most']}"
    return [f"{within}; at work now: {runs['at_work']} of {runs['at_once']}"]


def _frozen(standing: Iterable[Standing]) -> list[str]:
    lines = []
    for one in standing:
        where = ", ".join(one.freeze.namespaces) or "everything"
        lines.append(f"FROZEN: {one_line(where, 200)}: {freeze.said(one)}")
    return lines


def _lines(switch: Switch) -> list[str]:
    """The same for people, in a terminal or in Slack."""
    lines = []
    for stop in switch.stops:
        who = "the cluster" if stop.held else stop.by or "somebody"
        since = f" since {stop.at:%Y-%m-%d %H:%M:%S} UTC" if stop.at else ""
        lines.append(f"STOPPED: {stop.reach}, by {who}{since}: {one_line(stop.why, 500) or 'no reason given'}")
        lines.append(f"goes on after {stops.to_start(stop)}")
    if switch.newer:
        lines.append(f"STOPPED: {stops.of_newer(switch)}")
    return lines or ["not stopped"]
