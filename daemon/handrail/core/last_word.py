"""What an alert said last, where that was counted and not journalled. Pure.

What flaps is journalled once in a while only, or nothing could be decided any more for all the entries; so a journal's
last word may be another than what was heard last, and nothing may come for hours that would set it right. This says
which entries are missing then: they are shown at once to whoever looks, and journalled as soon as that is due.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from handrail.core.awaiting import TOPIC
from handrail.core.correlate import identity as identity_of
from handrail.core.fold import apply
from handrail.model import events as ev
from handrail.model.alert import Alert, Source
from handrail.model.arrival import LastWord
from handrail.model.incident import Incident
from handrail.model.labels import labelled_target
from handrail.model.value import digest

REPEAT_EVERY = timedelta(minutes=1)
"""Once many alerts of an incident are journalled: at most one of each status in this time, so that what flaps is
bounded too. Each entry moves the journal's head, and in a storm nothing could be decided any more, since a decision
commits only onto the head that it was made from."""

LATE_EVERY = timedelta(hours=1)
"""Of a closed incident: each status first, then at most one in this time. People are told of each entry."""

LATE = timedelta(days=1)
"""So long after its end anybody wants to know."""

ACTOR = "intake"


def unsaid(incident: Incident, words: Iterable[LastWord]) -> tuple[ev.AlertAttached, ...]:
    """The entries that the journal lacks, oldest first. An alert of which nothing was ever journalled is not told by
    its last word either."""
    newest = {_identity(alert, incident): alert for alert in incident.alerts}
    said = ((newest.get(word.identity), word) for word in sorted(words, key=lambda word: word.at))
    return tuple(_entry(incident, alert, word) for alert, word in said if alert and alert.status != word.status)


def as_heard(
    incident: Incident, entries: tuple[ev.Entry, ...], words: Iterable[LastWord]
) -> tuple[Incident, tuple[ev.Entry, ...]]:
    """For whoever looks: both as if those entries were there already."""
    known = sorted(words, key=lambda word: word.at)
    for event in unsaid(incident, known):
        at = next(word.at for word in known if word.identity == _identity(event.alert, incident))
        entry = ev.Entry(
            incident=incident.id, seq=incident.seq + 1, at=at, actor=ACTOR, event=event, previous="", hash=""
        )
        incident, entries = apply(incident, entry), (*entries, entry)
    return incident, entries


def _identity(alert: Alert, incident: Incident) -> str:
    return identity_of(alert, labelled_target(alert), incident.cluster)


def _entry(incident: Incident, alert: Alert, word: LastWord) -> ev.AlertAttached:
    last = alert.model_copy(update={"status": word.status, "seen_at": word.seen_at, "ends_at": None})
    source = Source(topic=f"{TOPIC}last_word", partition=0, offset=0, digest=digest(last))
    closed = str(incident.state) if incident.state.terminal else ""
    return ev.AlertAttached(alert=last, source=source, closed=closed)
