"""An alert that comes again after its incident has ended: nothing is lost, nobody is called for nothing."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from handrail.adapters.telling import Teller
from handrail.effects.gather import HOLD
from handrail.model import events as ev
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from tests.breaks.test_telling import Channel
from tests.reconciler.rig import BAD, GOOD, Rig, Shop, asking, ended, rig

STUCK = "KubeDeploymentRolloutStuck"
ERRORS = "CheckoutErrorsHigh"


class Monitoring:
    """Sends one alert over and over: its start never changes, as Prometheus' does not while the rule is true."""

    def __init__(self, shop: Shop, life: Rig, name: str = STUCK) -> None:
        self.shop = shop
        self.life = life
        self.name = name
        self.since = shop.clock.now()
        self.sent = 0

    async def says(self, status: str) -> None:
        labels = {"alertname": self.name, "cluster": "demo", "namespace": "shop", "deployment": "checkout"}
        alert = {"status": status, "startsAt": _zulu(self.since), "annotations": {}, "labels": labels}
        if status == "resolved":
            alert["endsAt"] = _zulu(self.shop.clock.now())
        body = {"version": "4", "status": status, "receiver": "h", "alerts": [alert]}
        self.sent += 1
        await self.life.take(json.dumps(body).encode(), offset=1000 + self.sent)


def _zulu(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


async def rest(life: Rig, seconds: float) -> None:
    """Lets time pass and moves whatever is due on the way."""
    for _ in range(int(seconds // 15)):
        while await life._round():
            pass
        life.shop.clock.advance(15)
        life.shop.simulator.cluster.settle()
    while await life._round():
        pass


def shown(slack: Channel) -> set[str]:
    """The incidents that have a message."""
    return {card.incident for card in slack.cards}


async def newest(life: Rig) -> Incident:
    """`rows` gives the newest first."""
    return (await life.incidents())[0]


async def test_a_false_resolve_is_found_out_when_the_alert_fires_again_hours_later(shop: Shop, tmp_path: Path) -> None:
    """prometheus#5277: it never stopped being true, and what is broken by then must be seen."""
    async with rig(shop, tmp_path) as life:
        monitoring = Monitoring(shop, life)
        await monitoring.says("firing")
        await monitoring.says("resolved")
        first = await life.run(ended)
        assert first.end is not None
        assert first.end[0] is Reason.RESOLVED_BY_ITSELF
        shop.clock.advance(4 * 3600)
        await shop.roll_out(BAD)
        await shop.live(30)
        await monitoring.says("firing")
        await life.run(lambda i: asking(i) and i.follows is not None)
        second = await newest(life)
        assert second.follows == ev.Follows(incident=first.id, ended="SUPPRESSED")


async def test_the_late_word_of_a_pair_calls_nobody(shop: Shop, tmp_path: Path) -> None:
    """alertmanager#4008: firing, resolved, firing within seconds, and nothing wrong."""
    async with rig(shop, tmp_path) as life:
        slack = Channel()
        teller = Teller(life.tools.store, slack, None, life.tools.now)
        monitoring = Monitoring(shop, life, ERRORS)
        await monitoring.says("firing")
        await monitoring.says("resolved")
        first = await life.run(ended)
        await teller.tell_all()
        known = shown(slack)
        await shop.live(2)
        await monitoring.says("firing")
        for _ in range(10):
            await rest(life, 60)
            await teller.tell_all()
        last = await newest(life)
        assert last.id != first.id
        assert last.end is not None
        assert last.end[0] is Reason.NOTHING_WRONG
        assert shown(slack) == known


async def test_what_health_does_not_disprove_goes_to_a_person_when_it_goes_on(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        monitoring = Monitoring(shop, life, ERRORS)
        await monitoring.says("firing")
        await monitoring.says("resolved")
        await life.run(ended)
        await shop.live(2)
        await monitoring.says("firing")
        await rest(life, HOLD.total_seconds() + 60)
        await monitoring.says("firing")
        await rest(life, 60)
        last = await newest(life)
        assert last.state is State.HANDED_OVER, last.end
        before = len(await life.incidents())
        shop.clock.advance(12 * 3600)
        await monitoring.says("firing")
        assert len(await life.incidents()) == before


async def test_an_alert_that_flaps_stays_bounded_and_quiet_and_is_acted_on_once_it_is_true(
    shop: Shop, tmp_path: Path
) -> None:
    async with rig(shop, tmp_path) as life:
        slack = Channel()
        teller = Teller(life.tools.store, slack, None, life.tools.now)
        monitoring = Monitoring(shop, life)
        await monitoring.says("firing")
        await monitoring.says("resolved")
        await life.run(ended)
        await teller.tell_all()
        known = shown(slack)
        for _ in range(20):
            await monitoring.says("firing")
            await rest(life, 30)
            await monitoring.says("resolved")
            await rest(life, 30)
            await teller.tell_all()
        flapped = await life.incidents()
        assert len(flapped) <= 2 + 20 * 60 / HOLD.total_seconds()
        assert sum(incident.seq for incident in flapped) <= 100
        assert shown(slack) == known
        assert (await life.tools.store.audit()).ok
        await shop.roll_out(BAD)
        await shop.live(30)
        await monitoring.says("firing")
        await rest(life, HOLD.total_seconds() + 150)
        assert asking(await newest(life))
        await teller.tell_all()
        assert shown(slack) > known


async def test_a_repair_that_did_not_hold_is_said_and_gets_an_incident_of_its_own(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        slack = Channel()
        teller = Teller(life.tools.store, slack, None, life.tools.now)
        await shop.roll_out(BAD)
        await shop.live(30)
        monitoring = Monitoring(shop, life)
        await monitoring.says("firing")
        repaired = await life.run(ended, approve=True)
        assert repaired.state is State.RESOLVED, repaired.end
        await shop.live(120)
        await monitoring.says("firing")
        await monitoring.says("firing")
        await teller.tell_all()
        assert sum("still fires after the repair" in line for line in slack.lines) == 1
        shop.clock.advance(20 * 60)
        await monitoring.says("firing")
        again = await newest(life)
        assert again.follows == ev.Follows(incident=repaired.id, ended="RESOLVED")
        await rest(life, HOLD.total_seconds() + 60)
        again = await newest(life)
        assert again.end is not None
        assert again.end[0] is Reason.NOTHING_WRONG, "a window of the rule that is longer than the cool-down"
        assert await shop.image() == GOOD


async def test_whoever_has_it_hears_that_it_fires_on(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        slack = Channel()
        teller = Teller(life.tools.store, slack, None, life.tools.now)
        await shop.roll_out(BAD)
        await shop.live(30)
        monitoring = Monitoring(shop, life)
        await monitoring.says("firing")
        await life.run(asking)
        assert (await life.answer("reject")).ok
        for _ in range(18):
            shop.clock.advance(600)
            await monitoring.says("firing")
            await teller.tell_all()
        assert len(await life.incidents()) == 1
        assert 2 <= sum("still fires. This is with a person" in line for line in slack.lines) <= 3
