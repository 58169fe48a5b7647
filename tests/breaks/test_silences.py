"""What is silenced in Alertmanager is left alone, for as long as that lasts, however far it had come."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from handrail.core.asking import after_rehearsal
from handrail.core.card import card
from handrail.core.hush import LOOKED_AT_AGAIN, SOON
from handrail.core.story import line
from handrail.model import events as ev
from handrail.model.errors import Permanent, Transient
from handrail.model.evidence import Away
from handrail.model.incident import Incident, State
from handrail.model.policy import Mode
from handrail.model.reason import Reason
from handrail.model.silence import Silence, Standing
from handrail.model.step import Risk
from tests.breaks.worlds import alerted
from tests.decode.records import fired, webhook
from tests.factories import NOW, a_policy, a_rehearsal, a_saga
from tests.reconciler.rig import BAD, GOOD, Rig, Shop, asking, ended, rig

NAME = "KubeDeploymentRolloutStuck"
LABELS = {"alertname": NAME, "namespace": "shop", "deployment": "checkout", "instance": "10.0.0.7:8443"}


@dataclass
class Quiet:
    """An Alertmanager in memory. `broken` is raised by every call; `asked` counts looks at alerts."""

    standing: list[Standing] = field(default_factory=list)
    known: dict[str, Silence] = field(default_factory=dict)
    broken: Exception | None = None
    asked: int = 0

    async def standings(self, name: str) -> tuple[Standing, ...]:
        self.asked += 1
        if self.broken is not None:
            raise self.broken
        return tuple(one for one in self.standing if one.labels.get("alertname") == name)

    async def silence(self, id_: str) -> Silence:
        if id_ not in self.known:
            raise Permanent("there is no such silence")
        return self.known[id_]

    async def names_of(self, fingerprints: Iterable[str]) -> tuple[str, ...]:
        return ("NodeDown",) if "f1" in fingerprints else ()

    def fires(self, *silences: str, **more: tuple[str, ...]) -> None:
        self.standing = [Standing(labels=LABELS, silences=silences, **more)]

    def say(self, id_: str, until: datetime, by: str = "alice", comment: str = "we move the database") -> None:
        self.known[id_] = Silence(id=id_, by=by, comment=comment, until=until)


def with_it(life: Rig, quiet: Quiet) -> Rig:
    return Rig(replace(life.tools, silences=quiet), life.shop)


def silenced(incident: Incident) -> bool:
    return incident.silenced is not None


async def test_what_is_silenced_is_left_alone_and_looked_at_again_when_the_silence_ends(
    shop: Shop, tmp_path: Path
) -> None:
    quiet = Quiet()
    async with rig(shop, tmp_path) as plain:
        life = with_it(plain, quiet)
        await alerted(shop, life)
        quiet.fires("s1")
        quiet.say("s1", until := shop.clock.now() + timedelta(minutes=20))
        incident = await life.run(silenced)
        assert incident.state is State.GATHERING
        shown = card(incident, shop.clock.now())
        for said in ("SILENCED", "alice", f"{until:%H:%M:%S} UTC", "we move the database"):
            assert said in shown.status
        asked = quiet.asked
        await shop.live(19 * 60)
        assert silenced(await life.run(lambda _: True))
        assert quiet.asked == asked, "nobody is asked again before it ends"
    async with rig(shop, tmp_path) as plain:
        life = with_it(plain, quiet)
        quiet.fires()
        waiting = await life.run(asking, minutes=5)
        assert waiting.silenced is None
        assert shop.clock.now() >= until
        told = [line(entry) or "" for entry in await life.tools.store.entries(waiting.id)]
        assert any(one.startswith("Left alone until ") and "SILENCED" in one for one in told)


async def test_one_that_has_said_it_is_resolved_is_not_kept_open_by_a_silence(shop: Shop, tmp_path: Path) -> None:
    quiet = Quiet()
    async with rig(shop, tmp_path) as plain:
        life = with_it(plain, quiet)
        await alerted(shop, life)
        quiet.fires("s1")
        quiet.say("s1", shop.clock.now() + timedelta(minutes=50))
        await life.run(silenced)
        await shop.roll_out(GOOD)
        await shop.live(30)
        quiet.standing = []
        at = shop.clock.now().isoformat()
        labels = {key: text for key, text in LABELS.items() if key != "instance"}
        await life.take(json.dumps(webhook(fired(labels, status="resolved", endsAt=at))).encode(), offset=1)
        incident = await life.run(ended, minutes=5)
        assert (incident.state, incident.end and incident.end[0]) == (State.SUPPRESSED, Reason.RESOLVED_BY_ITSELF)


async def test_a_silence_made_while_a_person_is_asked_stops_what_that_person_approves(
    shop: Shop, tmp_path: Path
) -> None:
    quiet = Quiet()
    async with rig(shop, tmp_path) as plain:
        life = with_it(plain, quiet)
        await alerted(shop, life)
        quiet.fires()
        await life.run(asking)
        quiet.fires("s1")
        quiet.say("s1", shop.clock.now() + timedelta(minutes=30))
        assert (await life.answer("approve")).ok
        incident = await life.run(silenced)
        assert (incident.writes, incident.approved_by, incident.voids) == ((), None, 0)
        assert await shop.image() == BAD
        quiet.fires()
        again = await life.run(asking, minutes=40)
        assert again.approved_by is None, "what was approved before it is not done after it"


async def test_a_silence_made_after_the_first_write_undoes_nothing_and_is_no_half_done_repair(
    shop: Shop, tmp_path: Path
) -> None:
    quiet = Quiet()
    async with rig(shop, tmp_path) as plain:
        life = with_it(plain, quiet)
        await alerted(shop, life)
        quiet.fires()
        await life.run(asking)
        assert (await life.answer("approve")).ok
        await life.run(lambda one: one.has_acted)
        quiet.fires("s1")
        quiet.say("s1", shop.clock.now() + timedelta(minutes=30))
        assert (await life.run(ended)).state is State.RESOLVED


async def test_only_the_very_alert_counts_by_our_own_identity(shop: Shop, tmp_path: Path) -> None:
    quiet = Quiet()
    async with rig(shop, tmp_path) as plain:
        life = with_it(plain, quiet)
        await alerted(shop, life)
        other = Standing(labels={**LABELS, "deployment": "cart"}, silences=("s1",))
        elsewhere = Standing(labels={**LABELS, "cluster": "another"}, silences=("s1",))
        heard = Standing(labels={**LABELS, "severity": "critical"})
        also = Standing(labels=LABELS, silences=("s1",))
        quiet.say("s1", shop.clock.now() + timedelta(minutes=30))
        quiet.standing = [other, elsewhere, heard, also]
        waiting = await life.run(asking)
        assert waiting.silenced is None
        (said,) = [item for item in waiting.evidence if item.kind == "alertmanager"]
        assert "some of its alerts are silenced" in said.excerpt


async def test_what_is_inhibited_is_evidence_and_goes_on(shop: Shop, tmp_path: Path) -> None:
    quiet = Quiet()
    async with rig(shop, tmp_path) as plain:
        life = with_it(plain, quiet)
        await alerted(shop, life)
        quiet.fires(inhibited_by=("f1",), muted_by=("weekend",))
        waiting = await life.run(asking)
        (said,) = [item for item in waiting.evidence if item.kind == "alertmanager"]
        assert "NodeDown" in said.excerpt
        assert "weekend" in said.excerpt
        assert said.trust == "text"


async def test_of_several_silences_the_first_moment_of_being_heard_again_counts(shop: Shop, tmp_path: Path) -> None:
    quiet = Quiet()
    async with rig(shop, tmp_path) as plain:
        life = with_it(plain, quiet)
        await alerted(shop, life)
        now = shop.clock.now()
        for number, minutes in enumerate((10, 40, 50)):
            quiet.say(f"s{number}", now + timedelta(minutes=minutes), by=f"p{number}")
        quiet.standing = [
            Standing(labels=LABELS, silences=("s0", "s1")),
            Standing(labels={**LABELS, "severity": "critical"}, silences=("s2",)),
        ]
        incident = await life.run(silenced)
        assert incident.silenced is not None
        assert incident.silenced.until == now + timedelta(minutes=40)
        assert "p1" in incident.silenced.detail


async def test_a_long_silence_is_looked_at_each_hour_and_one_without_an_end_soon(shop: Shop, tmp_path: Path) -> None:
    quiet = Quiet()
    async with rig(shop, tmp_path) as plain:
        life = with_it(plain, quiet)
        await alerted(shop, life)
        quiet.fires("unknown")
        first = await life.run(silenced)
        assert first.silenced is not None
        assert first.silenced.until <= shop.clock.now() + SOON
        quiet.say("unknown", shop.clock.now() + timedelta(days=3), by="", comment="x" * 5000 + "\n*bold*")
        later = await life.run(lambda one: one.silenced is not None and one.silenced != first.silenced, minutes=10)
        assert later.silenced is not None
        assert later.silenced.until == shop.clock.now() + LOOKED_AT_AGAIN
        assert "somebody who gave no name" in later.silenced.detail


async def test_an_alertmanager_that_is_away_is_said_on_the_card_and_stops_nobody(shop: Shop, tmp_path: Path) -> None:
    quiet = Quiet(broken=Transient("Alertmanager is away"))
    async with rig(shop, tmp_path) as plain:
        life = with_it(plain, quiet)
        await alerted(shop, life)
        waiting = await life.run(asking)
        shown = card(waiting, shop.clock.now())
        assert [one for one in shown.away if "silenced can't be told" in one]
        assert (await life.answer("approve")).ok
        assert (await life.run(ended)).state is State.RESOLVED


async def test_one_that_went_away_just_before_the_question_is_said_on_the_card_too(shop: Shop, tmp_path: Path) -> None:
    quiet = Quiet()
    async with rig(shop, tmp_path) as plain:
        life = with_it(plain, quiet)
        await alerted(shop, life)
        await life.run(lambda one: one.state is State.REHEARSING)
        quiet.broken = Permanent("Alertmanager answers 401")
        waiting = await life.run(asking)
        assert [one.source for one in waiting.away] == ["alertmanager"]


def test_what_policy_lets_run_by_itself_is_asked_where_nobody_can_tell_whether_it_is_silenced() -> None:
    saga = a_saga("inc-1")
    mild = saga.model_copy(update={"steps": (saga.steps[0].model_copy(update={"risk": Risk.REVERSIBLE}),)})
    rehearsal = a_rehearsal(mild)
    away = Away(source="alertmanager", why="whether this is silenced can't be told")
    assert isinstance(after_rehearsal(rehearsal, a_policy(Mode.ACT), "r", NOW), ev.Cleared)
    asked = after_rehearsal(rehearsal, a_policy(Mode.ACT), "r", NOW, away)
    assert isinstance(asked, ev.Asked)
    assert asked.away == (away,)
