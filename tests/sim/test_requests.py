"""The requests of the differential test, sent to the simulator alone: nothing of it needs a real server."""

from __future__ import annotations

from handrail.sim import Simulator
from tests.sim.asks import run
from tests.sim.clusters import simulated
from tests.sim.requests import SCRIPT
from tests.sim.requests.bodies import LOG, PREVIOUS_LOG


async def test_every_request_is_answered_with_its_status(simulator: Simulator) -> None:
    simulator.set_logs("registry.example", "\n".join(LOG), "\n".join(PREVIOUS_LOG))
    async with simulated(simulator) as send:
        replies = await run(SCRIPT, send, simulator.token)
    wrong = {ask.name: replies[ask.name] for ask in SCRIPT if replies[ask.name].status != ask.status}
    assert wrong == {}
    assert [name for name, reply in replies.items() if "never came true" in str(reply.body)] == []
