"""When a card can't be made: the one incident is told plainly, the others as always, and the daemon lives on."""

from __future__ import annotations

import asyncio

import pytest

from handrail.adapters.slack import SlackDesk
from handrail.adapters.slack.desk import Posted
from handrail.adapters.store import IncidentRow
from handrail.adapters.telling import Teller
from handrail.adapters.telling.plain import next_action, status
from handrail.adapters.webhook import Webhook
from handrail.model.card import Card
from handrail.reconciler import contained
from tests.card import journals as j
from tests.fakes.slack import FakeSlack
from tests.fakes.webhook import FakeWebhook
from tests.slack.conftest import CHANNEL
from tests.slack.test_telling import Clock, Journals, _at_once, clock, hook, store

__all__ = ["clock", "hook", "store"]

BROKEN = "inc-broken"


class Brittle:
    """A desk on which one incident's card can't be made, as by a fault of ours in rendering it."""

    def __init__(self, desk: SlackDesk) -> None:
        self.desk = desk
        self.mended = False

    async def show(self, card: Card, where: Posted | None) -> Posted:
        if card.incident == BROKEN and not self.mended:
            raise KeyError("spec")
        return await self.desk.show(card, where)

    async def say(self, where: Posted, line: str) -> None:
        await self.desk.say(where, line)

    async def notice(self, text: str, where: Posted | None) -> None:
        await self.desk.notice(text, where)


@pytest.fixture
def brittle(desk: SlackDesk) -> Brittle:
    return Brittle(desk)


@pytest.fixture
def teller(store: Journals, brittle: Brittle, hook: FakeWebhook, clock: Clock) -> Teller:
    return Teller(store, brittle, Webhook(lambda: f"{hook.url}/hook", _at_once), clock, contained)


def plain(slack: FakeSlack) -> list[str]:
    return [message.text for message in slack.messages(CHANNEL) if "can't be shown" in message.text]


async def test_a_card_that_cannot_be_made_costs_only_that_incidents_card(
    store: Journals, teller: Teller, slack: FakeSlack, clock: Clock
) -> None:
    store.grow(j.ASKED, BROKEN)
    store.grow(j.ASKED)
    await teller.tell_all()
    assert await store.untold() == (BROKEN,)
    (said,) = plain(slack)
    for word in (BROKEN, "asking", "KeyError", f"`handrail incidents show {BROKEN}`"):
        assert word in said
    clock.forward(61)
    await teller.tell_all()
    assert len(plain(slack)) == 1, "told once"
    store.grow(j.HEALED, BROKEN)
    clock.forward(61)
    await teller.tell_all()
    assert [word in plain(slack)[-1] for word in (BROKEN, "RESOLVED")] == [True, True]


async def test_once_it_is_mended_the_whole_story_is_told(
    store: Journals, teller: Teller, brittle: Brittle, slack: FakeSlack, clock: Clock
) -> None:
    store.grow(j.HEALED, BROKEN)
    await teller.tell_all()
    brittle.mended = True
    await teller.tell_all()
    assert await store.untold() == (BROKEN,), "not before its time: a fault must not fill the log"
    clock.forward(61)
    await teller.tell_all()
    assert await store.untold() == ()


async def test_without_slack_or_while_it_is_away_the_webhook_has_the_plain_words(
    store: Journals, teller: Teller, slack: FakeSlack, clock: Clock, hook: FakeWebhook
) -> None:
    store.grow(j.ASKED, BROKEN)
    slack.fail("*", "service_unavailable", 503, times=100)
    for _ in range(4):
        await teller.tell_all()
        clock.forward(61)
    (post,) = hook.accepted
    assert (post.body["incident"], post.body["state"]) == (BROKEN, "asking")
    assert "KeyError" in post.body["status"]
    assert post.body["next_action"] == next_action(await row(store))


async def test_a_damaged_journal_is_told_once_and_in_the_thread_of_its_card(
    store: Journals, teller: Teller, slack: FakeSlack, clock: Clock
) -> None:
    store.grow(j.ASKED)
    await teller.tell_all()
    store.damaged[j.ID] = f"the journal of {j.ID} is damaged at entry 3: its data is no JSON any more"
    for _ in range(3):
        await teller.tell_all()
        clock.forward(61)
    (said,) = plain(slack)
    assert "damaged at entry 3" in said
    (card,) = [message for message in slack.messages(CHANNEL) if not message.is_reply]
    assert said in [message.text for message in slack.thread(card.ts)]


async def test_a_damaged_journal_without_a_card_is_told_in_the_channel(
    store: Journals, teller: Teller, slack: FakeSlack
) -> None:
    store.grow(j.ASKED)
    store.unreadable.add(j.ID)
    store.damaged[j.ID] = "damaged"
    await teller.tell_all()
    assert len(plain(slack)) == 1


async def test_the_loop_lives_on_whatever_breaks_in_one_incident(
    store: Journals, teller: Teller, slack: FakeSlack
) -> None:
    store.grow(j.ASKED, BROKEN)
    task = asyncio.create_task(teller.run())
    try:
        await slack.wait_for(lambda: plain(slack), 60)
        store.grow(j.ASKED)
        await slack.wait_for(lambda: any(j.ID in message.everything() for message in slack.messages(CHANNEL)), 60)
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def row(store: Journals) -> IncidentRow:
    found = await store.row(BROKEN)
    assert found is not None
    return found


async def test_hostile_words_in_it_stay_words(store: Journals, desk: SlackDesk, slack: FakeSlack) -> None:
    store.grow(j.ASKED, BROKEN)
    hostile = "`<!channel> @here <https://evil|x>` ```\nfake line"
    shown = (await row(store)).model_copy(update={"title": hostile, "target": hostile})
    await desk.notice(f"{status(shown, hostile)} {next_action(shown)}", None)
    (message,) = slack.messages(CHANNEL)
    assert "<!channel>" not in message.text
    assert "<https" not in message.text
    assert "@here" not in message.text
    assert "\n" not in message.text
    assert f"`handrail incidents show {BROKEN}`" in message.text
    assert slack.warnings == []
