"""What flaps is counted, not journalled each time; whoever looks finds it as it was heard last all the same."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.adapters.store import Store, heard
from handrail.adapters.store.intake import ALWAYS_TOLD
from handrail.core.attached import attached
from handrail.core.fold import fold
from handrail.core.last_word import LATE_EVERY, REPEAT_EVERY
from handrail.core.report import report
from handrail.effects.last_words import as_heard, say
from handrail.effects.tools import Tools
from handrail.model import events as ev
from handrail.model.reason import Reason
from tests.factories import CLUSTER, FakeTime, an_alert
from tests.store.driving import arrive, behind, drive, newest
from tests.store.places import migrated

WORDS = ("firing", "resolved")
NEIGHBOUR = "KubePodNotReady"


def tools(store: Store) -> Tools:
    return cast("Tools", SimpleNamespace(store=store))


async def hear(store: Store, offset: int, *words: str, name: str = "KubeDeploymentReplicasMismatch") -> str:
    """One poll that says these, one after the other."""
    return await arrive(store, *(an_alert(name, status=word) for word in words), offset=offset)


async def much_told(store: Store, time: FakeTime) -> str:
    """An incident of which so much is journalled that the rest is counted."""
    id_ = await hear(store, 0, "firing")
    for offset in range(1, ALWAYS_TOLD):
        time.later(seconds=1)
        await hear(store, offset, WORDS[offset % 2])
    return id_


async def shown(store: Store, id_: str) -> str:
    incident, entries = await as_heard(tools(store), await newest(store, id_))
    assert fold(entries, cluster=CLUSTER).alerts == incident.alerts
    return incident.alerts[-1].status


async def journalled(store: Store, id_: str) -> str:
    return (await newest(store, id_)).alerts[-1].status


async def test_a_last_word_within_a_minute_is_shown_at_once_and_journalled_when_that_is_due(
    store: Store, time: FakeTime
) -> None:
    id_ = await much_told(store, time)
    time.later(seconds=2)
    await hear(store, 50, "firing")
    time.later(seconds=2)
    await hear(store, 51, "resolved")
    time.later(seconds=3)
    await hear(store, 52, "firing")
    assert (await shown(store, id_), await journalled(store, id_)) == ("firing", "resolved")
    incident, entries = await as_heard(tools(store), await newest(store, id_))
    assert attached(incident) == ()
    assert (
        report(incident, entries).count("again (firing)")
        == report(incident, await store.entries(id_)).count("again (firing)") + 1
    )
    await say(tools(store))
    assert await journalled(store, id_) == "resolved", "not yet: what flaps is bounded"
    time.later(seconds=REPEAT_EVERY.total_seconds())
    await say(tools(store))
    assert (await shown(store, id_), await journalled(store, id_)) == ("firing", "firing")
    head = (await newest(store, id_)).seq
    time.later(minutes=5)
    await say(tools(store))
    assert (await newest(store, id_)).seq == head, "once"
    assert (await newest(store, id_)).resolved_seen_at is not None
    assert (await store.audit()).ok


@pytest.mark.parametrize("words", [("firing", "resolved"), ("resolved", "firing"), ("firing", "resolved", "firing")])
async def test_of_both_words_in_one_poll_the_later_one_is_the_last(
    store: Store, time: FakeTime, words: tuple[str, ...]
) -> None:
    id_ = await much_told(store, time)
    time.later(seconds=2)
    await hear(store, 50, *words)
    assert await shown(store, id_) == words[-1]


async def test_on_a_closed_incident_the_last_word_is_journalled_after_an_hour_and_says_that_it_was_closed(
    store: Store, time: FakeTime
) -> None:
    id_ = await hear(store, 0, "firing")
    time.later(minutes=1)
    over = ev.HandedOver(reason=Reason.NO_RUNBOOK, detail="a person has it")
    await drive(store, await newest(store, id_), (over,))
    for offset, word in enumerate(("firing", "resolved", "firing"), start=1):
        time.later(minutes=1)
        assert await hear(store, offset, word) == id_
    assert (await shown(store, id_), await journalled(store, id_)) == ("firing", "resolved")
    time.later(seconds=LATE_EVERY.total_seconds())
    await say(tools(store))
    last = (await store.entries(id_))[-1].event
    assert isinstance(last, ev.AlertAttached)
    assert (last.alert.status, last.closed) == ("firing", "HANDED_OVER")


async def test_a_neighbours_last_word_is_its_own(store: Store, time: FakeTime) -> None:
    id_ = await much_told(store, time)
    time.later(seconds=1)
    other = await hear(store, 60, "firing", name=NEIGHBOUR)
    assert other != id_
    await hear(store, 61, "firing")
    assert await shown(store, id_) == "firing"
    assert await shown(store, other) == "firing"


async def test_those_whose_journal_cannot_be_read_take_nobodys_turn(
    store: Store, path: Path, time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many they are, and however long theirs have waited."""
    monkeypatch.setattr(heard, "MOST_UNSAID", 1)
    ids = [await hear(store, 100 * n, "firing", name=name) for n, name in enumerate(("KubePodNotReady", "Other"))]
    for n, (id_, name) in enumerate(zip(ids, ("KubePodNotReady", "Other"), strict=True)):
        for offset in range(1, ALWAYS_TOLD):
            time.later(seconds=1)
            assert await hear(store, 100 * n + offset, WORDS[offset % 2], name=name) == id_
        for offset, word in enumerate(("firing", "resolved", "firing"), start=50):
            time.later(seconds=2)
            await hear(store, 100 * n + offset, word, name=name)
    behind(path).execute("UPDATE journal SET actor = 'somebody' WHERE incident = ? AND seq = 3", (ids[0],))
    time.later(seconds=REPEAT_EVERY.total_seconds())
    for _ in range(2):
        await say(tools(store))
    assert store.unfit().keys() == {ids[0]}
    assert await store.unsaid(ids[1]) == ()
    assert await journalled(store, ids[1]) == "firing"


HEARD = st.lists(
    st.tuples(st.integers(0, 90), st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), st.booleans()),
    min_size=1,
    max_size=30,
)


@settings(max_examples=25, deadline=None)
@given(HEARD)
async def test_whatever_was_heard_last_is_what_is_shown_and_soon_what_is_journalled(
    tmp_path_factory: pytest.TempPathFactory, words_heard: list[tuple[int, list[str], bool]]
) -> None:
    """Also with ticks at any time, and never with more entries than the bound."""
    time = FakeTime()
    path = migrated(tmp_path_factory.mktemp("heard") / "x.db")
    store = await Store.open(f"sqlite:///{path}", cluster=CLUSTER, clock=time)
    id_ = await much_told(store, time)
    began, before = time.now, (await newest(store, id_)).seq
    for offset, (seconds, words, tick) in enumerate(words_heard, start=100):
        time.later(seconds=seconds + 0.5)
        await hear(store, offset, *words)
        if tick:
            await say(tools(store))
        assert await shown(store, id_) == words[-1]
    time.later(seconds=REPEAT_EVERY.total_seconds())
    await say(tools(store))
    assert await journalled(store, id_) == words_heard[-1][1][-1]
    assert (await store.unsaid(id_)) == ()
    minutes = (time.now - began) / timedelta(minutes=1)
    assert (await newest(store, id_)).seq - before <= 2 * (minutes + 1)
    await store.close()
