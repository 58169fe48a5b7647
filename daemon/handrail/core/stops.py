"""Which stop concerns an incident, and how a stop is said. Pure.

A stop of a namespace concerns whatever is about an object there; a stop of a step concerns each saga that has the step,
as a whole: half of a saga is worse than none of it. Missing knowledge never makes a stop smaller.
"""

from __future__ import annotations

from handrail.core.words import one_line
from handrail.model.events import Paused
from handrail.model.incident import Incident
from handrail.model.switch import Reach, Scope, Stop, Switch
from handrail.model.taking_back import base_of


def concerning(switch: Switch, incident: Incident, namespace: str = "") -> Stop | None:
    """The first stop that is on and concerns it, in the switch's order; `namespace` is that of a write, "" for none."""
    return next((stop for stop in switch.stops if concerns(stop.reach, incident, namespace)), None)


def concerns(reach: Reach, incident: Incident, namespace: str = "") -> bool:
    steps = incident.saga.steps if incident.saga else ()
    match reach.scope:
        case Scope.ALL:
            return True
        case Scope.NAMESPACE:
            known = incident.target or incident.labelled
            about = {known.namespace if known else "", namespace, *(step.target.namespace for step in steps)}
            return reach.name in about
        case Scope.STEP:
            return any(base_of(step.step) == reach.name for step in steps)


def of_newer(switch: Switch) -> str:
    """Of stops that only a newer build can read; "" where there are none."""
    named = one_line(", ".join(switch.newer), 300)
    return f"a newer build stopped {named}: only that build knows what it concerns, and lifts it" if named else ""


def stopped(stop: Stop | Paused) -> str:
    """Who stopped what and why, as a clause without a full stop; the person's reason stands last."""
    why = one_line(stop.why, 300).rstrip(".") or "no reason given"
    if stop.held:
        return f"the cluster refuses every write{where(stop.reach)}: {why}"
    return f"{stop.by or 'somebody'} stopped {stop.reach}: {why}"


def where(reach: Reach) -> str:
    return "" if reach.scope is Scope.ALL else f" in {reach}"


def to_start(stop: Stop | Paused) -> str:
    """What to type, in backticks. What the cluster holds is given back there first, else it is met again."""
    command = f"`handrail start{stop.reach.flag}`"
    if not stop.held:
        return command
    name = f" --namespace {stop.reach.name}" if stop.reach.scope is Scope.NAMESPACE else ""
    return f"{command} (first `handrail start --cluster{name}`, unless that is done)"
