"""Intake: every record once, every alert in the right story, all of a poll or nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from handrail.adapters.store import Store, intake
from handrail.core.grouping import QUIET_AFTER_END
from handrail.model import events as ev
from handrail.model.alert import Alert, Source
from handrail.model.arrival import Fate, Took
from handrail.model.errors import Transient
from handrail.model.finding import Handling
from handrail.model.incident import State
from handrail.model.reason import Reason
from tests.factories import CLUSTER, NOW, FakeTime, a_batch, a_source, an_alert, an_arrival
from tests.store.driving import MAX_AGE, arrive, behind, drive, newest, walk
from tests.store.places import migrated


async def fates(store: Store, *alerts: Alert, offset: int = 0) -> list[Took]:
    took = await store.take((a_batch(*map(an_arrival, alerts), offset=offset),), max_age=MAX_AGE)
    return list(took[0])


async def kinds(store: Store, id_: str) -> list[str]:
    return [entry.event.kind for entry in await store.entries(id_)]


async def test_a_firing_alert_opens_an_incident_with_its_first_event(store: Store, time: FakeTime) -> None:
    time.later(seconds=3)
    took = await fates(store, an_alert())
    assert took[0].fate is Fate.OPENED
    incident = await newest(store, took[0].incident)
    assert (incident.state, incident.seq, incident.opened_at) == (State.OPENED, 1, time.now)
    assert incident.alert == an_alert()
    opened = (await store.entries(incident.id))[0].event
    assert isinstance(opened, ev.Opened)
    assert opened.source == a_source(0)
    assert await store.open_heads() == {incident.id: 1}


async def test_the_same_record_twice_is_seen_before(store: Store) -> None:
    batch = a_batch(an_arrival(), offset=7)
    await store.take((batch,), max_age=MAX_AGE)
    assert await store.take((batch,), max_age=MAX_AGE) == ((Took(fate=Fate.SEEN_BEFORE),),)
    assert await store.take((batch, batch), max_age=MAX_AGE) == ((Took(fate=Fate.SEEN_BEFORE),),) * 2
    assert len(await store.entries((await store.open_ids())[0])) == 1


async def test_a_record_that_comes_twice_in_one_poll_is_taken_once(store: Store) -> None:
    batch = a_batch(an_arrival(), offset=7)
    first, second = await store.take((batch, batch), max_age=MAX_AGE)
    assert first[0].fate is Fate.OPENED
    assert second == (Took(fate=Fate.SEEN_BEFORE),)


async def test_the_same_content_at_another_offset_is_another_record_of_the_same_story(store: Store) -> None:
    id_ = await arrive(store, an_alert(), offset=1)
    source = a_source(2, seal=a_source(1).digest)
    took = await store.take((a_batch(an_arrival(), source=source),), max_age=MAX_AGE)
    assert took == ((Took(fate=Fate.ATTACHED, incident=id_),),)
    assert await kinds(store, id_) == ["opened", "alert_attached"]


async def test_a_topic_made_anew_counts_from_zero_and_loses_no_alert(store: Store) -> None:
    await arrive(store, an_alert(workload="checkout"), offset=0)
    anew = a_batch(an_arrival(an_alert(workload="cart")), source=a_source(0, seal="another record"))
    assert (await store.take((anew,), max_age=MAX_AGE))[0][0].fate is Fate.OPENED
    assert (await store.take((anew,), max_age=MAX_AGE))[0][0].fate is Fate.SEEN_BEFORE


async def test_partitions_and_topics_are_told_apart(store: Store) -> None:
    sources = [a_source(5), a_source(5, partition=1), a_source(5, topic="other")]
    names = ("a", "b", "c")
    batches = [
        a_batch(an_arrival(an_alert(workload=name)), source=source) for name, source in zip(names, sources, strict=True)
    ]
    took = await store.take(batches, max_age=MAX_AGE)
    assert [arrived[0].fate for arrived in took] == [Fate.OPENED] * 3


async def test_http_requests_have_no_offset_and_are_all_taken(store: Store) -> None:
    source = Source(topic="http:/api/v1/alerts", partition=0, offset=0, digest="same")
    for expected in (Fate.OPENED, Fate.ATTACHED):
        took = await store.take((a_batch(an_arrival(), source=source),), max_age=MAX_AGE)
        assert took[0][0].fate is expected


async def test_an_empty_record_leaves_its_row_so_that_it_is_not_decoded_again(store: Store) -> None:
    assert await store.take((a_batch(offset=3),), max_age=MAX_AGE) == ((),)
    assert await store.take((a_batch(offset=3),), max_age=MAX_AGE) == ((Took(fate=Fate.SEEN_BEFORE),),)
    assert await store.take((), max_age=MAX_AGE) == ()


async def test_one_incident_per_identity_however_many_come_in_one_poll(store: Store) -> None:
    batches = [a_batch(an_arrival(), an_arrival(), offset=offset) for offset in range(3)]
    took = [one for arrived in await store.take(batches, max_age=MAX_AGE) for one in arrived]
    assert Counter(one.fate for one in took) == {Fate.OPENED: 1, Fate.ATTACHED: 5}
    assert len({one.incident for one in took}) == 1


async def test_two_polls_at_the_same_moment_open_one_incident(store: Store) -> None:
    ends = await asyncio.gather(*(arrive(store, an_alert(), offset=offset) for offset in range(5)))
    assert len(set(ends)) == 1
    assert len(await store.open_ids()) == 1


async def test_what_opens_nothing_is_recorded_with_its_reason(store: Store, time: FakeTime) -> None:
    old = an_alert(seen_at=NOW - timedelta(hours=1))
    elsewhere = an_alert(cluster="other")
    took = await fates(store, an_alert(status="resolved"), old, elsewhere)
    assert [one.reason for one in took] == [Reason.RESOLVED_BY_ITSELF, Reason.TOO_OLD, Reason.WRONG_CLUSTER]
    assert {one.fate for one in took} == {Fate.RECORDED}
    ignored = a_batch(an_arrival(handling=Handling.IGNORE), offset=1)
    assert (await store.take((ignored,), max_age=MAX_AGE))[0][0].reason is Reason.IGNORED_BY_RULE
    assert await store.open_ids() == ()


@pytest.mark.parametrize(("accepts", "fate"), [(True, Fate.OPENED), (False, Fate.RECORDED)])
async def test_alerts_without_a_cluster_are_taken_only_where_that_is_configured(
    url: str, time: FakeTime, accepts: bool, fate: Fate
) -> None:
    store = await Store.open(url, cluster=CLUSTER, clock=time, accept_unlabelled=accepts)
    assert (await fates(store, an_alert(cluster="")))[0].fate is fate
    await store.close()


async def test_a_resolved_alert_is_attached_and_closes_nothing_by_itself(store: Store) -> None:
    id_ = await arrive(store, an_alert(), offset=0)
    await arrive(store, an_alert(status="resolved"), offset=1)
    incident = await newest(store, id_)
    assert incident.state is State.OPENED
    assert incident.resolved_seen_at is not None


async def test_a_new_episode_opens_a_new_incident_an_echo_only_once_it_has_been_quiet(
    store: Store, time: FakeTime
) -> None:
    incident = await walk(store, State.RESOLVED)
    time.later(minutes=5)
    echo = an_alert(starts_at=None, seen_at=time.now)
    assert (await fates(store, echo, offset=1))[0].incident == incident.id
    time.later(minutes=1)
    news = an_alert(starts_at=time.now, seen_at=time.now)
    took = (await fates(store, news, offset=2))[0]
    assert took.fate is Fate.OPENED
    assert took.incident != incident.id
    over = ev.Suppressed(reason=Reason.RESOLVED_BY_ITSELF, detail="well")
    await drive(store, await newest(store, took.incident), (over,))
    time.now += QUIET_AFTER_END
    later = an_alert(starts_at=None, seen_at=time.now)
    assert (await fates(store, later, offset=3))[0].fate is Fate.OPENED


async def test_a_storm_of_repeats_does_not_keep_the_journal_moving(store: Store, time: FakeTime) -> None:
    """Else nothing could be decided any more: a decision commits only onto the head that it was made from."""
    id_ = await arrive(store, an_alert(), offset=0)
    for offset in range(1, 40):
        took = (await fates(store, an_alert(), offset=offset))[0]
        assert (took.fate, took.incident) == (Fate.ATTACHED, id_)
    quiet = len(await store.entries(id_))
    assert quiet < 40
    incident = await newest(store, id_)
    await fates(store, *[an_alert()] * 100, offset=50)
    assert (await store.append(incident, (ev.GatheringBegun(),))).state is State.GATHERING
    await fates(store, an_alert(status="resolved"), offset=51)
    assert (await kinds(store, id_))[-1] == "alert_attached"
    time.later(minutes=2)
    await fates(store, an_alert(), offset=52)
    assert len(await store.entries(id_)) == quiet + 3


async def test_every_arrival_is_counted(store: Store, path: Path) -> None:
    await fates(store, an_alert(), an_alert(), an_alert(status="resolved"), an_alert(cluster="other"))
    rows = behind(path).execute("SELECT status, incident <> '', times, told FROM heard ORDER BY incident, status")
    assert rows.fetchall() == [("firing", 0, 1, 0), ("firing", 1, 2, 2), ("resolved", 1, 1, 1)]


async def test_whatever_repeats_is_one_row_however_often_it_comes(store: Store, path: Path, time: FakeTime) -> None:
    said = [an_alert(), an_alert(status="resolved"), an_alert(cluster="other")]
    for offset in range(60):
        await fates(store, *said, offset=offset)
        time.later(seconds=1)
    assert behind(path).execute("SELECT sum(times) FROM heard").fetchall() == [(180,)]
    for table in ("heard", "signals"):
        assert behind(path).execute(f"SELECT count(*) FROM {table}").fetchall()[0][0] <= 3


async def test_what_flaps_is_journalled_once_a_minute_in_each_state_and_its_first_word_at_once(
    store: Store, time: FakeTime
) -> None:
    id_ = await arrive(store, an_alert(), offset=0)
    for offset in range(1, 101):
        await fates(store, an_alert(status="resolved"), an_alert(), offset=offset)
        time.later(seconds=6)
    entries = len(await store.entries(id_))
    assert entries <= intake.ALWAYS_TOLD + 1 + 2 * 10, "200 alerts in ten minutes"
    assert (await newest(store, id_)).resolved_seen_at is not None
    time.later(minutes=1)
    await fates(store, *[an_alert(status="resolved")] * 500, offset=200)
    assert len(await store.entries(id_)) == entries + 1


async def test_take_is_all_or_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pulled(Exception):
        pass

    async def pulled(*_args: object) -> None:
        raise Pulled

    batches = [a_batch(an_arrival(an_alert(workload=name)), offset=n) for n, name in enumerate("abc")]
    with monkeypatch.context() as patched:
        patched.setattr(intake, "write_rows", pulled)
        with pytest.raises(Pulled):
            await store.take(batches, max_age=MAX_AGE)
    assert await store.open_ids() == ()
    took = await store.take(batches, max_age=MAX_AGE)
    assert [arrived[0].fate for arrived in took] == [Fate.OPENED] * 3


async def test_an_incident_whose_journal_was_cut_takes_nothing_more_and_its_neighbours_do(
    store: Store, path: Path
) -> None:
    cut = await walk(store, State.GATHERING, "checkout")
    behind(path).execute("DELETE FROM journal WHERE incident = ? AND seq = 2", (cut.id,))
    took = await fates(store, an_alert(), an_alert(workload="cart"), offset=77)
    assert (took[0].fate, took[0].reason) == (Fate.RECORDED, Reason.BROKEN)
    assert took[1].fate is Fate.OPENED


@pytest.mark.parametrize("kind", ["sqlite"])
async def test_a_full_disk_is_transient_and_loses_nothing(store: Store) -> None:
    engine = store._database._home.writes
    async with engine.connect() as conn:
        pages = (await conn.exec_driver_sql("PRAGMA page_count")).scalar_one()

    def tight(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA max_page_count = {pages + 5}")
        cursor.close()

    await engine.dispose()
    event.listen(engine.sync_engine, "connect", tight)
    batches = [a_batch(an_arrival(an_alert(workload=f"w{n}")), offset=n) for n in range(200)]
    with pytest.raises(Transient, match="full"):
        await store.take(batches, max_age=MAX_AGE)
    event.remove(engine.sync_engine, "connect", tight)
    await engine.dispose()
    assert await store.open_ids() == ()
    assert {took[0].fate for took in await store.take(batches, max_age=MAX_AGE)} == {Fate.OPENED}


alerts = st.builds(
    an_alert,
    workload=st.sampled_from(["checkout", "cart"]),
    status=st.sampled_from(["firing", "firing", "resolved"]),
    starts_at=st.sampled_from([NOW, NOW + timedelta(minutes=20), None]),
    seen_at=st.sampled_from([NOW, NOW + timedelta(seconds=1)]),
)
polls = st.lists(
    st.lists(st.tuples(st.integers(0, 9), st.lists(alerts, max_size=3)), min_size=1, max_size=3),
    min_size=1,
    max_size=5,
)


@settings(max_examples=20, deadline=None)
@given(
    polls=polls,
    minutes=st.lists(st.integers(0, 40), min_size=5, max_size=5),
    ends=st.lists(st.booleans(), min_size=5, max_size=5),
)
async def test_any_order_of_alerts_opens_at_most_one_incident_per_identity_and_episode(
    tmp_path_factory: pytest.TempPathFactory,
    polls: list[list[tuple[int, list[Alert]]]],
    minutes: list[int],
    ends: list[bool],
) -> None:
    time = FakeTime()
    path = migrated(tmp_path_factory.mktemp("polls") / "x.db")
    store = await Store.open(f"sqlite:///{path}", cluster=CLUSTER, clock=time)
    opened: Counter[tuple[str, str]] = Counter()
    for poll, later, ending in zip(polls, minutes, ends, strict=False):
        batches = [
            a_batch(*map(an_arrival, said), source=a_source(offset, seal=repr((offset, said)))) for offset, said in poll
        ]
        took = await store.take(batches, max_age=timedelta(hours=9))
        for batch, what in zip(batches, took, strict=True):
            for arrival, one in zip(batch.arrivals, what, strict=False):
                opened[arrival.identity, arrival.episode] += one.fate is Fate.OPENED
        identities = [row.target for row in await store.rows(100) if row.ended_at is None]
        assert len(identities) == len(set(identities)), "two open incidents of one identity"
        if ending:
            await _end_all(store)
        time.later(minutes=later)
    report = await store.audit()
    await store.close()
    assert max(opened.values(), default=0) <= 1
    assert report.ok


async def _end_all(store: Store) -> None:
    over = ev.HandedOver(reason=Reason.NO_RUNBOOK, detail="the test ends it")
    for id_ in await store.open_ids():
        await store.append(await newest(store, id_), (over,))
