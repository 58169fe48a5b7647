"""Being told: both channels away for long and back again, and an end that nobody would hear of."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from handrail.adapters.slack.desk import Posted
from handrail.adapters.telling import Teller
from handrail.cli.demo_alert import alert_as_otlp
from handrail.core.story import line
from handrail.model.errors import Permanent, Transient
from handrail.model.incident import State
from handrail.model.reason import Reason
from tests.breaks.worlds import alerted, lossy
from tests.reconciler.rig import GOOD, POLICY, Shop, asking, ended, rig


@dataclass
class Channel:
    """A Slack and a webhook in one; `away` raises what is in there."""

    away: Exception | None = None
    lines: list[str] = field(default_factory=list)
    cards: list[Any] = field(default_factory=list)
    payloads: list[dict[str, Any]] = field(default_factory=list)

    def _here(self) -> None:
        if self.away is not None:
            raise self.away

    async def show(self, card: Any, where: Posted | None) -> Posted:
        self._here()
        self.cards.append(card)
        return where or Posted(channel="C1", ts="1.0")

    async def say(self, where: Posted, line: str) -> None:
        self._here()
        self.lines.append(line)

    async def notice(self, text: str, where: Posted | None) -> None:
        self._here()
        self.lines.append(text)

    async def send(self, payload: Any) -> None:
        self._here()
        self.payloads.append(dict(payload))


@pytest.mark.parametrize("error", [Transient("away", retry_after=5.0), Permanent("channel_not_found")])
async def test_with_everything_away_for_hours_all_is_told_in_order_and_once(
    shop: Shop, tmp_path: Path, error: Exception
) -> None:
    async with rig(shop, tmp_path) as life:
        slack, hook = Channel(error), Channel(error)
        teller = Teller(life.tools.store, slack, hook, life.tools.now)
        await alerted(shop, life)
        await life.run(asking)
        await teller.tell_all()
        await life.run(ended, approve=True)
        await teller.tell_all()
        shop.clock.advance(3 * 3600)
        await teller.tell_all()
        slack.away = hook.away = None
        shop.clock.advance(120)
        for _ in range(3):
            await teller.tell_all()
        incident = await life.the_incident()
        told = [text for entry in await life.tools.store.entries(incident.id) if (text := line(entry)) is not None]
        assert slack.lines == told
        assert slack.cards[-1].state is State.RESOLVED


async def test_by_webhook_alone_a_question_that_goes_away_is_told_as_gone(shop: Shop, tmp_path: Path) -> None:
    """Somebody was paged with a question; when it resolves by itself, that has to reach the same place."""
    async with rig(shop, tmp_path) as life:
        hook = Channel()
        teller = Teller(life.tools.store, None, hook, life.tools.now)
        await alerted(shop, life)
        incident = await life.run(asking)
        await teller.tell_all()
        await shop.roll_out(GOOD)
        await shop.live(60)
        raw = _resolved(shop)
        await life.take(raw, offset=7)
        incident = await life.run(ended)
        assert incident.state is State.SUPPRESSED, incident.end
        await teller.tell_all()
        assert [told["state"] for told in hook.payloads] == ["asking", "SUPPRESSED"]


def _resolved(shop: Shop) -> bytes:
    request = ExportLogsServiceRequest.FromString(alert_as_otlp(int(shop.clock.now().timestamp() * 1e9)))
    record = request.resource_logs[0].scope_logs[0].log_records[0]
    record.event_name = "alert.resolved"
    for attribute in record.attributes:
        if attribute.key == "alert.state":
            attribute.value.string_value = "resolved"
    return request.SerializeToString()


async def test_a_policy_that_forbids_it_since_the_approval_writes_nothing(shop: Shop, tmp_path: Path) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        assert (await life.answer("approve")).ok
        (tmp_path / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "rules": []}))
        incident = await lossy(life, applied).run(ended)
        assert incident.end is not None
        assert incident.end[0] is Reason.NOT_ALLOWED
        assert applied == []
