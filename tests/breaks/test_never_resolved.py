"""alertmanager#1063: a sender that never says resolved. Its episode ends by itself, which is data and no proof."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from handrail.adapters.telling import Teller
from handrail.core.conditions import TOLD
from handrail.core.fold import apply
from handrail.core.lapsing import lapsed
from handrail.model import events as ev
from handrail.model.incident import State
from handrail.model.reason import Reason
from tests.breaks.test_again import ERRORS, Monitoring, newest
from tests.breaks.test_telling import Channel
from tests.factories import NOW, a_source, an_alert, an_incident_in
from tests.reconciler.rig import BAD, GOOD, POLICY, Shop, asking, ended, rig

LATER = TOLD.total_seconds() + 60


def patient(folder: Path) -> None:
    """A policy by which a question stands for a day."""
    (folder / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "approval_minutes": 1440}))


async def test_a_question_whose_alert_is_repeated_no_more_ends_when_all_is_well(shop: Shop, tmp_path: Path) -> None:
    patient(tmp_path)
    await shop.roll_out(BAD)
    await shop.live(30)
    async with rig(shop, tmp_path) as life:
        slack = Channel()
        teller = Teller(life.tools.store, slack, None, life.tools.now)
        await Monitoring(shop, life).says("firing")
        await life.run(asking)
        await shop.roll_out(GOOD)
        await shop.live(60)
        shop.clock.advance(LATER)
        incident = await life.run(ended)
        await teller.tell_all()
        assert incident.end is not None
        assert incident.end[0] is Reason.RESOLVED_BY_ITSELF
        assert "not repeated any more" in incident.end[1]
        assert not incident.writes
        assert any("Nobody repeats its alert since" in line for line in slack.lines)
        assert (await life.tools.store.audit()).ok


async def test_that_nobody_repeats_it_is_no_proof_that_it_is_over(shop: Shop, tmp_path: Path) -> None:
    patient(tmp_path)
    await shop.roll_out(BAD)
    await shop.live(30)
    async with rig(shop, tmp_path) as life:
        await Monitoring(shop, life).says("firing")
        first = await life.run(asking)
        shop.clock.advance(LATER)
        again = await life.run(lambda i: asking(i) and i.voids == 1)
        assert first.request is not None
        assert again.request is not None
        assert again.request.id != first.request.id
        kinds = [entry.event.kind for entry in await life.tools.store.entries(again.id)]
        assert kinds.count("lapsed") == 1


async def test_after_its_own_end_it_may_fire_again_and_is_asked_about_anew(shop: Shop, tmp_path: Path) -> None:
    """The input of the case: on and off all day, and the only word ever is firing."""
    patient(tmp_path)
    async with rig(shop, tmp_path) as life:
        await shop.roll_out(BAD)
        await shop.live(30)
        monitoring = Monitoring(shop, life)
        await monitoring.says("firing")
        await life.run(asking)
        await shop.roll_out(GOOD)
        await shop.live(60)
        shop.clock.advance(LATER)
        first = await life.run(ended)
        await shop.roll_out(BAD.replace("1.5.0", "1.5.1"))  # the same again would be somebody's undo
        await shop.live(30)
        await monitoring.says("firing")
        await life.run(lambda i: asking(i) and i.id != first.id)
        second = await newest(life)
        assert second.follows is not None
        assert (second.follows.incident, second.follows.ended) == (first.id, "SUPPRESSED")


async def test_what_health_does_not_show_ends_too_once_nobody_repeats_it(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await Monitoring(shop, life, ERRORS).says("firing")
        shop.clock.advance(LATER)
        incident = await life.run(ended)
        assert incident.end is not None
        assert incident.end[0] is Reason.RESOLVED_BY_ITSELF


@pytest.mark.parametrize("alert", ["errors", "asked"])
async def test_that_nobody_heard_it_while_the_daemon_was_down_is_no_silence(
    shop: Shop, tmp_path: Path, alert: str
) -> None:
    """What was sent meanwhile is still to be read: closed now, it would only be noted there, and nobody told."""
    await shop.roll_out(BAD if alert == "asked" else GOOD)
    await shop.live(30)
    async with rig(shop, tmp_path) as life:
        if alert == "asked":
            await Monitoring(shop, life).says("firing")
            await life.run(asking)
        else:
            await Monitoring(shop, life, ERRORS).says("firing")
    await shop.roll_out(GOOD)
    await shop.live(60)
    shop.clock.advance(LATER)
    async with rig(shop, tmp_path) as life:
        incident = await life.run(ended)
        assert incident.state is State.HANDED_OVER
        assert incident.lapsed_at is None


def test_it_lapses_once_and_not_while_something_of_it_is_repeated_or_silenced_or_a_person_asked_for_it() -> None:
    incident = an_incident_in(State.ASKING)
    late = NOW + TOLD + timedelta(seconds=1)
    assert lapsed(incident, NOW + TOLD) is None
    assert lapsed(incident, late) == ev.Lapsed(since=NOW)
    repeat = an_alert("AnotherOne", seen_at=NOW + timedelta(hours=4))
    assert lapsed(incident.model_copy(update={"alerts": (*incident.alerts, repeat)}), late) is None
    for change in (
        {"resolved_seen_at": NOW + timedelta(hours=1)},
        {"silenced": ev.Silenced(until=NOW + timedelta(hours=1), detail="by alice")},
        {"follows": ev.Follows(incident="inc-0", ended="HANDED_OVER", how="retry")},
        {"lapsed_at": late, "resolved_seen_at": late},
    ):
        assert lapsed(incident.model_copy(update=change), late) is None


@pytest.mark.parametrize("status", ["firing", "resolved"])
def test_an_alert_that_comes_after_all_is_the_last_word_again(status: str) -> None:
    incident = an_incident_in(State.GATHERING).model_copy(update={"lapsed_at": NOW})
    attached = ev.AlertAttached(alert=an_alert(status=status), source=a_source(9))
    seq = incident.seq + 1
    entry = ev.Entry(incident="inc-1", seq=seq, at=NOW, actor="t", event=attached, previous=str(seq - 1), hash="x")
    assert (apply(incident, entry, cluster="prod").lapsed_at is None) is (status == "firing")
