"""The menu of one incident: the closed list of what may be chosen, and why the rest is not on it.

Pure. Offers only what policy allows on this target now and what the step's own check passes on what was just seen.
It never ranks, and never offers a step on anything but the incident's own target.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol, runtime_checkable

from pydantic import ValidationError

from handrail.core.allow import limits_of, mode_for, never_written
from handrail.model.errors import Bug
from handrail.model.menu import Menu, NotOffered, Option
from handrail.model.params import fill
from handrail.model.policy import Policy
from handrail.model.reason import Reason, Refusal
from handrail.model.step import Candidate, Sight, Step
from handrail.model.target import ObjectRef

Limits = Mapping[str, tuple[int, int]]

MOST_OPTIONS = 12
"""A longer menu is no choice any more; what is cut is named among what is not offered."""


@runtime_checkable
class Explains(Protocol):
    """A step that can say why it proposes nothing, whatever the parameters."""

    def why_not(self, seen: Any) -> Refusal | None: ...


class Considered(NamedTuple):
    """`seen` by name of step: None where its target is gone. A step that nobody looked for is not in it."""

    target: ObjectRef
    seen: Mapping[str, Sight | None]
    at: datetime


def to_look_for(target: ObjectRef, steps: Mapping[str, Step], policy: Policy, own_namespace: str) -> tuple[str, ...]:
    """The steps whose `look` the menu needs: those of the target's kind that policy allows there."""
    return tuple(
        name
        for name, step in sorted(steps.items())
        if target.kind in step.kinds and _not_allowed(name, target, policy, own_namespace) is None
    )


def build_menu(considered: Considered, steps: Mapping[str, Step], policy: Policy, own_namespace: str) -> Menu:
    """Options "o1", "o2", ... in the order of the steps' names. Steps for other kinds are left out altogether."""
    options: list[Option] = []
    refused: list[NotOffered] = []
    for name, step in sorted(steps.items()):
        if considered.target.kind not in step.kinds:
            continue
        limits = limits_of(policy, name, considered.target)
        offers = _not_allowed(name, considered.target, policy, own_namespace) or _offers(step, considered, limits)
        if isinstance(offers, Refusal):
            refused.append(_not_offered(name, offers))
            continue
        for candidate in offers:
            if len(options) == MOST_OPTIONS:
                refused.append(_not_offered(name, _cut(candidate)))
                continue
            options.append(_option(f"o{len(options) + 1}", step, considered.target, candidate))
    refused.sort(key=lambda no: no.reason == Reason.NOT_ALLOWED)  # what a look has refused tells more: first
    return Menu(options=tuple(options), not_offered=tuple(refused))


def _not_allowed(step: str, target: ObjectRef, policy: Policy, own_namespace: str) -> Refusal | None:
    if never_written(target, policy, own_namespace):
        detail = f"{target.namespace or 'a cluster-wide object'} is never written to"
        return Refusal(reason=Reason.PROTECTED_NAMESPACE, detail=detail)
    if mode_for(policy, step, target) is None:
        return Refusal(reason=Reason.NOT_ALLOWED, detail=f"no policy rule allows {step} on {target}")
    return None


def _offers(step: Step, considered: Considered, limits: Limits) -> tuple[Candidate, ...] | Refusal:
    if step.name not in considered.seen:
        return Refusal(reason=Reason.SOURCE_AWAY, detail=f"nobody could look at {considered.target} for it")
    seen = considered.seen[step.name]
    if seen is None:
        return Refusal(reason=Reason.TARGET_GONE, detail=f"{considered.target} is not there any more")
    if seen.thing.ref != considered.target:
        return Refusal(reason=Reason.TARGET_GONE, detail=f"what is there now is another {considered.target}")
    proposed = step.propose(seen)
    within = [_within(candidate, limits) for candidate in proposed]
    checked = [(one, _beyond(one) or _check(step, seen, one, considered.at)) for one in within]
    passed = tuple(candidate for candidate, refusal in checked if refusal is None)
    return passed or _why_nothing(step, seen, [refusal for _candidate, refusal in checked if refusal])


def _within(candidate: Candidate, limits: Limits) -> Candidate:
    """The ranges as far as policy allows them."""
    narrowed = {
        name: (max(low, limits[name][0]), min(high, limits[name][1])) if name in limits else (low, high)
        for name, (low, high) in candidate.ranges.items()
    }
    return candidate.model_copy(update={"ranges": narrowed})


def _beyond(candidate: Candidate) -> Refusal | None:
    name = next((name for name, (low, high) in candidate.ranges.items() if low > high), None)
    if name is None:
        return None
    return Refusal(reason=Reason.OUT_OF_BOUNDS, detail=f"policy leaves no value of {name}: {candidate.summary}")


def _check(step: Step, seen: Sight, candidate: Candidate, at: datetime) -> Refusal | None:
    """Both ends of every range must pass, else a planner could choose what the step would refuse."""
    for end in (0, 1):
        chosen = {name: bounds[end] for name, bounds in candidate.ranges.items()}
        try:
            params = step.Params.model_validate(fill(step.Params, {**candidate.params, **chosen}, at))
        except ValidationError as error:
            raise Bug(f"{step.name} proposes parameters that it does not accept itself: {error}") from error
        refusal = step.check(seen, params)
        if refusal:
            return refusal
    return None


def _why_nothing(step: Step, seen: Sight, refusals: list[Refusal]) -> Refusal:
    why = step.why_not(seen) if isinstance(step, Explains) else None
    fallback = Refusal(reason=Reason.NO_CHANGE, detail=f"{step.name} finds nothing to change on {seen.thing.ref}")
    return why or next(iter(refusals), fallback)


def _option(id_: str, step: Step, target: ObjectRef, candidate: Candidate) -> Option:
    return Option(
        id=id_,
        step=step.name,
        risk=step.risk,
        target=target,
        params=candidate.params,
        ranges=candidate.ranges,
        summary=candidate.summary,
    )


def _not_offered(step: str, refusal: Refusal) -> NotOffered:
    return NotOffered(step=step, reason=refusal.reason, detail=refusal.detail)


def _cut(candidate: Candidate) -> Refusal:
    return Refusal(reason=Reason.OUT_OF_BOUNDS, detail=f"the menu is full; left out: {candidate.summary}")
