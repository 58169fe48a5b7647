"""Whatever hangs outside, alerts from a real broker are durable before its answer: the order of events says so."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.kafka import KafkaIntake
from handrail.adapters.telling import Teller
from handrail.cli.demo_alert import alert_as_otlp
from handrail.effects.tools import Tools
from handrail.loop import Reconciler
from handrail.model import events as ev
from handrail.model.config import KafkaConfig, PlannerConfig, PlannerMode
from handrail.model.record import Record, Undecoded
from handrail.reconciler import contained, on_records
from tests.kafka.room import an_alert
from tests.kafka.support import config, fresh, make_intake_topics, send, until_committed
from tests.reconciler.rig import BAD, Shop, rig
from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.server
LATER = 10


class Hangs:
    """Something outside: whatever it is asked, it never answers. `asked` says that it was."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answered = False

    def __getattr__(self, name: str) -> Any:
        async def never(*_args: Any, **_options: Any) -> Any:
            self.asked.set()
            await asyncio.Event().wait()
            self.answered = True

        return never


def api_server(tools: Tools, hangs: Any) -> tuple[Tools, Teller | None]:
    return replace(tools, gatherer=hangs, eyes=hangs, hands=hangs), None


def model(tools: Tools, hangs: Any) -> tuple[Tools, Teller | None]:
    return replace(tools, model=hangs), None


def slack(tools: Tools, hangs: Any) -> tuple[Tools, Teller | None]:
    return tools, Teller(tools.store, hangs, None, tools.now, contained)


Outside = Callable[[Tools, Any], tuple[Tools, Teller | None]]


@asynccontextmanager
async def beside(*work: Awaitable[None]) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        yield
        assert not any(task.done() for task in tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@pytest.mark.parametrize("outside", [api_server, model, slack])
async def test_what_hangs_outside_never_holds_up_the_intake(
    shop: Shop, tmp_path: Path, kafka_server: KafkaServer, outside: Outside
) -> None:
    topic, hangs = fresh("alerts"), Hangs()
    await make_intake_topics(kafka_server.bootstrap, topic)
    await shop.roll_out(BAD)
    await shop.live(30)
    settings = config(kafka_server.bootstrap, topic)
    async with rig(shop, tmp_path, planner=PlannerConfig(mode=PlannerMode.MODEL)) as life:
        tools, teller = outside(life.tools, hangs)
        daemon = [Reconciler(tools).run(), *([teller.run()] if teller else [])]
        one = intake(tools, settings)
        async with beside(one.run(), *daemon):
            now = shop.clock.now().timestamp()
            await send(kafka_server.bootstrap, topic, [alert_as_otlp(int(now * 1e9))], timestamp_ms=int(now * 1000))
            async with asyncio.timeout(60):
                while not hangs.asked.is_set():
                    await shop.live(0.5)
                    await asyncio.sleep(0.05)
            alerts = [an_alert(f"w{number}") for number in range(LATER)]
            await send(kafka_server.bootstrap, topic, alerts, timestamp_ms=int(now * 1000))
            await until_committed(kafka_server.bootstrap, settings.group, topic, 1 + LATER)
            assert not hangs.answered
            ids = {row.id for row in await tools.store.rows(100)}
            assert len(ids) == 1 + LATER
            for id_ in ids:
                assert isinstance((await tools.store.entries(id_))[0].event, ev.Opened)
            assert not one.pulse.paused


def intake(tools: Tools, settings: KafkaConfig) -> KafkaIntake:
    async def take(records: Sequence[Record]) -> Sequence[tuple[Record, Undecoded]]:
        return await on_records(tools, records)

    return KafkaIntake(settings, take, time.monotonic)
