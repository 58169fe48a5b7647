"""The manifest and the page about Slack say what the code does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from handrail.adapters.slack import SlackDesk
from handrail.adapters.slack.commands import COMMAND
from handrail.core.card import card
from handrail.model.approval import Approvers
from handrail.model.config import SlackConfig, WebhookConfig
from tests.card import journals as j
from tests.fakes.slack import FakeSlack
from tests.slack.conftest import CHANNEL

DOCS = Path(__file__).parents[2] / "docs"


def manifest() -> Any:
    return yaml.safe_load((DOCS / "slack-app-manifest.yaml").read_text(encoding="utf-8"))


def examples(kind: str) -> list[Any]:
    text = (DOCS / "slack.md").read_text(encoding="utf-8")
    return [yaml.safe_load(part.split("```")[0]) for part in text.split(f"```{kind}\n")[1:]]


async def test_the_scopes_of_the_manifest_are_all_that_is_needed(slack: FakeSlack, desk: SlackDesk) -> None:
    slack.state.scopes = frozenset(manifest()["oauth_config"]["scopes"]["bot"])
    assert await desk.check() == []
    where = await desk.show(card(j.incident(j.ASKED), j.T0), None)
    await desk.show(card(j.incident(j.APPROVED), j.T0), where)
    await desk.say(where, "a line")
    await desk.whisper(CHANNEL, "U0ONCALL", "a word")
    assert all(call.ok for call in slack.calls)


def test_the_manifest_turns_on_socket_mode_buttons_and_the_one_command() -> None:
    settings = manifest()["settings"]
    assert settings["socket_mode_enabled"] is True
    assert settings["interactivity"]["is_enabled"] is True
    (command,) = manifest()["features"]["slash_commands"]
    assert command["command"] == COMMAND
    assert "commands" in manifest()["oauth_config"]["scopes"]["bot"]


def test_the_examples_of_the_page_are_sound_configuration() -> None:
    config, policy = examples("yaml")
    SlackConfig.model_validate(config["slack"])
    WebhookConfig.model_validate(config["webhook"])
    assert Approvers.model_validate(policy["approvers"]).slack_users
