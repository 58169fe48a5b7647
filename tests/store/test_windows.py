"""Windows of Kubernetes events: a single one is recorded, many open one incident, copies count for nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from handrail.adapters.store import Store
from handrail.core.correlate import arrival, findings_of, woken
from handrail.core.windows import judge_of
from handrail.model.alert import Alert
from handrail.model.arrival import Fate, Took
from handrail.model.finding import Cause
from handrail.model.reason import Reason
from handrail_detectors import catalogue
from tests.factories import CLUSTER, NOW, FakeTime, a_batch, an_alert, an_arrival
from tests.store.driving import MAX_AGE, behind, newest

JUDGE = judge_of(catalogue())
AWAKE = woken(catalogue())
LONE = Took(fate=Fate.RECORDED, reason=Reason.LONE_EVENT)
OVER = Took(fate=Fate.SEEN_BEFORE)


def an_event(
    reason: str = "BackOff", times: int = 1, *, uid: str = "e-1", pod: str = "checkout-1", **over: Any
) -> Alert:
    labels = {"reason": reason, "namespace": "shop", "pod": pod, "uid": f"0a1b2c3d-{pod[-1]}000", "container": "app"}
    return Alert(
        name=f"Event {reason}",
        status="firing",
        labels=labels,
        annotations={"summary": "Back-off restarting failed container"},
        seen_at=over.get("seen_at", NOW),
        cluster=CLUSTER,
        severity="warning",
        wire="otlp_proto",
        message=f"{uid} {times}",
    )


async def take(store: Store, *alerts: Alert, offset: int = 0) -> list[Took]:
    arrivals = [arrival(alert, CLUSTER, findings_of(alert, AWAKE, NOW)) for alert in alerts]
    took = await store.take((a_batch(*arrivals, offset=offset),), max_age=MAX_AGE, judge=JUDGE)
    return list(took[0])


async def test_single_events_are_recorded_and_open_nothing(store: Store) -> None:
    for offset, reason in enumerate(["BackOff", "Failed", "Unhealthy", "FailedScheduling", "NeverHeardOf"]):
        assert await take(store, an_event(reason, uid=reason), offset=offset) == [LONE]
    assert await store.open_ids() == ()


async def test_an_event_that_has_occurred_often_opens_one_incident_through_its_detector(store: Store) -> None:
    assert await take(store, an_event(times=4), offset=1) == [LONE]
    (took,) = await take(store, an_event(times=5), offset=2)
    assert took.fate is Fate.OPENED
    incident = await newest(store, took.incident)
    assert [(one.detector, one.cause) for one in incident.findings] == [("crash_loop", Cause.CRASH_LOOP)]
    assert incident.findings[0].facts == {"reason": "BackOff", "times": 5}
    assert (await take(store, an_event(times=6), offset=3))[0] == Took(fate=Fate.ATTACHED, incident=took.incident)
    assert len(await store.open_ids()) == 1


async def test_several_events_of_one_thing_are_one_window_in_one_poll_and_over_many(store: Store) -> None:
    kept = [an_event("Failed", uid=f"e-{n}") for n in range(3)]
    assert [took.fate for took in await take(store, *kept)] == [Fate.RECORDED, Fate.RECORDED, Fate.OPENED]
    for n in range(2):
        assert await take(store, an_event("Failed", uid=f"f-{n}", pod="cart-2"), offset=n + 1) == [LONE]
    (took,) = await take(store, an_event("Failed", uid="f-2", pod="cart-2"), offset=9)
    assert took.fate is Fate.OPENED


async def test_copies_of_an_event_count_for_nothing(store: Store) -> None:
    """contrib#45897, #17369: a collector sends all again when it restarts; each of several sends its own copy."""
    assert await take(store, an_event(times=2), an_event(times=2), offset=1) == [LONE, OVER]
    assert await take(store, an_event(times=2), an_event(times=1), offset=2) == [OVER, OVER]
    for offset in range(3, 12):
        assert await take(store, an_event(times=2), offset=offset) == [OVER]
    assert await store.open_ids() == ()


async def test_events_of_other_things_and_old_ones_do_not_count_together(store: Store, time: FakeTime) -> None:
    for n in range(6):
        assert await take(store, an_event(uid=f"e-{n}", pod=f"checkout-{n}"), offset=n) == [LONE]
    time.later(minutes=16)
    later = an_event(times=4, uid="again", pod="checkout-1", seen_at=time.now)
    assert await take(store, later, offset=20) == [LONE]


async def test_what_goes_on_after_a_person_has_it_opens_nothing_new(store: Store, time: FakeTime) -> None:
    from handrail.model import events as ev

    (took,) = await take(store, an_event(times=9), offset=1)
    incident = await newest(store, took.incident)
    over = ev.HandedOver(reason=Reason.NO_RUNBOOK, detail="a person has it")
    await store.append(incident, (ev.GatheringBegun(), over))
    for n in range(1, 8):
        time.later(minutes=20)
        (again,) = await take(store, an_event(times=9 + n, seen_at=time.now), offset=10 + n)
        assert again == Took(fate=Fate.ATTACHED, incident=took.incident)


async def test_ordinary_alerts_ask_nothing_of_windows(store: Store) -> None:
    said: list[str] = []
    engine = store._database._home.writes.sync_engine
    event.listen(engine, "before_cursor_execute", lambda *a: said.append(a[2]))
    await store.take((a_batch(an_arrival(an_alert())),), max_age=MAX_AGE, judge=JUDGE)
    assert said
    assert not any(
        word in statement for statement in said for word in ("happened", "sightings", "conditions", "advisory")
    )


async def test_a_window_is_read_by_the_key(store: Store, path: Path, kind: str) -> None:
    await take(store, an_event())
    if kind == "sqlite":
        plan = behind(path).execute(
            "EXPLAIN QUERY PLAN SELECT thing, data FROM happened WHERE cluster = 'a' AND thing IN ('b', 'c')"
        )
        assert "USING INDEX" in str(plan.fetchall())


@pytest.mark.parametrize("kind", [pytest.param("postgresql", marks=pytest.mark.server)])
async def test_events_of_one_thing_that_come_in_on_two_replicas_at_once_are_one_window(store: Store, url: str) -> None:
    other = await Store.open(url, cluster=CLUSTER, clock=FakeTime())
    try:
        for n in range(8):
            pod = f"checkout-{n}"
            both = (
                take(
                    replica,
                    *(an_event("Failed", uid=f"{pod}-{who}-{k}", pod=pod) for k in range(2)),
                    offset=100 * who + n,
                )
                for who, replica in enumerate((store, other))
            )
            fates = [took.fate for taken in await asyncio.gather(*both) for took in taken]
            assert fates.count(Fate.OPENED) == 1, fates
    finally:
        await other.close()


async def test_what_no_window_reaches_any_more_is_forgotten(store: Store, time: FakeTime, path: Path) -> None:
    await take(store, an_event())
    time.later(minutes=90)
    await store.watching.tidy()
    assert behind(path).execute("SELECT count(*) FROM happened").fetchall() == [(1,)]
    time.later(minutes=31)
    await store.watching.tidy()
    assert behind(path).execute("SELECT count(*) FROM happened").fetchall() == [(0,)]
