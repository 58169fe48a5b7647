"""What a test in another process may read from FakeSlack and make it do: the same names as in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.fakes.control import Desk, Verb
from tests.fakes.slack.sockets import Delivery

if TYPE_CHECKING:
    from tests.fakes.slack.server import FakeSlack

Json = dict[str, Any]


def desk(slack: FakeSlack) -> Desk:
    def delivered(delivery: Delivery) -> Json:
        return {**vars(delivery), "acked": bool(delivery)}

    async def click(**given: Any) -> Json:
        return delivered(await slack.click(**given))

    async def slash(**given: Any) -> Json:
        return delivered(await slack.slash(**given))

    async def submit(**given: Any) -> Json:
        return delivered(await slack.submit(**given))

    async def event(**given: Any) -> Json:
        return delivered(await slack.event(**given))

    def state() -> Json:
        return {
            "connections": len(slack.sockets.live),
            "refused_sockets": slack.sockets.refused,
            "messages": len(slack.messages()),
            "calls": len(slack.calls),
            "warnings": slack.warnings,
            "unacked": slack.unacked,
        }

    def connected(connections: str = "1") -> bool:
        return len(slack.sockets.live) >= int(connections)

    def calls(method: str | None = None) -> Any:
        return slack.called(method) if method else slack.calls

    reads: dict[str, Verb] = {
        "state": state,
        "connected": connected,
        "calls": calls,
        "messages": slack.messages,
        "thread": slack.thread,
        "find": slack.find,
        "ephemerals": slack.ephemerals,
        "views": lambda: slack.views,
        "warnings": lambda: slack.warnings,
        "deliveries": lambda: slack.deliveries,
    }
    deeds: dict[str, Verb] = {
        "click": click,
        "slash": slash,
        "submit": submit,
        "event": event,
        "say": slack.say,
        "add_user": slack.add_user,
        "set_group": slack.set_group,
        "add_channel": slack.add_channel,
        "rate_limit": slack.rate_limit,
        "fail": slack.fail,
        "hang": slack.hang,
        "reset": slack.reset,
        "clear_faults": slack.clear_faults,
        "drop_sockets": slack.drop_sockets,
        "refuse_sockets": slack.refuse_sockets,
        "set_ghosts": slack.set_ghosts,
        "haunt": slack.haunt,
        "deafen": slack.deafen,
        "disconnect": slack.disconnect,
    }
    return Desk(reads, deeds, slack.bell)
