"""Stop conditions in the store: an alert raises one and takes it back, and the gate reads it in its transaction."""

from __future__ import annotations

from datetime import timedelta

from handrail.adapters.store import Store
from handrail.core.conditions import TOLD
from handrail.core.correlate import arrival, findings_of, woken
from handrail.core.gate import GateFacts
from handrail.model.alert import Alert
from handrail.model.arrival import Took
from handrail.model.condition import Condition
from handrail.model.incident import State
from handrail.model.reason import Reason, Refusal
from handrail_detectors import catalogue
from tests.factories import CLUSTER, NOW, FakeTime, a_batch
from tests.store.driving import MAX_AGE, through_the_gate, walk
from tests.store.test_gate import intent_of, real

AWAKE = woken(catalogue())


def sick(status: str = "firing", name: str = "KubeAPIDown", severity: str = "critical", **over: object) -> Alert:
    said = {"name": name, "status": status, "labels": {"alertname": name}, "severity": severity, "wire": "test"}
    return Alert.model_validate({**said, "starts_at": NOW, "seen_at": NOW, "cluster": CLUSTER, **over})


async def take(store: Store, *alerts: Alert, offset: int = 0) -> list[Took]:
    arrivals = [arrival(alert, CLUSTER, findings_of(alert, AWAKE, NOW)) for alert in alerts]
    return list((await store.take((a_batch(*arrivals, offset=offset),), max_age=MAX_AGE))[0])


async def reasons(store: Store) -> list[Reason]:
    return [one.reason for one in await store.watching.standing()]


async def test_a_critical_alert_about_the_control_plane_stands_until_it_is_resolved(store: Store) -> None:
    await take(store, sick(), offset=1)
    (condition,) = await store.watching.standing()
    assert (condition.reason, condition.since, condition.until) == (Reason.CONTROL_PLANE_SICK, NOW, NOW + TOLD)
    assert condition.what.startswith("KubeAPIDown")
    await take(store, sick("resolved"), offset=2)
    assert await reasons(store) == []


async def test_a_warning_stops_nothing_nor_does_what_is_old_or_of_another_cluster(store: Store) -> None:
    await take(store, sick(severity="warning"), offset=1)
    await take(store, sick(name="KubeSchedulerDown", seen_at=NOW - timedelta(hours=3)), offset=2)
    await take(store, sick(cluster="another"), offset=3)
    assert await reasons(store) == []


async def test_it_is_prolonged_by_repeats_keeps_since_when_and_ends_by_itself(store: Store, time: FakeTime) -> None:
    await take(store, sick(), offset=1)
    time.later(hours=4)
    await take(store, sick(seen_at=time.now), offset=2)
    (condition,) = await store.watching.standing()
    assert (condition.since, condition.until) == (NOW, time.now + TOLD)
    time.later(hours=5)
    assert await reasons(store) == []
    await store.watching.tidy()
    await take(store, sick(seen_at=time.now), offset=3)
    assert [one.since for one in await store.watching.standing()] == [time.now]


async def test_in_one_poll_the_last_word_counts_and_each_alert_takes_back_only_its_own(store: Store) -> None:
    other = sick(name="etcdNoLeader")
    await take(store, sick(), other, sick("resolved"), offset=1)
    (condition,) = await store.watching.standing()
    assert condition.what.startswith("etcdNoLeader")
    await take(store, sick("resolved"), sick(), offset=2)
    assert len(await store.watching.standing()) == 2


async def test_the_gate_reads_it_in_the_transaction_that_would_commit_the_intent(store: Store) -> None:
    incident = await walk(store, State.EXECUTING)
    intent = intent_of(incident)
    await take(store, sick(), offset=1)
    no = await through_the_gate(store, incident, intent, real(intent))
    assert isinstance(no, Refusal)
    assert no.reason is Reason.CONTROL_PLANE_SICK
    assert (await store.recent(incident, ())).conditions == await store.watching.standing()
    await take(store, sick("resolved"), offset=2)
    assert not isinstance(await through_the_gate(store, incident, intent, real(intent)), Refusal)


async def test_a_condition_is_raised_once_whoever_raises_it_and_lifted_by_its_name(store: Store) -> None:
    found = Condition(identity="x", reason=Reason.MONITORING_GONE, what="y", since=NOW, until=NOW + TOLD)
    await store.watching.raise_(found, found)
    assert await store.watching.standing() == (found,)
    seen: list[GateFacts] = []
    incident = await walk(store, State.EXECUTING)

    def look(facts: GateFacts) -> Refusal:
        seen.append(facts)
        return Refusal(reason=Reason.NOT_ALLOWED, detail="only looking")

    await through_the_gate(store, incident, intent_of(incident), look)
    assert seen[0].conditions == (found,)
    await store.watching.lift("another", "x")
    assert await store.watching.standing() == ()


async def test_the_newest_sighting_counts_and_none_lies_in_the_future(store: Store, time: FakeTime) -> None:
    async def see(at_minutes: float, offset: int) -> None:
        at = NOW + timedelta(minutes=at_minutes)
        batch = a_batch(offset=offset).model_copy(update={"sighted": {"dog": at}})
        await store.take((batch,), max_age=MAX_AGE)

    await see(-5, 1)
    await see(-9, 2)
    assert await store.watching.sightings() == {"dog": NOW - timedelta(minutes=5)}
    await see(600, 3)
    assert await store.watching.sightings() == {"dog": NOW}


async def test_those_who_are_asked_are_the_newest_ones_with_their_heads(store: Store, time: FakeTime) -> None:
    await take(store, sick(), offset=99)
    asked = []
    for name in ("first", "second", "third"):
        asked.append(await walk(store, State.ASKING, name))
        time.later(seconds=1)
    await walk(store, State.GATHERING, "other")
    standing, heads = await store.watching.asked(2)
    assert standing == await store.watching.standing()
    assert list(heads.items()) == [(one.id, one.seq) for one in (asked[2], asked[1])]
