"""A storm of alerts: one page with the counts, nothing asked, nothing written, nothing lost; then a look at each."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from handrail.adapters.telling import Teller
from handrail.core import storm
from handrail.core.fold import apply
from handrail.effects.tick import Ticking
from handrail.model import events as ev
from handrail.model.condition import Condition
from handrail.model.incident import Incident, State
from handrail.model.policy import StormLimit
from handrail.model.reason import Reason
from tests.breaks.test_telling import Channel
from tests.factories import NOW, an_alert, an_incident_in
from tests.reconciler.rig import BAD, GOOD, LOCAL, POLICY, Rig, Shop, asking, rig
from tests.store.driving import arrive

STUCK = "KubeDeploymentRolloutStuck"
LIMIT = {"targets": 5, "minutes": 5}


def few(folder: Path) -> None:
    """A policy by which six objects are a storm already."""
    (folder / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "storm": LIMIT}))


def body(*workloads: str, node: str = "") -> bytes:
    alerts = [
        {
            "status": "firing",
            "labels": {"alertname": STUCK, "cluster": "demo", "namespace": "shop", "deployment": name}
            | ({"node": node} if node else {}),
            "annotations": {},
            "startsAt": "2026-01-01T00:00:00Z",
        }
        for name in workloads
    ]
    return json.dumps({"version": "4", "status": "firing", "receiver": "h", "alerts": alerts}).encode()


async def make(shop: Shop, *names: str, image: str = GOOD) -> None:
    for name in names:
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": image}]}}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template, "progressDeadlineSeconds": 20}
        meta = {"name": name, "namespace": "shop"}
        made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
        await shop.call("POST", "/apis/apps/v1/namespaces/shop/deployments", made)
    await shop.live(10)


async def minutes(life: Rig, ticking: Ticking, teller: Teller, count: float, *, seconds: int = 10) -> None:
    """The daemon's loops, so many seconds at a time."""
    for _ in range(int(count * 60 / seconds)):
        await ticking.tick()
        while await life._round():
            pass
        await teller.tell_all()
        life.shop.clock.advance(seconds)
        life.shop.simulator.cluster.settle()


async def page_of(life: Rig) -> Incident:
    (found,) = [incident for incident in await life.incidents() if storm.is_page(incident)]
    return found


async def others(life: Rig) -> list[Incident]:
    return [incident for incident in await life.incidents() if not storm.is_page(incident)]


def told(slack: Channel) -> dict[str, Any]:
    """The newest card of each incident."""
    return {card.incident: card for card in slack.cards}


async def test_a_storm_is_one_page_and_afterwards_only_what_is_not_well_is_asked_about(
    shop: Shop, tmp_path: Path
) -> None:
    few(tmp_path)
    well = [f"well-{n}" for n in range(7)]
    await make(shop, *well)
    await shop.roll_out(BAD)
    await shop.live(60)
    async with rig(shop, tmp_path) as life:
        slack, hook = Channel(), Channel()
        teller = Teller(life.tools.store, slack, hook, life.tools.now)
        ticking = Ticking(life.tools)
        await life.take(body(*well, "checkout", node="node-a"))
        await minutes(life, ticking, teller, 4)
        page = await page_of(life)
        assert set(told(slack)) == {page.id}
        assert page.storm is not None
        assert (page.storm.objects, page.storm.alerts, page.storm.waiting) == (8, 8, 8)
        assert page.storm.names == (ev.Counted(name=STUCK, times=8),)
        assert page.storm.namespaces == (ev.Counted(name="shop", times=8),)
        assert page.storm.nodes == (ev.Counted(name="node-a", times=8),)
        assert {incident.state for incident in await others(life)} == {State.GATHERING}
        assert {incident.silenced.reason for incident in await others(life) if incident.silenced} == {Reason.STORM}
        assert len(hook.payloads) == 0
        await minutes(life, ticking, teller, 3)
        page = await page_of(life)
        assert page.state is State.SUPPRESSED
        assert told(slack)[page.id].status.startswith("Over: the storm is over since")
        assert slack.lines.count(next(line for line in slack.lines if "storm is over" in line)) == 1
        states = Counter(incident.state for incident in await others(life))
        assert states == {State.SUPPRESSED: 7, State.ASKING: 1}
        (asked,) = [incident for incident in await others(life) if asking(incident)]
        assert set(told(slack)) == {page.id, asked.id}


