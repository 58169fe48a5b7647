"""The journal: what is written is what is folded, once, in order, and onto the head that it was decided from."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import SQLAlchemyError

from handrail.adapters.store import Store
from handrail.adapters.store.chain import entry_hash
from handrail.core.fold import fold
from handrail.model import events as ev
from handrail.model.errors import Bug, HeadMoved, UnknownEvent
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from handrail.model.step import Verdict
from handrail.model.value import digest
from tests.factories import (
    CLUSTER,
    NOW,
    ONCALL,
    FakeTime,
    a_saga,
    a_source,
    an_alert,
    an_incident_in,
    an_intent,
    an_outcome,
    story_to,
    verified,
)
from tests.store.driving import arrive, behind, drive, newest, walk
from tests.store.places import migrated

ALL_KINDS = frozenset(member.model_fields["kind"].default for member in get_args(get_args(ev.Event)[0]))


def _stories(id_: str) -> list[tuple[ev.Event, ...]]:
    """Together they say every kind of event there is."""
    saga = a_saga(id_)
    did = an_intent(saga)
    executing = (*story_to(State.EXECUTING, id_), ev.StepBegun(step=0, before={}), did)
    asked_model = ev.ModelAsked(request="r", model="m", input_tokens=10)
    resolved = ev.AlertAttached(alert=an_alert(status="resolved"), source=a_source(9))
    people = (ev.Taken(by=ONCALL), ev.GivenBack(by=ONCALL), ev.Paused(by="ops", why="freeze"), ev.Resumed(by="ops"))
    cautioned = (ev.Cautioned(reason=Reason.MONITORING_GONE, detail="no Watchdog"), ev.Cautioned())
    away = ev.ModelAnswered(request="r", failed=Reason.MODEL_AWAY, detail="busy")
    planning = story_to(State.PLANNING, id_)
    compiling = story_to(State.COMPILING, id_)
    return [
        *(story_to(state, id_) for state in State),
        (resolved, ev.Noted(text="look here"), *people),
        (*planning, asked_model, away, ev.HandedOver(reason=Reason.MODEL_AWAY, detail="no answer")),
        (*compiling, ev.CompileRefused(reason=Reason.CONFLICTING_STEPS, detail="two of one")),
        (*story_to(State.REHEARSING, id_), ev.Cleared(hash="h", run_until=NOW + timedelta(minutes=30))),
        (*story_to(State.ASKING, id_), *cautioned, ev.Voided(reason=Reason.DRIFTED, detail="moved")),
        (
            *executing,
            ev.Attempted(key=did.write.key, resource_version="102"),
            an_outcome(did, ev.Result.REFUSED),
            ev.StepFailed(step=0, reason=Reason.DENIED, detail="no right"),
        ),
        (*story_to(State.VERIFYING, id_), verified(Verdict.NO_EFFECT), ev.Replanned()),
        (
            *story_to(State.REHEARSING, id_),
            ev.Waiting(until=NOW + timedelta(minutes=5), reason=Reason.TARGET_COOLING_DOWN, detail="too soon"),
            ev.WaitEnded(),
        ),
        (*story_to(State.GATHERING, id_), ev.Lapsed(since=NOW)),
        (*story_to(State.GATHERING, id_), ev.Held(until=NOW + timedelta(minutes=5), detail="it is well")),
        (*story_to(State.GATHERING, id_), ev.Silenced(until=NOW + timedelta(minutes=5), detail="by somebody")),
        (ev.StormCounted(since=NOW, until=NOW + timedelta(minutes=5), objects=21, alerts=30, waiting=20),),
        (ev.TakingBack(steps=()), ev.Cancelled(by=ONCALL, why="mine")),
        (
            *story_to(State.HANDED_OVER, id_),
            ev.Retried(by=ONCALL, why="once more", into="inc-2"),
            ev.UndoAsked(by=ONCALL, why="back", into="inc-3"),
        ),
    ]


@pytest.mark.parametrize("story", range(len(_stories("inc"))))
async def test_whatever_is_appended_folds_to_the_same_incident_after_a_restart(
    url: str, time: FakeTime, story: int
) -> None:
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    id_ = await arrive(store, an_alert())
    events = _stories(id_)[story]
    before = await drive(store, await newest(store, id_), events)
    await store.close()
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    after, entries = await newest(store, id_), await store.entries(id_)
    await store.close()
    assert after == before == fold(entries, cluster=CLUSTER)
    assert tuple(entry.event for entry in entries[1:]) == events


def test_the_stories_above_say_every_kind_of_event() -> None:
    said = {event.kind for story in _stories("inc") for event in story}
    assert said | {"opened"} == ALL_KINDS


def test_the_factory_walks_to_every_state() -> None:
    assert {state: an_incident_in(state).state for state in State} == {state: state for state in State}


async def test_a_decision_onto_an_old_head_is_not_written(store: Store) -> None:
    incident = await walk(store, State.OPENED)
    moved = await store.append(incident, (ev.GatheringBegun(),))
    with pytest.raises(HeadMoved):
        await store.append(incident, (ev.GatheringBegun(),))
    assert await newest(store, incident.id) == moved


async def test_of_many_decisions_at_once_exactly_one_is_written(store: Store) -> None:
    incident = await walk(store, State.OPENED)
    tries = [store.append(incident, (ev.Noted(text=str(number)),)) for number in range(8)]
    ends = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(end, Incident) for end in ends) == 1
    assert sum(isinstance(end, HeadMoved) for end in ends) == 7
    assert len(await store.entries(incident.id)) == 2


async def test_an_event_that_the_state_does_not_allow_is_a_bug_and_nothing_of_it_is_written(store: Store) -> None:
    incident = await walk(store, State.OPENED)
    with pytest.raises(Bug):
        await store.append(incident, (ev.GatheringBegun(), ev.Acted()), blobs={digest("evidence"): "evidence"})
    assert await newest(store, incident.id) == incident
    assert await store.blob(digest("evidence")) is None
    assert (await store.open_heads())[incident.id] == 1


async def test_a_text_under_a_digest_that_is_not_its_own_is_a_bug(store: Store) -> None:
    incident = await walk(store, State.OPENED)
    with pytest.raises(Bug):
        await store.append(incident, (ev.Noted(text="x"),), blobs={digest("one"): "another"})
    assert len(await store.entries(incident.id)) == 1


async def test_kept_texts_are_read_back_by_their_digest(store: Store) -> None:
    incident = await walk(store, State.OPENED)
    for word in ("first", "second"):
        incident = await store.append(incident, (ev.Noted(text=word),), blobs={digest("kept"): "kept"})
    assert await store.blob(digest("kept")) == "kept"
    assert await store.blob(digest("never")) is None


async def test_times_come_back_aware_and_exact_and_the_actor_with_them(store: Store, time: FakeTime) -> None:
    at = time.later(microseconds=123_456)
    incident = await walk(store, State.OPENED)
    await store.append(incident, (ev.Noted(text="x"),), actor="slack:U0ONCALL")
    entry = (await store.entries(incident.id))[-1]
    assert (entry.at, entry.actor) == (at, "slack:U0ONCALL")
    assert entry.at.utcoffset() == timedelta(0)


async def test_a_clock_without_a_zone_is_refused(url: str) -> None:
    with pytest.raises(Bug):
        await Store.open(url, cluster=CLUSTER, clock=lambda: NOW.replace(tzinfo=None))


async def test_half_a_surrogate_pair_from_the_world_is_stored_harmlessly(store: Store) -> None:
    incident = await walk(store, State.OPENED)
    moved = await store.append(incident, (ev.Noted(text="half \ud800 and \0 nul"),), actor="slack:\udc00\0")
    entry = (await store.entries(incident.id))[-1]
    assert entry.event == ev.Noted(text="half ? and \0 nul")
    assert entry.actor == "slack:?"
    assert moved.seq == 2
    assert (await store.audit()).ok


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE journal SET data = '{}'",
        "DELETE FROM journal",
        "INSERT OR REPLACE INTO journal SELECT * FROM journal WHERE seq = 1",
        "REPLACE INTO journal SELECT incident, seq, at, kind, version, '{}', actor, previous, hash FROM journal",
        "TRUNCATE journal",
    ],
)
async def test_the_database_itself_refuses_to_change_the_journal(store: Store, kind: str, statement: str) -> None:
    if statement.startswith("TRUNCATE" if kind == "sqlite" else ("INSERT OR", "REPLACE")):
        return  # not a statement of this database
    incident = await walk(store, State.GATHERING)
    with pytest.raises(SQLAlchemyError, match="append-only"):
        async with store._database._writing() as tx:
            await tx.conn.exec_driver_sql(statement)
    assert len(await store.entries(incident.id)) == 2
    assert (await store.audit()).ok


async def test_an_unknown_kind_stops_its_own_incident_and_no_other(store: Store, path: Path) -> None:
    newer = await walk(store, State.OPENED, "checkout")
    other = await walk(store, State.OPENED, "cart")
    first, at, data = (await store.entries(newer.id))[0], "2026-11-03T03:00:00.000000+00:00", {"kind": "teleported"}
    seal = entry_hash(first.hash, (newer.id, 2, at), ("teleported", data), "newer")
    behind(path).execute(
        "INSERT INTO journal VALUES (?, 2, ?, 'teleported', 1, ?, 'newer', ?, ?)",
        (newer.id, at, json.dumps(data), first.hash, seal),
    )
    behind(path).execute("UPDATE incidents SET head = 2, state = 'teleporting' WHERE id = ?", (newer.id,))
    for reading in (store.incident(newer.id), store.entries(newer.id), store.append(newer, (ev.Noted(text="x"),))):
        with pytest.raises(UnknownEvent):
            await reading
    assert store.unfit().keys() == {newer.id}
    assert (await store.append(other, (ev.GatheringBegun(),))).state is State.GATHERING
    assert set(await store.open_ids()) == {newer.id, other.id}
    assert {row.id: row.state for row in await store.rows(10)}[newer.id] == "teleporting"
    assert await arrive(store, an_alert(workload="checkout"), offset=99) == newer.id


@settings(max_examples=15, deadline=None)
@given(texts=st.lists(st.text(max_size=40), min_size=1, max_size=5))
async def test_any_text_folds_to_what_was_stored(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = migrated(tmp_path_factory.mktemp("texts") / "x.db")
    store = await Store.open(f"sqlite:///{path}", cluster=CLUSTER, clock=FakeTime())
    incident = await walk(store, State.OPENED)
    for text in texts:
        incident = await store.append(incident, (ev.Noted(text=text, by=text),), actor=text)
    said = [entry.event.text for entry in await store.entries(incident.id) if isinstance(entry.event, ev.Noted)]
    report = await store.audit()
    await store.close()
    assert said == texts
    assert report.ok
