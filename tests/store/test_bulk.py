"""Many rows and many keys in one statement each, alone: the same on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError

from handrail.adapters.store import Store, intake
from handrail.adapters.store.bulk import among, put
from handrail.adapters.store.database import Tx
from handrail.adapters.store.schema import heard
from handrail.core.grouping import place
from handrail.model.errors import Bug
from tests.factories import NOW, a_batch, an_alert, an_arrival
from tests.store.driving import MAX_AGE

PUTTING = insert(heard)
FAR = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
WORLDS = ("", " ", "it's", '"', "\\", "%s", ":name", "?", "{}", "[1]", "null", "\n\t", "ä€😀", "a,b", "a" * 5000)


def row(identity: str, **over: Any) -> dict[str, Any]:
    whole = {"cluster": "c", "incident": "i", "identity": identity, "status": "firing", "name": "n", "times": 1}
    return {**whole, "told": 0, "told_at": None, "at": NOW, "seen_at": NOW, **over}


async def putting(store: Store, *rows: dict[str, Any]) -> None:
    await store._database.write(lambda tx: put(tx, PUTTING, rows))


async def found(store: Store, *values: str) -> list[str]:
    async def ask(tx: Tx) -> list[str]:
        wanted = select(heard.c.identity).where(among(tx, heard.c.identity, values)).order_by(heard.c.identity)
        return list((await tx.conn.execute(wanted)).scalars())

    return await store._database.read(ask)


async def test_rows_are_put_as_they_are_whatever_the_order_of_their_keys_or_words(store: Store) -> None:
    backwards = dict(reversed(row("x", told_at=FAR, times=2**40, name="it's ?, %s and :name").items()))
    await putting(store, backwards)
    await putting(store)
    await putting(store, row("y"))

    async def all_(tx: Tx) -> list[dict[str, Any]]:
        return [each._asdict() for each in await tx.conn.execute(select(heard).order_by(heard.c.identity))]

    assert await store._database.read(all_) == [
        row("x", told_at=FAR.astimezone(UTC), times=2**40, name="it's ?, %s and :name"),
        row("y"),
    ]


async def test_times_are_kept_as_every_other_statement_keeps_and_compares_them(store: Store) -> None:
    whole, parts = datetime(2026, 3, 1, 12, 0, tzinfo=UTC), datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC)
    await putting(store, row("whole", at=whole), row("parts", at=parts))

    async def later(tx: Tx) -> list[str]:
        return list((await tx.conn.execute(select(heard.c.identity).where(heard.c.at > whole))).scalars())

    assert await store._database.read(later) == ["parts"]


async def test_a_row_that_is_there_already_puts_none_of_them(store: Store) -> None:
    await putting(store, row("there"))
    with pytest.raises(Bug) as broken:
        await putting(store, row("new"), row("there"))
    assert isinstance(broken.value.__cause__, IntegrityError)
    assert await found(store, "new", "there") == ["there"]


async def test_more_keys_than_any_database_takes_parameters_are_one(store: Store) -> None:
    many = [f"k{n:05}" for n in range(40_000)]
    await putting(store, *(row(key) for key in many[::40]))
    assert await found(store, *many) == many[::40]


async def test_words_of_the_world_are_found_by_themselves_alone(store: Store) -> None:
    await putting(store, *(row(word) for word in WORLDS))
    for word in WORLDS:
        assert await found(store, word, word) == [word]
    assert set(await found(store, *WORLDS)) == set(WORLDS)
    assert await found(store) == []
    assert await found(store, "not there") == []


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sets(st.text(max_size=8)), st.sets(st.text(max_size=8)))
async def test_exactly_those_that_are_there_are_found(store: Store, there: set[str], asked: set[str]) -> None:
    """Text as intake cleans it: no database takes a NUL or half a pair."""
    clean = {text.replace("\0", "").encode(errors="replace").decode() for text in there}
    wanted = {text.replace("\0", "").encode(errors="replace").decode() for text in asked} | set(sorted(clean)[::2])

    async def empty(tx: Tx) -> None:
        await tx.conn.execute(delete(heard))

    await store._database.write(empty)
    await putting(store, *(row(text) for text in sorted(clean)))
    assert set(await found(store, *wanted)) == clean & wanted


@pytest.mark.parametrize(
    ("sizes", "most"), [([1500], intake.MANY), ([1] * 300, intake.BREATH), ([70, 1, 200], 6 + 1 + intake.MANY)]
)
async def test_others_have_their_turn_while_a_poll_is_taken(
    store: Store, sizes: list[int], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in turns of the loop: how many alerts are placed between two of them."""
    turns = 0
    placed: Counter[int] = Counter()

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def counted(*args: Any) -> Any:
        placed[turns] += 1
        return place(*args)

    monkeypatch.setattr(intake, "place", counted)
    arrivals = iter([an_arrival(an_alert(workload=f"w-{n}")) for n in range(sum(sizes))])
    batches = [a_batch(*(next(arrivals) for _ in range(size)), offset=n) for n, size in enumerate(sizes)]
    beside = asyncio.ensure_future(others())
    await store.take(batches, max_age=MAX_AGE)
    beside.cancel()
    assert sum(placed.values()) == sum(sizes)
    assert max(placed.values()) <= most
