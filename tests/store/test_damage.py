"""A journal that is not what was written is never folded: nothing is decided from it, and it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.adapters.store import OpenWork, Store
from handrail.adapters.store.chain import entry_hash
from handrail.model import events as ev
from handrail.model.errors import Damaged
from handrail.model.incident import State
from tests.factories import CLUSTER, FakeTime
from tests.store.driving import behind, walk

ID = "incident = :id"

DAMAGES = {
    "changed": (f"UPDATE journal SET data = replace(data, 'request-1', 'request-2') WHERE {ID} AND seq = 8", 8),
    "unreadable": (f"UPDATE journal SET data = '{{not json' WHERE {ID} AND seq = 3", 3),
    "no object": (f"UPDATE journal SET data = '[]' WHERE {ID} AND seq = 3", 3),
    "another person": (f"UPDATE journal SET actor = 'somebody' WHERE {ID} AND seq = 4", 4),
    "another time": (f"UPDATE journal SET at = 'yesterday' WHERE {ID} AND seq = 4", 4),
    "first gone": (f"DELETE FROM journal WHERE {ID} AND seq = 1", 1),
    "one gone": (f"DELETE FROM journal WHERE {ID} AND seq = 5", 5),
    "end cut off": (f"DELETE FROM journal WHERE {ID} AND seq > 7", 8),
    "all gone": (f"DELETE FROM journal WHERE {ID}", 1),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_journal_is_neither_folded_nor_appended_to_and_is_named_with_the_place(
    url: str, path: Path, time: FakeTime, damage: str
) -> None:
    statement, seq = DAMAGES[damage]
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    whole, other = await walk(store, State.ASKING), await walk(store, State.OPENED, "cart")
    await store.close()
    behind(path).execute(statement, {"id": whole.id})
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    try:
        for touching in (store.incident, store.entries, lambda id_: store.append(whole, (ev.Noted(text="x"),))):
            with pytest.raises(Damaged, match=f"{whole.id} is damaged at entry {seq}"):
                await touching(whole.id)
        assert (await store.append(other, (ev.GatheringBegun(),))).state is State.GATHERING
        assert store.unfit().keys() == {whole.id}
        assert not (await store.audit()).ok
    finally:
        await store.close()


async def test_damage_behind_what_was_folded_is_found_without_a_restart(store: Store, path: Path) -> None:
    folded = await walk(store, State.GATHERING)
    behind(path).execute("DELETE FROM journal WHERE incident = ? AND seq = 2", (folded.id,))
    with pytest.raises(Damaged, match="entry 2"):
        await store.incident(folded.id)


async def test_a_journal_without_its_end_stands_out_among_the_open_work(store: Store, path: Path) -> None:
    """Else nobody who has it in memory would read it again."""
    whole, cut = await walk(store, State.GATHERING), await walk(store, State.ASKING, "other")
    behind(path).execute("DELETE FROM journal WHERE incident = ? AND seq = ?", (cut.id, cut.seq))
    work, _switch = await store.work_and_switch()
    assert work == OpenWork({whole.id: whole.seq, cut.id: cut.seq}, frozenset({cut.id}))


async def test_an_impossible_story_with_a_right_chain_is_damage_too(store: Store, path: Path) -> None:
    opened = await walk(store, State.OPENED)
    first, at, event = (await store.entries(opened.id))[0], "2026-11-03T03:00:00.000000+00:00", ev.dump(ev.Acted())
    seal = entry_hash(first.hash, (opened.id, 2, at), ("acted", event), "x")
    connection = behind(path)
    connection.execute(
        "INSERT INTO journal VALUES (?, 2, ?, 'acted', 1, ?, 'x', ?, ?)",
        (opened.id, at, '{"kind":"acted"}', first.hash, seal),
    )
    connection.execute("UPDATE incidents SET head = 2 WHERE id = ?", (opened.id,))
    with pytest.raises(Damaged, match="impossible story"):
        await store.incident(opened.id)


async def test_a_journal_that_was_mended_is_driven_again(url: str, path: Path, time: FakeTime) -> None:
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    incident = await walk(store, State.GATHERING)
    await store.close()
    connection = behind(path)
    connection.execute("UPDATE journal SET actor = 'x' || actor WHERE incident = ? AND seq = 2", (incident.id,))
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    try:
        with pytest.raises(Damaged):
            await store.incident(incident.id)
        connection.execute("UPDATE journal SET actor = substr(actor, 2) WHERE incident = ? AND seq = 2", (incident.id,))
        assert await store.incident(incident.id) == incident
        assert store.unfit() == {}
    finally:
        await store.close()