async def test_in_a_storm_what_was_asked_before_it_is_not_written(shop: Shop, tmp_path: Path) -> None:
    few(tmp_path)
    await shop.roll_out(BAD)
    await shop.live(60)
    async with rig(shop, tmp_path) as life:
        slack = Channel()
        teller = Teller(life.tools.store, slack, None, life.tools.now)
        ticking = Ticking(life.tools)
        await life.take(body("checkout"))
        await minutes(life, ticking, teller, 1)
        (asked,) = await others(life)
        assert asking(asked)
        await life.take(body(*(f"w-{n}" for n in range(8))), offset=1)
        await ticking.tick()
        again = await life.tools.store.incident(asked.id)
        assert again is not None
        assert again.caution is not None
        assert again.caution.reason is Reason.STORM
        assert again.request is not None
        await life.desk.decide(asked.id, "approve", LOCAL, again.request.id)
        await minutes(life, ticking, teller, 1)
        held = await life.tools.store.incident(asked.id)
        assert held is not None
        assert not held.done_writes
        assert await shop.image() == BAD


async def test_the_counts_are_right_after_a_restart_and_as_more_come(shop: Shop, tmp_path: Path) -> None:
    few(tmp_path)
    slack = Channel()
    async with rig(shop, tmp_path) as life:
        await life.take(body(*(f"a-{n}" for n in range(6))))
        await minutes(life, Ticking(life.tools), Teller(life.tools.store, slack, None, life.tools.now), 1)
        first = await page_of(life)
    async with rig(shop, tmp_path) as life:
        await life.take(body(*(f"b-{n}" for n in range(3))), offset=1)
        await life.take(body("a-1"), offset=2)
        await minutes(life, Ticking(life.tools), Teller(life.tools.store, slack, None, life.tools.now), 1)
        page = await page_of(life)
        assert page.id == first.id
        assert page.storm is not None
        assert (page.storm.objects, page.storm.alerts, page.storm.waiting) == (9, 10, 9)
        assert set(told(slack)) == {page.id}
        assert "9 objects" in told(slack)[page.id].status
        assert (await life.tools.store.audit()).ok


async def test_the_tick_prolongs_a_storm_by_what_the_intake_did_not_count(shop: Shop, tmp_path: Path) -> None:
    """What opens an incident without an alert, such as a signal that no longer comes, is no poll's."""
    few(tmp_path)
    async with rig(shop, tmp_path) as life:
        await life.take(body(*(f"a-{n}" for n in range(6))))
        (storm_,) = await life.tools.store.watching.standing()
        shop.clock.advance(4 * 60)
        silent = an_alert(workload="late", cluster="demo", seen_at=life.tools.now(), starts_at=life.tools.now())
        await arrive(life.tools.store, silent, offset=9)
        assert await life.tools.store.watching.standing() == (storm_,)
        await Ticking(life.tools).tick()
        (prolonged,) = await life.tools.store.watching.standing()
        assert prolonged.until == storm_.until + timedelta(minutes=4)
        assert prolonged.since == storm_.since


async def test_alerts_of_as_many_objects_as_the_limit_are_no_storm(shop: Shop, tmp_path: Path) -> None:
    few(tmp_path)
    async with rig(shop, tmp_path) as life:
        await life.take(body(*(f"a-{n}" for n in range(5))))
        await Ticking(life.tools).tick()
        assert await life.tools.store.watching.standing() == ()
        shop.clock.advance(5 * 60 + 1)
        await life.take(body(*(f"b-{n}" for n in range(5))), offset=1)
        await Ticking(life.tools).tick()
        assert await life.tools.store.watching.standing() == ()


