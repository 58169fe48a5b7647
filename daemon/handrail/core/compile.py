"""A proposal becomes a saga: ordered steps with complete parameters, or a refusal that says what is wrong with it.

Pure. Everything comes from the menu that was journalled for this round, but the numbers that a planner chose within
the menu's own ranges. It never repairs a proposal: a plan that is nearly right is refused, and counts as a round.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from handrail.core.tried import tried_before
from handrail.model.errors import Bug
from handrail.model.incident import Incident
from handrail.model.menu import Menu, Option
from handrail.model.params import fill
from handrail.model.plan import Choice
from handrail.model.reason import Reason, Refusal
from handrail.model.saga import Saga, SagaStep
from handrail.model.step import Step

MOST_STEPS = 3


def compile_plan(incident: Incident, steps: Mapping[str, Step], now: datetime) -> Saga | Refusal:
    """The saga of the incident's proposal. Raises Bug when there is no menu or no proposal to compile."""
    if incident.menu is None or incident.proposal is None:
        raise Bug(f"{incident.id} is to be compiled without a menu and a proposal")
    choices = incident.proposal.choices
    refusal = _count(choices)
    if refusal:
        return refusal
    compiled: list[SagaStep] = []
    for index, choice in enumerate(choices):
        step = _again(incident, choice, incident.menu) or _compiled(index, choice, incident.menu, steps, now)
        if isinstance(step, Refusal):
            return step
        compiled.append(step)
    return (
        _foreign(incident, compiled)
        or _conflict(compiled, steps)
        or Saga(incident=incident.id, round=incident.round, at=now, steps=tuple(compiled))
    )


def _count(choices: tuple[Choice, ...]) -> Refusal | None:
    if not choices:
        return Refusal(reason=Reason.NOTHING_OFFERED, detail="the plan chooses nothing from the menu")
    if len(choices) > MOST_STEPS:
        detail = f"the plan has {len(choices)} steps; more than {MOST_STEPS} at once can't be judged by a person"
        return Refusal(reason=Reason.OUT_OF_BOUNDS, detail=detail)
    return None


def _again(incident: Incident, choice: Choice, menu: Menu) -> Refusal | None:
    option = menu.option(choice.option)
    return tried_before(option, choice.params, incident.tried) if option else None


def _compiled(index: int, choice: Choice, menu: Menu, steps: Mapping[str, Step], now: datetime) -> SagaStep | Refusal:
    option = menu.option(choice.option)
    if option is None:
        return Refusal(reason=Reason.OPTION_NOT_OFFERED, detail=f"{choice.option!r} is not on the menu")
    step = steps.get(option.step)
    if step is None:
        return Refusal(reason=Reason.OPTION_NOT_OFFERED, detail=f"this build has no step {option.step}")
    if option.target.kind not in step.kinds or option.risk is not step.risk:
        detail = f"{step.name} as it is now does not act on {option.target} at risk {option.risk}"
        return Refusal(reason=Reason.UNSUPPORTED_KIND, detail=detail)
    refusal = _ranges(option, choice)
    if refusal:
        return refusal
    params = _params(step, {**option.params, **choice.params}, now)
    return params if isinstance(params, Refusal) else _step(index, option, choice, params)


def _ranges(option: Option, choice: Choice) -> Refusal | None:
    """Exactly the ranged parameters, each within its bounds: fixed ones are not the planner's to name."""
    for name in sorted({*choice.params, *option.ranges}):
        if name not in option.ranges:
            return _out_of_range(f"{option.id} leaves no choice of {name!r}")
        if name not in choice.params:
            return _out_of_range(f"{option.id} needs a value for {name!r}")
        low, high = option.ranges[name]
        if not low <= choice.params[name] <= high:
            return _out_of_range(f"{name} = {choice.params[name]} is outside {low} to {high} of {option.id}")
    return None


def _params(step: Step, given: dict[str, Any], now: datetime) -> dict[str, Any] | Refusal:
    """Complete and final, in the plain JSON form that the journal keeps."""
    try:
        return step.Params.model_validate(fill(step.Params, given, now)).model_dump(mode="json")
    except ValidationError as error:
        return _out_of_range(f"{step.name} does not accept its parameters: {error.errors(include_url=False)[0]['msg']}")


def _step(index: int, option: Option, choice: Choice, params: dict[str, Any]) -> SagaStep:
    chosen = ", ".join(f"{name} = {number}" for name, number in sorted(choice.params.items()))
    return SagaStep(
        index=index,
        step=option.step,
        risk=option.risk,
        target=option.target,
        params=params,
        summary=f"{option.summary} ({chosen})" if chosen else option.summary,
    )


def _foreign(incident: Incident, compiled: list[SagaStep]) -> Refusal | None:
    """A plan is bound to its incident's own object, by UID (kubernaut 2018)."""
    for step in compiled:
        if incident.target is None or not step.target.uid or step.target != incident.target:
            return Refusal(reason=Reason.OPTION_NOT_OFFERED, detail=f"{step.target} is not what this incident is about")
    return None


def _conflict(compiled: list[SagaStep], steps: Mapping[str, Step]) -> Refusal | None:
    """Two steps that write the same field of the same object: the later would take back the earlier."""
    for later in compiled:
        for earlier in compiled[: later.index]:
            if earlier.target.uid == later.target.uid and _overlap(steps[earlier.step], steps[later.step]):
                detail = f"steps {earlier.index + 1} and {later.index + 1} both write the same part of {later.target}"
                return Refusal(reason=Reason.CONFLICTING_STEPS, detail=detail)
    return None


def _overlap(one: Step, other: Step) -> bool:
    pairs = [(a.split("/"), b.split("/")) for a in one.admits for b in other.admits]
    return any(a == b[: len(a)] or b == a[: len(b)] for a, b in pairs)


def _out_of_range(detail: str) -> Refusal:
    return Refusal(reason=Reason.PARAMETER_OUT_OF_RANGE, detail=detail)
