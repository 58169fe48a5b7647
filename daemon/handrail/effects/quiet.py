"""Looking whether somebody wants to be left alone: silences in Alertmanager, marks on objects. Decides nothing itself.

Asked when an incident is looked at, before anybody is asked and before the first write: what was true at the first may
not be at the last.
"""

from __future__ import annotations

from datetime import datetime

from handrail.core import hush, maintenance
from handrail.core.hush import Hush
from handrail.core.redact import redact
from handrail.effects.tools import Tools
from handrail.model import events as ev
from handrail.model.errors import Permanent, Transient
from handrail.model.evidence import Away, Piece, Trust
from handrail.model.incident import Incident
from handrail.model.reason import Reason, Refusal
from handrail.model.silence import Silence, Standing
from handrail.model.step import Eyes, Thing
from handrail.model.target import ObjectRef

SOURCE = "alertmanager"
MOST_NAMES = 5
MOST_SILENCES = 5


async def silences(tools: Tools, incident: Incident) -> Hush:
    """Where Alertmanager is away, it is named as that: nobody is told that there is no silence."""
    if tools.silences is None:
        return Hush()
    found: list[Standing] = []
    try:
        for name in hush.names(incident)[:MOST_NAMES]:
            found += await tools.silences.standings(name)
    except (Transient, Permanent) as error:
        why = f"whether this is silenced can't be told: {redact(str(error), 250)}"
        return Hush(away=Away(source=SOURCE, why=why))
    return hush.judge(incident, found, tools.now())


async def quiet_until(tools: Tools, seen: Hush) -> ev.Silenced | None:
    """None where nothing is silenced."""
    if tools.silences is None or not seen.silences:
        return None
    known: list[Silence] = []
    for id_ in dict.fromkeys(id_ for ids in seen.silences for id_ in ids[:MOST_SILENCES]):
        try:
            known.append(await tools.silences.silence(id_))
        except (Transient, Permanent):
            continue  # that it is silenced is known; who and until when is not
    return hush.silenced(seen, known, tools.now())


async def silenced_now(tools: Tools, incident: Incident) -> tuple[Hush, ev.Silenced | None]:
    """Both at once, for those who only want to know whether to go on."""
    seen = await silences(tools, incident)
    return seen, await quiet_until(tools, seen)


async def told_by(tools: Tools, seen: Hush, now: datetime) -> Piece | None:
    """What Alertmanager says besides, as evidence: words, never proof."""
    inhibitors: tuple[str, ...] = ()
    if tools.silences is not None and seen.inhibited_by:
        try:
            inhibitors = await tools.silences.names_of(seen.inhibited_by)
        except (Transient, Permanent):
            inhibitors = ()
    lines = hush.evidence(seen, inhibitors)
    if not lines:
        return None
    text = redact("\n".join(lines), 2000)
    return Piece(kind=SOURCE, source=SOURCE, at=now, trust=Trust.TEXT, title="What Alertmanager says", text=text)


async def kept_off(eyes: Eyes, thing: Thing, now: datetime) -> Refusal | None:
    """Marks of maintenance around it. Raises Transient; what can't be read is no permission."""
    where = thing.ref.namespace
    try:
        namespace = await eyes.get(_of("Namespace", where)) if where else None
        nodes = [await eyes.get(_of("Node", name)) for name in maintenance.nodes_to_read(thing)]
    except Permanent as error:
        return Refusal(reason=Reason.SOURCE_AWAY, detail=f"whether it is in maintenance can't be told: {error}")
    return maintenance.kept_off(thing, namespace, [node for node in nodes if node is not None], now)


def _of(kind: str, name: str) -> ObjectRef:
    return ObjectRef(api_version="v1", kind=kind, namespace="", name=name)