async def test_after_a_storm_a_few_at_a_time_are_asked_about_and_none_is_lost(shop: Shop, tmp_path: Path) -> None:
    few(tmp_path)
    sick = [f"sick-{n}" for n in range(8)]
    await make(shop, *sick)
    for name in sick:
        path = f"/apis/apps/v1/namespaces/shop/deployments/{name}"
        change = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": BAD}]
        await shop.call("PATCH", path, change, "application/json-patch+json")
    await shop.live(60)
    async with rig(shop, tmp_path) as life:
        slack = Channel()
        teller = Teller(life.tools.store, slack, None, life.tools.now)
        ticking = Ticking(life.tools)
        await life.take(body(*sick))
        await minutes(life, ticking, teller, 8)
        states = Counter(incident.state for incident in await others(life))
        assert states[State.ASKING] == storm.FEW
        assert states[State.GATHERING] == len(sick) - storm.FEW
        for incident in await others(life):
            if incident.request and asking(incident):
                await life.desk.decide(incident.id, "reject", LOCAL, incident.request.id)
        await minutes(life, ticking, teller, 8)
        states = Counter(incident.state for incident in await others(life))
        assert states == {State.HANDED_OVER: storm.FEW, State.ASKING: len(sick) - storm.FEW}


STORM = Condition(identity="page", reason=Reason.STORM, what="many", since=NOW, until=NOW + timedelta(minutes=5))


def grown(incident: Incident, event: ev.Event, at: datetime) -> Incident:
    seq = incident.seq + 1
    entry = ev.Entry(incident=incident.id, seq=seq, at=at, actor="t", event=event, previous=str(seq - 1), hash="x")
    return apply(incident, entry, cluster="prod")


LIMITS = StormLimit(wait_minutes=30)
LATE = NOW + timedelta(minutes=30)


def waiting(state: State) -> Incident:
    """Since NOW, for the end of a storm."""
    incident = an_incident_in(State.PLANNING)
    first = storm.hold(incident, STORM, LIMITS, storm.Turn(), NOW)
    assert isinstance(first, ev.Silenced)
    return grown(incident, first, NOW).model_copy(update={"state": state})


def test_in_a_storm_nobody_waits_longer_than_policy_says_and_then_it_is_looked_at_and_given_to_a_person() -> None:
    on = STORM.model_copy(update={"until": LATE + timedelta(hours=1)})
    early = LATE - timedelta(minutes=1)
    held = storm.hold(waiting(State.GATHERING), on, LIMITS, storm.Turn(), early)
    assert isinstance(held, ev.Silenced)
    assert held.until == LATE, "not until the storm is over"
    assert storm.hold(waiting(State.GATHERING), on, LIMITS, storm.Turn(), LATE) is None, "it is looked at"
    given = storm.hold(waiting(State.PLANNING), on, LIMITS, storm.Turn(asked=False), LATE)
    assert isinstance(given, ev.HandedOver)
    assert given.detail.startswith(
        "the storm still goes on, and it has waited for 30 minutes; `handrail incidents retry"
    )
    others = storm.hold(waiting(State.PLANNING), on, LIMITS, storm.Turn(given=False), LATE)
    assert isinstance(others, ev.Silenced)
    assert others.until == LATE + storm.TURN


def test_after_a_storm_who_lets_others_go_first_goes_to_a_person_in_the_end() -> None:
    after = NOW + storm.LONGEST
    behind = storm.Turn(asked=False)
    assert isinstance(storm.hold(waiting(State.PLANNING), None, LIMITS, behind, after), ev.Silenced)
    over = storm.hold(waiting(State.PLANNING), None, LIMITS, behind, after + timedelta(seconds=1))
    assert isinstance(over, ev.HandedOver)
    assert over.detail == "it has waited for 2 hours since the storm began"


def test_a_wait_that_ended_in_a_question_is_not_counted_into_the_next_storm() -> None:
    incident = an_incident_in(State.ASKING)
    assert incident.request is not None
    before = an_incident_in(State.REHEARSING).model_copy(update={"storm_at": NOW})
    asked = grown(before, ev.Asked(request=incident.request), NOW + timedelta(minutes=10))
    late = NOW + timedelta(hours=6)
    voided = grown(asked, ev.Voided(reason=Reason.STATE_CHANGED, detail="looking again"), late)
    assert isinstance(storm.hold(voided, STORM, LIMITS, storm.Turn(), late), ev.Silenced)
