"""One list of requests, sent to the simulator and to a real API server: the answers must be equal.

Compared are the status code, of refusals the reason, whom they are about and the causes, of other answers the body
without what is random or timed, and how an object's version stands to the one it had before.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from handrail.sim import Simulator
from tests.servers.cluster import Cluster
from tests.sim import normal
from tests.sim.asks import Ask, Reply, run, versions
from tests.sim.clusters import real, simulated
from tests.sim.requests import SCRIPT
from tests.sim.requests.bodies import CONTAINER, LOG, NS, PREVIOUS_LOG

pytestmark = pytest.mark.server
Replies = dict[str, Reply]


@pytest.fixture(scope="module")
def answers(control_plane: Cluster) -> tuple[Replies, Replies]:
    """What the simulator and the real server have answered, by the names of the requests."""
    return asyncio.run(_ask_both(control_plane))


async def _ask_both(cluster: Cluster) -> tuple[Replies, Replies]:
    await asyncio.to_thread(cluster.set_logs, CONTAINER, LOG, PREVIOUS_LOG)
    try:
        async with Simulator() as simulator, simulated(simulator) as send:
            simulator.set_logs("registry.example", "\n".join(LOG), "\n".join(PREVIOUS_LOG))
            first, second = await asyncio.gather(
                run(SCRIPT, send, simulator.token),
                run(SCRIPT, real(cluster), cluster.api.token or ""),
            )
            return first, second
    finally:
        await asyncio.to_thread(cluster.api.call, "DELETE", f"/api/v1/namespaces/{NS}")


def shown(ask: Ask, reply: Reply) -> Any:
    """What of this answer is compared."""
    return normal.refusal(reply.body) if reply.status >= 400 else ask.shows(reply.body)


@pytest.mark.parametrize("ask", SCRIPT, ids=lambda ask: ask.name)
def test_the_simulator_answers_as_a_real_server_does(ask: Ask, answers: tuple[Replies, Replies]) -> None:
    simulator, server = (replies[ask.name] for replies in answers)
    assert server.status == ask.status, f"the list is wrong about the real server: {server.body}"
    assert simulator.status == server.status, f"the simulator: {simulator.body}\nthe real server: {server.body}"
    assert shown(ask, simulator) == shown(ask, server)


def test_versions_move_as_on_a_real_server(answers: tuple[Replies, Replies]) -> None:
    # Where only a part of the body is compared, controllers may be at work on the object.
    at_rest = {ask.name for ask in SCRIPT if ask.shows is normal.whole}
    simulator, server = (
        {name: how for name, how in versions(replies).items() if name in at_rest} for replies in answers
    )
    assert simulator == server
    assert simulator["a dry run of another image"] == "same"
