"""/healthz fails only where a restart helps: when the intake's loop stands still, not when what it needs is away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp

from handrail.adapters.http import HttpServer, Who
from handrail.adapters.kafka import Pulse
from handrail.adapters.store import Store
from handrail.adapters.telemetry import Gauges
from handrail.model.config import HttpConfig
from tests.http.support import PlainDesk, Reviews
from tests.store.places import migrated


async def get(address: str, path: str) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.get(address + path) as answer:
        return answer.status, await answer.json()


async def test_a_loop_that_stands_still_is_dead_and_one_that_waits_is_not(tmp_path: Path) -> None:
    store = await Store.open(f"sqlite:///{migrated(tmp_path / 'handrail.db')}", cluster="c")
    pulse, now = Pulse(), 1000.0
    gauges = Gauges(store, pulse, lambda: now)
    http = HttpServer(HttpConfig(listen="127.0.0.1:0"), PlainDesk(), Who(Reviews()), gauges.ready, gauges.text)
    http.alive_unless(gauges.stuck)
    address = await http.start()
    try:
        assert await get(address, "/healthz") == (200, {"alive": True}), "not begun yet"
        pulse.turned, pulse.last_error = 1000.0, "no broker answers"
        pulse.paused, pulse.waits_for, pulse.lag = True, "the store is away", {"alerts/0": 4711}
        now = 1100.0
        assert (await get(address, "/healthz"))[0] == 200
        status, ready = await get(address, "/readyz")
        assert (status, ready["lag"], ready["kafka"]) == (503, {"alerts/0": 4711}, "no broker answers")
        await store.close()
        assert (await get(address, "/healthz"))[0] == 200, "nor does it need the store"
        now = 1121.0
        said = {"alive": False, "why": "the intake's loop has stood still for 121 s"}
        assert await get(address, "/healthz") == (503, said)
        pulse.turned = 1121.0
        assert (await get(address, "/healthz"))[0] == 200
    finally:
        await http.stop()
