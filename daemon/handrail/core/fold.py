"""State is a fold over the journal: `fold` is the only way an Incident comes into being.

What each kind of event changes is said in changes.py; here is the state that follows, and what entering it begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable

from handrail.core import lifecycle
from handrail.core.changes import CHANGES, Change, next_round, nothing
from handrail.model import events as ev
from handrail.model.errors import Bug
from handrail.model.incident import Incident, State


def fold(entries: Iterable[ev.Entry], *, cluster: str) -> Incident:
    """The incident of a whole journal. Raises Bug for an empty one, or one that does not begin with `opened`."""
    incident: Incident | None = None
    for entry in entries:
        incident = apply(incident, entry, cluster=cluster)
    if incident is None:
        raise Bug("an empty journal folds to nothing")
    return incident


def apply(incident: Incident | None, entry: ev.Entry, *, cluster: str = "") -> Incident:
    """One step of the fold."""
    if incident is None:
        return _opened(entry, cluster)
    event = entry.event
    name = event_name(event)
    if not lifecycle.allowed(incident.state, name):
        raise Bug(f"{name} in state {incident.state} of {incident.id} (seq {entry.seq})")
    change = CHANGES.get(event.kind, nothing)(incident, event, entry.at)
    state = lifecycle.after(incident.state, name)
    if state is not incident.state:
        change = {**_on_entering(incident, state), **change, "state": state, "moved_at": entry.at}
    return incident.model_copy(update={**change, "seq": entry.seq})


def event_name(event: ev.Event) -> str:
    """The word of the table: the kind, and for `verified` the verdict too."""
    return f"verified:{event.verdict}" if isinstance(event, ev.Verified) else event.kind


def _opened(entry: ev.Entry, cluster: str) -> Incident:
    event = entry.event
    if not isinstance(event, ev.Opened):
        raise Bug(f"the journal of {entry.incident} begins with {event.kind}")
    return Incident(
        id=entry.incident,
        cluster=cluster or event.alert.cluster,
        seq=entry.seq,
        opened_at=entry.at,
        moved_at=entry.at,
        identity=event.identity,
        episode=event.episode,
        follows=event.follows,
        alerts=(event.alert,),
        labelled=event.target,
        findings=event.findings,
    )


def _on_entering(incident: Incident, state: State) -> Change:
    """A new look or a new round begins with nothing planned, approved or begun."""
    fresh: Change = {
        "menu": None,
        "proposal": None,
        "saga": None,
        "rehearsal": None,
        "request": None,
        "approved_by": None,
        "let_go_at": None,
        "cleared_hash": "",
        "run_until": None,
        "caution": None,
    }
    if state is State.GATHERING:
        shown_anew = tuple(finding for finding in incident.findings if not finding.corroborated)
        gone: Change = {"held_until": None, "silenced": None, "silenced_at": None, "waiting": None}
        return {**fresh, **gone, "findings": shown_anew}
    if state is State.PLANNING and incident.state is not State.GATHERING:
        return {**fresh, **next_round(incident)}
    return {}
