"""docs/operations.md is true to the code: its commands exist, its metrics are served, its alerts are YAML."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest
import yaml

from handrail.adapters.kafka import Pulse
from handrail.adapters.store import Store
from handrail.adapters.telemetry import Gauges
from handrail.cli import cli
from handrail.model.incident import State
from handrail.model.reason import Reason
from tests.store.places import migrated

TEXT = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
COMMANDS = sorted(
    set(re.findall(r"handrail ((?:[a-z-]+ ?)+)", " ".join(re.findall(r"`[^`\n]+`|^    .+$", TEXT, re.M))))
)
METRICS = sorted(set(re.findall(r"handrail_[a-z_]+", TEXT)))


def known(words: list[str]) -> bool:
    """Whether the first words name a command, whatever follows."""
    group: click.Command | None = cli
    while isinstance(group, click.Group):
        if not words:
            return False
        group = group.get_command(click.Context(group), words.pop(0))
    return group is not None


SPOKEN = [words for words in COMMANDS if words.split()[0] in cli.list_commands(click.Context(cli))]


@pytest.mark.parametrize("words", SPOKEN)
def test_every_command_of_the_document_exists(words: str) -> None:
    assert known(words.split())


def test_the_document_speaks_of_the_commands_that_matter_at_night() -> None:
    spoken = {words.split()[0] for words in SPOKEN}
    assert {"stop", "start", "status", "approve", "reject", "take", "give-back", "check", "audit"} <= spoken


async def test_every_metric_of_the_document_is_served(tmp_path: Path) -> None:
    now = datetime(2026, 11, 1, tzinfo=UTC)
    store = await Store.open(f"sqlite:///{migrated(tmp_path / 'h.db')}", cluster="c", clock=lambda: now)
    try:
        pulse = Pulse(last_poll=0.0, lag={"alerts/0": 1})
        gauges = Gauges(store, pulse, lambda: 1.0)
        gauges.publisher = cast("Any", SimpleNamespace(behind=0, problem=""))
        served = (await gauges.text()).decode()
    finally:
        await store.close()
    assert METRICS
    typed = set(re.findall(r"^# TYPE (\S+) (?:gauge|counter|histogram)$", served, re.M))
    assert sorted(set(METRICS) - typed) == []


def test_the_alerts_are_rules_of_prometheus() -> None:
    (block,) = re.findall(r"```yaml\n(.+?)```", TEXT, re.S)
    (group,) = yaml.safe_load(block)["groups"]
    assert all(set(rule) <= {"alert", "expr", "for"} and rule["expr"] for rule in group["rules"])
    assert set(re.findall(r'state="([A-Za-z_]+)"', block)) <= {state.value for state in State}


def test_every_reason_of_the_document_is_one() -> None:
    named = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", TEXT)) - {"HANDRAIL_TOKEN"}
    assert named <= {reason.value for reason in Reason}
