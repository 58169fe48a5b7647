"""The audit finds every way in which a journal may no longer be what was written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.adapters.store import AuditReport, Store, StreamAudit
from handrail.adapters.store.chain import GENESIS, Row, entry_hash, verify
from handrail.model import events as ev
from handrail.model.incident import State
from tests.store.driving import behind, walk

ID = "incident = :id"


def of(report: AuditReport, stream: str) -> StreamAudit:
    return next(one for one in report.streams if one.stream == stream)


@pytest.mark.parametrize(
    ("statement", "broken_at", "says"),
    [
        (f"UPDATE journal SET data = replace(data, 'request-1', 'request-2') WHERE {ID} AND seq = 8", 8, "content"),
        (f"UPDATE journal SET data = 'gone' WHERE {ID} AND seq = 3", 3, "no JSON"),
        (f"UPDATE journal SET actor = 'somebody' WHERE {ID} AND seq = 4", 4, "content"),
        (f"UPDATE journal SET at = '2026-11-03T02:00:00.000000+00:00' WHERE {ID} AND seq = 4", 4, "content"),
        (f"UPDATE journal SET at = 'yesterday' WHERE {ID} AND seq = 4", 4, "content"),
        (f"UPDATE journal SET kind = 'noted' WHERE {ID} AND seq = 4", 4, "content"),
        (f"UPDATE journal SET hash = 'new' WHERE {ID} AND seq = 4", 4, "content"),
        (f"UPDATE journal SET previous = 'new' WHERE {ID} AND seq = 4", 4, "does not follow"),
        (f"DELETE FROM journal WHERE {ID} AND seq = 1", 1, "missing"),
        (f"DELETE FROM journal WHERE {ID} AND seq = 5", 5, "missing"),
        (f"DELETE FROM journal WHERE {ID} AND seq > 7", 8, "cut off"),
        (f"DELETE FROM journal WHERE {ID}", 1, "cut off"),
        ("UPDATE incidents SET state = 'RESOLVED' WHERE id = :id", 9, "leads to"),
        ("UPDATE incidents SET head = 4 WHERE id = :id", 5, "goes further"),
    ],
)
async def test_a_change_behind_our_back_is_found_where_it_is(
    store: Store, path: Path, statement: str, broken_at: int, says: str
) -> None:
    incident = await walk(store, State.EXECUTING)
    assert (incident.seq, (await store.audit()).ok) == (9, True)
    behind(path).execute(statement, {"id": incident.id})
    report = await store.audit()
    found = of(report, incident.id)
    assert not report.ok
    assert not found.ok
    assert (found.broken_at, says in found.problem) == (broken_at, True), found


@pytest.mark.parametrize(
    "swap",
    [
        "UPDATE journal SET seq = CASE seq WHEN -3 THEN 4 ELSE 3 END WHERE incident = :id AND seq IN (-3, 4)",
        "UPDATE journal SET seq = 5 WHERE incident = :id AND seq = -3",
    ],
)
async def test_entries_that_were_moved_are_found(store: Store, path: Path, swap: str) -> None:
    incident = await walk(store, State.EXECUTING)
    connection = behind(path)
    connection.execute("UPDATE journal SET seq = -3 WHERE incident = ? AND seq = 3", (incident.id,))
    if "CASE" in swap:
        connection.execute("UPDATE journal SET seq = 3 WHERE incident = ? AND seq = 4", (incident.id,))
        connection.execute("UPDATE journal SET seq = 4 WHERE incident = ? AND seq = -3", (incident.id,))
    else:
        connection.execute("DELETE FROM journal WHERE incident = ? AND seq = 5", (incident.id,))
        connection.execute(swap, {"id": incident.id})
    assert of(await store.audit(), incident.id).broken_at == 3


async def test_an_entry_smuggled_in_is_found(store: Store, path: Path) -> None:
    incident = await walk(store, State.ASKING)
    approved = {"kind": "approved", "request": "request-1", "by": {"via": "slack", "name": "U0ONCALL", "groups": []}}
    last = (await store.entries(incident.id))[-1]
    seal = entry_hash(last.hash, (incident.id, 9, "2026-11-03T03:00:00.000000+00:00"), ("approved", approved), "x")
    behind(path).execute(
        "INSERT INTO journal VALUES (?, 9, '2026-11-03T03:00:00.000000+00:00', 'approved', 1, ?, 'x', ?, ?)",
        (incident.id, json.dumps(approved), last.hash, seal),
    )
    found = of(await store.audit(), incident.id)
    assert (found.ok, found.broken_at) == (False, 9)


async def test_a_journal_that_nothing_else_knows_of_is_found(store: Store, path: Path) -> None:
    incident = await walk(store, State.OPENED)
    behind(path).execute(
        "INSERT INTO journal SELECT 'inc-ghost', seq, at, kind, version, data, actor, previous, hash FROM journal"
    )
    report = await store.audit()
    assert of(report, incident.id).ok
    assert not of(report, "inc-ghost").ok


async def test_a_stop_that_was_wiped_from_the_books_is_found(store: Store, path: Path) -> None:
    await store.set_switch(True, by="slack:U0ONCALL", why="freeze")
    await store.set_switch(False, by="slack:U0ONCALL", why="over")
    report = await store.audit()
    assert (report.ok, of(report, "system").entries) == (True, 2)
    behind(path).execute("DELETE FROM journal WHERE incident = 'system' AND seq = 2")
    assert of(await store.audit(), "system").broken_at == 2


async def test_a_kept_text_that_was_changed_is_found(store: Store, path: Path) -> None:
    await walk(store, State.PLANNING)
    assert (await store.audit()).ok
    behind(path).execute("UPDATE blobs SET text = 'all was well'")
    report = await store.audit()
    assert not report.ok
    assert "texts were changed" in of(report, "evidence").problem


async def test_a_broken_journal_does_not_hide_that_its_neighbours_are_whole(store: Store, path: Path) -> None:
    broken = await walk(store, State.GATHERING, "checkout")
    whole = await walk(store, State.GATHERING, "cart")
    behind(path).execute("DELETE FROM journal WHERE incident = ? AND seq = 1", (broken.id,))
    report = await store.audit()
    assert [one.stream for one in report.streams if not one.ok] == [broken.id]
    assert of(report, whole.id).ok


async def test_kinds_of_a_newer_build_are_checked_by_their_chain_alone(store: Store, path: Path) -> None:
    incident = await walk(store, State.OPENED)
    first = (await store.entries(incident.id))[0]
    at, data = "2026-11-03T03:00:00.000000+00:00", {"kind": "teleported"}
    seal = entry_hash(first.hash, (incident.id, 2, at), ("teleported", data), "newer")
    behind(path).execute(
        "INSERT INTO journal VALUES (?, 2, ?, 'teleported', 1, ?, 'newer', ?, ?)",
        (incident.id, at, json.dumps(data), first.hash, seal),
    )
    behind(path).execute("UPDATE incidents SET head = 2, state = 'teleporting' WHERE id = ?", (incident.id,))
    assert (await store.audit()).ok


async def test_an_empty_store_is_whole(store: Store) -> None:
    assert (await store.audit()) == AuditReport(ok=True, streams=(StreamAudit(stream="system", entries=0, ok=True),))


def chain_of(texts: list[str]) -> list[Row]:
    rows: list[Row] = []
    for seq, text in enumerate(texts, start=1):
        previous = rows[-1].hash if rows else GENESIS
        data = {"kind": "noted", "text": text}
        seal = entry_hash(previous, ("inc", seq, "t"), ("noted", data), "a")
        rows.append(Row("inc", seq, "t", "noted", json.dumps(data), "a", previous, seal))
    return rows


Tamper = Callable[[list[Row], int], list[Row]]


def _drop(rows: list[Row], at: int) -> list[Row]:
    return rows[:at] + rows[at + 1 :]


def _swap(rows: list[Row], at: int) -> list[Row]:
    return rows[:at] + rows[at : at + 2][::-1] + rows[at + 2 :]


def _double(rows: list[Row], at: int) -> list[Row]:
    return rows[: at + 1] + rows[at:]


def _retell(rows: list[Row], at: int) -> list[Row]:
    """Changes one entry and gives it a right hash of its own: the next one gives it away."""
    old = rows[at]
    data = {"kind": "noted", "text": "something else entirely"}
    seal = entry_hash(old.previous, (old.incident, old.seq, old.at), (old.kind, data), old.actor)
    new = Row(old.incident, old.seq, old.at, old.kind, json.dumps(data), old.actor, old.previous, seal)
    return [*rows[:at], new, *rows[at + 1 :]]


@given(texts=st.lists(st.text(max_size=5), min_size=3, max_size=8), at=st.integers(0, 1), how=st.integers(0, 3))
def test_no_dropped_swapped_doubled_or_retold_entry_passes(texts: list[str], at: int, how: int) -> None:
    rows = chain_of(texts)
    assert verify(rows) is None
    tampers: list[Tamper] = [_drop, _swap, _double, _retell]
    broken = verify(tampers[how](rows, at))
    assert broken is not None
    assert broken.seq in (at + 1, at + 2)


def test_each_event_kind_has_its_word_in_the_hash() -> None:
    one = entry_hash("", ("inc", 1, "t"), ("noted", ev.dump(ev.Noted(text="x"))), "a")
    assert one != entry_hash("", ("inc", 1, "t"), ("taken", ev.dump(ev.Noted(text="x"))), "a")
