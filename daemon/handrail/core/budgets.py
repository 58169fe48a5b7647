"""Whether another run may begin: how many have begun on this object, of this class, in this cluster, and how many are
at work. Pure; what has begun is counted by the store, in the gate's own transaction.

A run is a saga whose first intent was committed: a retry and each further round of an incident is another one, its
later writes and its attempts are not. An undo is never judged here, nor counted (docs/adr/0010-budgets-and-freezes.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from handrail.core.freeze import when
from handrail.core.words import plural, span
from handrail.model.budgets import Budget, Budgets, TargetBudget
from handrail.model.incident import Incident
from handrail.model.reason import Reason, Refusal
from handrail.model.step import Risk
from handrail.model.value import Value

MOST_NAMED = 3

_ORDER = tuple(Risk)


class Begun(Value):
    """A run that began. `risk` None where its plan can't be read: it counts to every class. `uids` are those of its
    objects that were asked about."""

    at: datetime
    incident: str
    round: int
    risk: Risk | None = None
    uids: frozenset[str] = frozenset()


class Spent(Value):
    """What the store has counted. `at_work` are the incidents, but for the one that asks, whose hands are at it."""

    begun: tuple[Begun, ...] = ()
    at_work: tuple[str, ...] = ()


class _Limit(NamedTuple):
    """One budget with what has been taken from it, oldest first."""

    budget: Budget | TargetBudget
    name: str
    where: str
    taken: tuple[datetime, ...]

    def free_at(self, now: datetime) -> datetime | None:
        """When there is a unit again; None where there is one now."""
        window = timedelta(minutes=self.budget.minutes)
        within = [at for at in self.taken if at > now - window]
        return within[-self.budget.most] + window if len(within) >= self.budget.most else None


def counts(incident: Incident) -> bool:
    """Whether its next write would begin a run: not where this round has begun already, and never where it takes back
    what another one did."""
    return not incident.has_acted and not incident.taking_back


def none_left(spent: Spent, budgets: Budgets, incident: Incident, now: datetime) -> Refusal | None:
    """The no of the budget that is free again last. `incident` has the saga and the rehearsal that would begin."""
    waits = [(end, limit) for limit in _limits(spent, budgets, incident) if (end := limit.free_at(now))]
    if not waits:
        return None
    end, limit = max(waits, key=lambda wait: wait[0])
    length = span(timedelta(minutes=limit.budget.minutes))
    detail = (
        f"{plural(limit.budget.most, 'run')} {limit.where} within {length} is the budget ({limit.name}), and spent;"
        f" the next may begin at {when(end)}, or a person acts"
    )
    return Refusal(reason=Reason.BUDGET_SPENT, detail=detail)


def free_from(spent: Spent, budgets: Budgets, incident: Incident, now: datetime) -> datetime | None:
    """When every budget that is spent now has a unit again; None where none is."""
    ends = (limit.free_at(now) for limit in _limits(spent, budgets, incident))
    return max((end for end in ends if end is not None), default=None)


def no_hand_free(spent: Spent, budgets: Budgets) -> Refusal | None:
    """Waited for, not refused for good: whoever was approved has his turn until the approval ends."""
    if len(spent.at_work) < budgets.at_once:
        return None
    names = ", ".join(spent.at_work[:MOST_NAMED])
    more = f" and {len(spent.at_work) - MOST_NAMED} more" if len(spent.at_work) > MOST_NAMED else ""
    detail = f"{plural(budgets.at_once, 'incident')} at once may write (at_once), and {names}{more} still do"
    return Refusal(reason=Reason.HANDS_BUSY, detail=detail)


def turn_never_came(incident: Incident) -> str:
    """What to add where the time of one that waited for its turn is over; "" for any other."""
    if incident.caution is None or incident.caution.reason is not Reason.HANDS_BUSY:
        return ""
    return f"; its turn never came: {incident.caution.detail} when that was asked first"


def objects(incident: Incident) -> Mapping[str, str]:
    """What a run of this saga would be about: UIDs to what people call them."""
    found = {
        one.write.object.uid: str(one.write.object) for one in (incident.rehearsal.writes if incident.rehearsal else ())
    }
    if incident.target is not None:
        found[incident.target.uid] = str(incident.target)
    found.pop("", None)
    return found


def risk_of(risks: list[Risk]) -> Risk | None:
    """A run's class: that of its riskiest step."""
    return max(risks, key=_ORDER.index, default=None)


def _limits(spent: Spent, budgets: Budgets, incident: Incident) -> Iterator[_Limit]:
    for uid, name in objects(incident).items():
        on = tuple(sorted(one.at for one in spent.begun if uid in one.uids))
        yield _Limit(budgets.per_target, "per_target", f"on {name}", on)
    risk = risk_of([step.risk for step in incident.saga.steps] if incident.saga else [])
    class_ = budgets.per_risk.of(risk) if risk is not None else None
    if risk is not None and class_ is not None:
        same = tuple(sorted(one.at for one in spent.begun if one.risk in (risk, None)))
        yield _Limit(class_, f"per_risk.{risk}", f"of {risk} steps", same)
    all_ = tuple(sorted(one.at for one in spent.begun))
    yield _Limit(budgets.per_cluster, "per_cluster", "in the cluster", all_)
