"""The stop switch: a row for each reach that was ever stopped, and a stream that keeps who pressed it.

The one row of `switch` is the lock for all of them: every intent share-locks it in its own transaction, every press
locks it alone. To builds that know only that row, any stop is a stop of everything (migration 0004).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, insert, select, update

from handrail.adapters.store.database import Tx
from handrail.adapters.store.journal import clean, extend, head_of, lock_at, rows_after, said, write_rows
from handrail.adapters.store.schema import SYSTEM, stops, switch
from handrail.model.errors import Bug
from handrail.model.events import Event
from handrail.model.incident import Incident
from handrail.model.switch import EVERYTHING, Reach, Scope, Stop, Switch

_ORDER = list(Scope)


async def switch_now(tx: Tx, *, locked: bool = False) -> Switch:
    """`locked` keeps the rows as they are until the transaction ends: else an intent slips past a concurrent stop."""
    row = select(switch)
    found = (await tx.conn.execute(row.with_for_update(read=True) if locked else row)).one_or_none()
    if found is None:
        raise Bug("the stop switch has no row: whether writing is allowed can't be known")
    return await _read(tx, found, locked=locked)


async def _read(tx: Tx, found: Row[Any], *, locked: bool = False) -> Switch:
    rows = select(stops).order_by(stops.c.scope, stops.c.name)
    all_of_them = list(await tx.conn.execute(rows.with_for_update(read=True) if locked else rows))
    presses = {reach: _press(row, reach) for row in all_of_them if (reach := _reach(row))}
    newer = tuple(f"{row.scope} {row.name}" for row in all_of_them if row.stopped and _reach(row) is None)
    if found.head != found.known_head:
        presses[EVERYTHING] = Stop(on=found.stopped, by=found.by, why=found.why, at=found.at)
    return Switch(pressed=tuple(sorted(presses.values(), key=_place)), newer=newer)


def _reach(row: Row[Any]) -> Reach | None:
    """None where a newer build pressed it: the word is not ours to read, and not to be taken for another."""
    return Reach(scope=Scope(row.scope), name=row.name) if row.scope in _ORDER else None


def _press(row: Row[Any], reach: Reach) -> Stop:
    return Stop(reach=reach, on=row.stopped, by=row.by, why=row.why, at=row.at)


def _place(stop: Stop) -> tuple[int, str]:
    return _ORDER.index(stop.reach.scope), stop.reach.name


async def press(tx: Tx, pressed: Stop) -> Switch:
    """Rows and journal entry together. Pressed again it is recorded again, with the newest person and reason."""
    before = await _read(tx, await _alone(tx))
    pressed = pressed.model_copy(update={"by": clean(pressed.by), "why": clean(pressed.why), "at": tx.now})
    kind = "stopped" if pressed.on else "started"
    data = {"kind": kind, "by": pressed.by, "why": pressed.why, **pressed.reach.model_dump(mode="json")}
    rows = rows_after(tx, SYSTEM, await head_of(tx, SYSTEM), [said(kind, data)], pressed.by)
    await write_rows(tx, rows)
    others = [stop for stop in before.pressed if stop.reach != pressed.reach]
    for stop in (pressed, *(other for other in others if other.reach == EVERYTHING)):
        await _keep(tx, stop)
    after = Switch(pressed=tuple(sorted((pressed, *others), key=_place)), newer=before.newer)
    shown = next(iter(after.stops), pressed)
    told = {"by": shown.by, "why": shown.why, "at": shown.at}
    head = rows[-1]["seq"]
    await tx.conn.execute(
        update(switch).values(stopped=bool(after.stops or after.newer), **told, head=head, known_head=head)
    )
    return after


async def _alone(tx: Tx) -> Row[Any]:
    """Locked before anything is read: two that share it first could not both go on to change it."""
    return (await tx.conn.execute(select(switch).with_for_update())).one()


async def _keep(tx: Tx, stop: Stop) -> None:
    values = {"stopped": stop.on, "by": stop.by, "why": stop.why, "at": stop.at or tx.now}
    of_reach = (stops.c.scope == str(stop.reach.scope)) & (stops.c.name == stop.reach.name)
    if (await tx.conn.execute(select(stops.c.scope).where(of_reach))).one_or_none() is None:
        key = {"scope": str(stop.reach.scope), "name": stop.reach.name}
        await tx.conn.execute(insert(stops).values(**key, **values))
    else:
        await tx.conn.execute(update(stops).where(of_reach).values(**values))


async def latch(tx: Tx, held: Stop) -> Switch:
    """What the cluster holds is remembered until a person says start. A stop of the same reach that is on already,
    and whoever's words it carries, stays as it is."""
    now = await _read(tx, await _alone(tx))
    standing = now.of(held.reach)
    return now if standing is not None and standing.on else await press(tx, held)


async def latch_at(tx: Tx, incident: Incident, held: Stop, events: Sequence[Event], actor: str) -> Incident:
    """The incident is locked first, as everywhere."""
    current = await lock_at(tx, incident)
    await latch(tx, held)
    return await extend(tx, current, events, actor)
