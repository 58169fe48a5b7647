"""The last word of each alert that flaps: shown at once to whoever looks, and journalled when it is time.

Which entries are missing is core/last_word.py's to say.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import groupby

from handrail.core import last_word
from handrail.effects.tools import Tools
from handrail.model.errors import Damaged, HeadMoved, UnknownEvent
from handrail.model.events import Entry
from handrail.model.incident import Incident


async def as_heard(tools: Tools, incident: Incident) -> tuple[Incident, tuple[Entry, ...]]:
    """The incident and its journal, with what was heard since. Raises Damaged, UnknownEvent, Transient."""
    entries = await tools.store.entries(incident.id)
    return last_word.as_heard(incident, entries, await tools.store.unsaid(incident.id))


async def say(tools: Tools) -> None:
    """Journals what is due. Raises Transient."""
    due = sorted(await tools.store.unsaid(), key=lambda word: word.incident)
    for id_, words in groupby(due, key=lambda word: word.incident):
        # Something came in just now: the next time. Of a journal that can't be read: said by whoever drives it.
        with suppress(HeadMoved, Damaged, UnknownEvent):
            incident, mine = await tools.store.incident(id_), tuple(words)
            if incident is not None:
                await tools.store.say(incident, last_word.unsaid(incident, mine), mine)
