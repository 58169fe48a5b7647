"""The main path from end to end on real servers: SDK, Collector, Kafka, the daemon, the API server, Slack."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path

import pytest

from tests.fakes.messages import FakeMessages
from tests.fakes.slack import FakeSlack
from tests.path.model import sensible
from tests.path.opening import Opening, asked_anew, cards, has_buttons, tells, thread_of
from tests.path.stage import BAD, GOOD, ONCALL, Daemon, Shop, until

pytestmark = pytest.mark.server

CRASHING_SECONDS = 60
SHORTER = 15
"""The first story waits as long as an alert does in earnest; the others only need pods that crash."""
PATCHED = [("patch", "deployments", "checkout")]
ASKED = ("Opened for the alert KubePodCrashLooping about Pod ", "Looked at ", "Planned by ", f"Asked <@{ONCALL}>")
DONE = (
    f"<@{ONCALL}> approved exactly what the card shows.",
    "Doing now: put the pod template of Deployment ",
    "Step 1 is done: ",
    "Every step is done; watching whether it heals.",
    "It healed ",
)


async def test_an_alert_becomes_an_approved_undo_that_heals(
    opening: Opening, daemon: Daemon, shop: Shop, slack: FakeSlack
) -> None:
    card = await opening.until_asked(CRASHING_SECONDS)
    assert daemon.applied() == [], "nothing is written before somebody has approved"
    assert shop.image() == BAD
    assert await slack.click(card.ts, "approve", user=ONCALL)

    shown = await daemon.until_state("RESOLVED", 120)
    assert shop.image() == GOOD
    await until(shop.ready, 30, "three ready pods of the old revision")
    assert not [pod for pod in shop.pods() if "crash" in pod["spec"]["containers"][0]["image"]]

    applied = daemon.applied()
    assert [(w.verb, w.resource, w.name) for w in applied] == PATCHED
    assert "handrail" in applied[0].uri, "its field manager is named"

    kinds = [entry["kind"] for entry in shown["journal"]]
    assert kinds.index("approved") < kinds.index("intent") < kinds.index("outcome") < kinds.index("verified")
    await daemon.cli("audit", "verify")
    report = await daemon.cli("incidents", "report", shown["incident"])
    assert ONCALL in report
    tells(await thread_of(slack, "It healed"), *ASKED, *DONE)
    (final,) = cards(slack)
    assert final.ts == card.ts, "one message, updated in place"
    assert not has_buttons(final), "no button is left on an answered card"
    assert "Resolved at " in final.everything()
    assert f"<@{ONCALL}>" in final.everything(), "who approved stands on the card"
    assert [has_buttons(version) for version in final.versions()].count(True) >= 1
    assert await daemon.stop() == 0


async def test_a_spec_changed_before_the_click_voids_writes_nothing_and_asks_anew(
    opening: Opening, daemon: Daemon, shop: Shop, slack: FakeSlack
) -> None:
    card = await opening.until_asked(SHORTER)
    first, asked_first = copy.deepcopy(card.blocks), len(card.edits)
    await asyncio.to_thread(shop.change_spec)
    assert await slack.click(card.ts, "approve", user=ONCALL)

    await asked_anew(slack, first)
    shown = await daemon.until_state("asking", 30)
    assert "voided" in [told["kind"] for told in shown["story"]]
    assert daemon.applied() == []
    assert shop.image() == BAD

    assert await slack.click(card.ts, "approve", user=ONCALL, version=asked_first)
    await slack.wait_for(lambda: slack.ephemerals(ONCALL), 60)
    assert (await daemon.incident())["card"]["state"] == "asking", "the old card's button is worth nothing"
    assert daemon.applied() == []

    assert await slack.click(card.ts, "approve", user=ONCALL)
    await daemon.until_state("RESOLVED", 120)
    assert [(w.verb, w.resource, w.name) for w in daemon.applied()] == PATCHED
    assert shop.image() == GOOD
    assert shop.deployment()["spec"]["progressDeadlineSeconds"] == 25, "what somebody else changed stays changed"
    approved, void = DONE[0], "Void, nothing of it was written; looking and asking anew: "
    tells(await thread_of(slack, "It healed"), *ASKED, approved, void, *ASKED[1:], *DONE)
    assert [message.ts for message in cards(slack)] == [card.ts]
    assert await daemon.stop() == 0


async def test_with_a_model_and_a_kill_right_after_approval_there_is_one_undo_and_one_request(
    opening: Opening, daemon: Daemon, shop: Shop, slack: FakeSlack, tmp_path: Path
) -> None:
    async with FakeMessages() as model:
        (tmp_path / "key").write_text(model.api_key)
        model.answer_with(sensible)
        daemon.settings["planner"] = {
            "mode": "model",
            "model": {"key": {"file": str(tmp_path / "key")}, "base_url": model.url},
        }
        card = await opening.until_asked(SHORTER)
        assert await slack.click(card.ts, "approve", user=ONCALL)
        await daemon.until_journalled("approved", 60)
        await daemon.kill()
        await daemon.start()

        await daemon.until_state("RESOLVED", 120)
        assert shop.image() == GOOD
        assert [(w.verb, w.resource, w.name) for w in daemon.applied()] == PATCHED
        assert len(model.requests) == 1
        assert [message.ts for message in cards(slack)] == [card.ts]
        assert await daemon.stop() == 0
