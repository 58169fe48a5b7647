"""Who is told of what, and when: Slack first, the webhook when Slack fails, nothing left out, little twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from handrail.adapters.slack import SlackDesk
from handrail.adapters.store import IncidentRow, Store, Telling
from handrail.adapters.telling import Teller
from handrail.adapters.webhook import Webhook
from handrail.core import storm
from handrail.core.story import line
from handrail.model import events as ev
from handrail.model.condition import Condition
from handrail.model.errors import Transient, UnknownEvent
from handrail.model.incident import Incident, State
from handrail.model.policy import StormLimit
from handrail.model.reason import Reason
from tests.card import journals as j
from tests.factories import CLUSTER, FakeTime, an_alert, story_to
from tests.fakes.slack import FakeSlack
from tests.fakes.webhook import FakeWebhook
from tests.slack.conftest import CHANNEL
from tests.store.driving import arrive, drive, newest
from tests.store.places import migrated


class Journals:
    """A store of journals in memory, with a cursor for each."""

    def __init__(self) -> None:
        self.events: dict[str, tuple[ev.Event, ...]] = {}
        self.cursors: dict[str, Telling] = {}
        self.unreadable: set[str] = set()
        self.damaged: dict[str, str] = {}
        self.away = 0

    def grow(self, events: Sequence[ev.Event], id_: str = j.ID) -> None:
        self.events[id_] = tuple(events)

    async def untold(self) -> tuple[str, ...]:
        if self.away:
            self.away -= 1
            raise Transient("the store is away", retry_after=0.01)
        told = {id_: (await self.telling(id_)).told_seq for id_ in self.events}
        return tuple(id_ for id_, events in self.events.items() if len(events) > told[id_])

    def unfit(self) -> dict[str, str]:
        return self.damaged

    async def row(self, id_: str) -> IncidentRow | None:
        shown = j.incident(self.events[id_])
        return IncidentRow(
            id=id_,
            cluster=shown.cluster,
            state=str(shown.state),
            title=shown.alert.name,
            target=str(shown.target or ""),
            opened_at=shown.opened_at,
            moved_at=shown.moved_at,
            ended_at=None,
            head=len(self.events[id_]),
        )

    async def incident(self, id_: str) -> Incident | None:
        return j.incident(self.events[id_]).model_copy(update={"id": id_})

    async def entries(self, id_: str) -> tuple[ev.Entry, ...]:
        if id_ in self.unreadable:
            raise UnknownEvent("of a newer build")
        return j.entries(self.events[id_])

    async def telling(self, id_: str) -> Telling:
        return self.cursors.get(id_, Telling())

    async def save_telling(self, id_: str, telling: Telling) -> None:
        self.cursors[id_] = telling

    async def wait_changed(self, timeout: float) -> bool:
        await asyncio.sleep(0.01)
        return True


class Clock:
    def __init__(self) -> None:
        self.now = j.T0

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


async def _at_once(_seconds: float) -> None:
    return None


@pytest.fixture
def store() -> Journals:
    return Journals()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def hook() -> AsyncIterator[FakeWebhook]:
    async with FakeWebhook() as fake:
        yield fake


@pytest.fixture
def teller(store: Journals, desk: SlackDesk, hook: FakeWebhook, clock: Clock) -> Teller:
    return Teller(store, desk, Webhook(lambda: f"{hook.url}/hook", _at_once), clock)


def told(events: Sequence[ev.Event]) -> list[str]:
    return [said for entry in j.entries(events) if (said := line(entry))]


def said(slack: FakeSlack) -> list[str]:
    (card,) = slack.messages(CHANNEL)[:1]
    return [message.text for message in slack.thread(card.ts)[1:]]


async def test_one_card_follows_the_incident_and_the_thread_tells_its_story_in_order(
    store: Journals, teller: Teller, slack: FakeSlack
) -> None:
    for events in (j.LOOKING, j.ASKED, j.APPROVED, j.HEALED):
        store.grow(events)
        await teller.tell_all()
    cards = [message for message in slack.messages(CHANNEL) if not message.is_reply]
    assert len(cards) == 1
    assert "RESOLVED" in cards[0].everything()
    assert len(said(slack)) == len(told(j.HEALED))
    assert said(slack)[-2:] == told(j.HEALED)[-2:]
    assert "<@U0ONCALL> approved exactly what the card shows." in said(slack)
    assert slack.warnings == []
    assert await store.untold() == ()


async def test_alerts_that_merge_into_one_incident_are_one_card(
    store: Journals, teller: Teller, slack: FakeSlack
) -> None:
    merged = ev.Suppressed(reason=Reason.MERGED, detail="same target", into=j.ID)
    for number in range(20):
        store.grow(j.LOOKING[:2], f"inc-{number}")
    store.grow(j.ASKED)
    await teller.tell_all()
    for number in range(20):
        store.grow((*j.LOOKING[:2], merged), f"inc-{number}")
    await teller.tell_all()
    assert len([message for message in slack.messages(CHANNEL) if not message.is_reply]) == 1
    assert await store.untold() == ()


async def test_an_incident_whose_object_stays_unknown_has_its_card_after_three_minutes(
    store: Journals, teller: Teller, slack: FakeSlack, clock: Clock
) -> None:
    store.grow(j.LOOKING[:2])
    await teller.tell_all()
    assert slack.messages(CHANNEL) == []
    clock.forward(181)
    await teller.tell_all()
    assert len(said(slack)) == 1


async def test_a_card_that_has_not_changed_is_not_sent_again(store: Journals, teller: Teller, slack: FakeSlack) -> None:
    store.grow(j.ASKED)
    await teller.tell_all()
    store.grow((*j.ASKED, ev.Noted(text="look at the node too")))
    await teller.tell_all()
    assert slack.called("chat.update") == []
    assert said(slack)[-1] == "Note by handrail: look at the node too"


async def test_after_a_restart_it_goes_on_in_the_same_thread(
    store: Journals, desk: SlackDesk, slack: FakeSlack, clock: Clock
) -> None:
    store.grow(j.ASKED)
    await Teller(store, desk, None, clock).tell_all()
    store.grow(j.APPROVED)
    await Teller(store, desk, None, clock).tell_all()
    assert len([message for message in slack.messages(CHANNEL) if not message.is_reply]) == 1
    assert len(said(slack)) == len(told(j.APPROVED))


async def test_a_line_that_fails_half_way_is_where_it_goes_on(
    store: Journals, teller: Teller, slack: FakeSlack, clock: Clock
) -> None:
    store.grow(j.LOOKING)
    await teller.tell_all()
    store.grow(j.ASKED)
    slack.fail("chat.postMessage", "internal_error")
    await teller.tell_all()
    clock.forward(6)
    await teller.tell_all()
    assert len(said(slack)) == len(told(j.ASKED))
    assert len(set(said(slack))) == len(said(slack))


async def test_a_rate_limit_is_waited_out_without_asking_again(
    store: Journals, teller: Teller, slack: FakeSlack, clock: Clock, hook: FakeWebhook
) -> None:
    store.grow(j.ASKED)
    store.grow(j.ASKED, "inc-other")
    slack.rate_limit("chat.postMessage", retry_after=20)
    await teller.tell_all()
    clock.forward(19)
    await teller.tell_all()
    assert len(slack.calls) == 1
    clock.forward(2)
    await teller.tell_all()
    assert await store.untold() == ()
    assert hook.posts == []


async def test_slack_down_for_more_than_thirty_seconds_tells_the_webhook_once_and_slack_catches_up(
    store: Journals, teller: Teller, slack: FakeSlack, clock: Clock, hook: FakeWebhook
) -> None:
    store.grow(j.ASKED)
    slack.fail("*", "service_unavailable", 503, times=100)
    for _ in range(10):
        await teller.tell_all()
        clock.forward(6)
    (post,) = hook.accepted
    assert post.body["incident"] == j.ID
    assert post.body["state"] == "asking"
    assert "handrail approve" in post.body["next_action"]
    assert "report" not in post.body
    store.grow((*j.ASKED, ev.Rejected(request="req-1", by=j.ONA)))
    await teller.tell_all()
    assert [p.body["state"] for p in hook.accepted] == ["asking", "HANDED_OVER"]
    assert "# KubeDeploymentRolloutStuck" in hook.accepted[-1].body["report"]
    slack.clear_faults()
    clock.forward(6)
    await teller.tell_all()
    assert "HANDED_OVER" in slack.messages(CHANNEL)[0].everything()
    assert len(said(slack)) == len(told(store.events[j.ID]))
    assert len(hook.accepted) == 2


async def test_slack_saying_no_tells_the_webhook_at_once(
    store: Journals, teller: Teller, slack: FakeSlack, clock: Clock, hook: FakeWebhook
) -> None:
    slack.state.workspace.channels[CHANNEL].archived = True
    store.grow(j.ASKED)
    await teller.tell_all()
    assert [post.body["state"] for post in hook.accepted] == ["asking"]
    await teller.tell_all()
    assert len(slack.calls) == 1
    slack.state.workspace.channels[CHANNEL].archived = False
    clock.forward(61)
    await teller.tell_all()
    assert await store.untold() == ()


async def test_quiet_states_are_never_told_by_the_webhook(store: Journals, clock: Clock, hook: FakeWebhook) -> None:
    only_hook = Teller(store, None, Webhook(lambda: hook.url, _at_once), clock)
    for events in (j.LOOKING, j.PLANNED, j.REHEARSED, j.ASKED, j.APPROVED, j.WROTE, j.VERIFYING, j.HEALED):
        store.grow(events)
        await only_hook.tell_all()
        await only_hook.tell_all()
    assert [post.body["state"] for post in hook.accepted] == ["asking", "RESOLVED"]
    assert await store.untold() == ()


async def test_without_slack_a_repeated_alert_is_no_news_also_after_a_restart(
    store: Journals, clock: Clock, hook: FakeWebhook
) -> None:
    store.grow(j.ASKED)
    await Teller(store, None, Webhook(lambda: hook.url, _at_once), clock).tell_all()
    store.grow((*j.ASKED, ev.AlertAttached(alert=j.alert(), source=j.SOURCE)))
    await Teller(store, None, Webhook(lambda: hook.url, _at_once), clock).tell_all()
    assert len(hook.accepted) == 1
    assert await store.untold() == ()


async def test_being_stuck_is_told(store: Journals, clock: Clock, hook: FakeWebhook) -> None:
    stuck = (*j.APPROVED, ev.StepBegun(step=0, before={}), j.intent(), j.outcome(ev.Result.STUCK))
    store.grow(stuck)
    only_hook = Teller(store, None, Webhook(lambda: hook.url, _at_once), clock)
    await only_hook.tell_all()
    store.grow((*stuck, j.handed_over(Reason.OUTCOME_UNCLEAR, "nobody knows")))
    await only_hook.tell_all()
    assert [post.body["state"] for post in hook.accepted] == ["executing", "HANDED_OVER"]


async def test_a_webhook_that_fails_is_tried_again_later_and_the_cursor_waits(
    store: Journals, clock: Clock, hook: FakeWebhook
) -> None:
    store.grow(j.ASKED)
    only_hook = Teller(store, None, Webhook(lambda: hook.url, _at_once), clock)
    hook.fail(500, times=3)
    await only_hook.tell_all()
    await only_hook.tell_all()
    assert len(hook.posts) == 3
    assert await store.untold() == (j.ID,)
    clock.forward(31)
    await only_hook.tell_all()
    assert len(hook.accepted) == 1
    assert await store.untold() == ()


async def test_with_neither_slack_nor_webhook_the_cursor_moves_on(store: Journals, clock: Clock) -> None:
    store.grow(j.ASKED)
    await Teller(store, None, None, clock).tell_all()
    assert await store.untold() == ()


async def test_an_incident_of_a_newer_build_does_not_silence_the_others(
    store: Journals, teller: Teller, slack: FakeSlack
) -> None:
    store.grow(j.ASKED, "inc-newer")
    store.grow(j.ASKED)
    store.unreadable.add("inc-newer")
    await teller.tell_all()
    assert await store.untold() == ("inc-newer",)
    plain, card = [message for message in slack.messages(CHANNEL) if not message.is_reply]
    assert (plain.blocks, "UnknownEvent: of a newer build" in plain.text) == ([], True)
    assert j.ID in card.everything()


async def test_a_store_that_is_away_is_waited_for(store: Journals, teller: Teller, slack: FakeSlack) -> None:
    store.grow(j.HEALED)
    store.away = 2
    task = asyncio.create_task(teller.run())
    try:
        await slack.wait_for(lambda: len(slack.messages(CHANNEL)) == 1 + len(told(j.HEALED)))
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_with_the_real_store_a_story_is_told_once_from_alert_to_end(
    tmp_path: Path, desk: SlackDesk, slack: FakeSlack
) -> None:
    time = FakeTime()
    real = await Store.open(f"sqlite:///{migrated(tmp_path / 'handrail.db')}", cluster=CLUSTER, clock=time)
    try:
        teller = Teller(real, desk, None, time)
        id_ = await arrive(real, an_alert())
        await teller.tell_all()
        incident = await newest(real, id_)
        await drive(real, incident, story_to(State.RESOLVED, id_))
        await teller.tell_all()
        await teller.tell_all()
        assert await real.untold() == ()
        lines = [told for entry in await real.entries(id_) if (told := line(entry))]
    finally:
        await real.close()
    (card, *thread) = slack.messages(CHANNEL)
    assert "RESOLVED" in card.everything()
    assert len(thread) == len(lines)
    assert slack.warnings == []


def a_page(over: bool) -> tuple[ev.Event, ...]:
    """Of a storm that began at T0."""
    limit, end = StormLimit(), j.T0 + timedelta(minutes=9)
    stands = Condition(identity="page", reason=Reason.STORM, what="alerts of 25 objects", since=j.T0, until=end)
    alert = storm.alert(stands, CLUSTER)
    opened = ev.Opened(
        alert=alert, source=j.SOURCE, target=None, findings=(storm.finding(stands),), identity="page", episode="e"
    )
    seen = storm.Seen(count=storm.Count(owners=25, newest=j.T0), alerts=40)
    told = (opened, storm.counted(seen, stands, limit, 25))
    return (*told, storm.over(j.incident(told), end)) if over else told


async def test_the_page_of_a_storm_that_slack_slept_through_is_told_when_it_is_back_and_to_the_webhook_meanwhile(
    store: Journals, teller: Teller, slack: FakeSlack, clock: Clock, hook: FakeWebhook
) -> None:
    slack.fail("*", "service_unavailable", 503, times=100)
    for over in (False, True):
        store.grow(a_page(over))
        for _ in range(10):
            await teller.tell_all()
            clock.forward(6)
    assert [post.body["state"] for post in hook.accepted] == ["opened", "SUPPRESSED"]
    assert "`handrail incidents retry ID --reason TEXT`" in hook.accepted[0].body["next_action"]
    slack.clear_faults()
    clock.forward(6)
    await teller.tell_all()
    (card,) = [message for message in slack.messages(CHANNEL) if not message.is_reply]
    ends = "the storm is over since 12:09:00 UTC; 40 alerts about 25 objects since 11:55:00 UTC; 25 waited"
    assert ends in card.everything()
    assert [line for line in said(slack) if ends.removeprefix("the") in line]
    assert await store.untold() == ()
    assert slack.warnings == []


async def test_without_slack_the_webhook_hears_each_time_that_a_storm_still_goes_on_and_nothing_between(
    store: Journals, clock: Clock, hook: FakeWebhook
) -> None:
    only_hook = Teller(store, None, Webhook(lambda: hook.url, _at_once), clock)
    opened, counted = a_page(over=False)
    still = ev.Noted(text="the storm still goes on after 30 min; 25 incidents wait for its end")
    for more in ((), (counted,), (counted, still), (counted, still, counted), (counted, still, counted, still)):
        store.grow((opened, counted, *more))
        await only_hook.tell_all()
        clock.forward(60)
    assert [post.body["state"] for post in hook.accepted] == ["opened"] * 3
    assert "25 incidents wait" in hook.accepted[-1].body["status"]
