"""What a test in another process may read from FakeMessages and make it do: the same names as in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.fakes.control import Desk, Verb

if TYPE_CHECKING:
    from tests.fakes.messages.script import Request
    from tests.fakes.messages.server import FakeMessages

Json = dict[str, Any]


def desk(model: FakeMessages) -> Desk:
    def shown(request: Request) -> Json:
        return {"number": request.number, "headers": request.headers, "body": request.body}

    def requests(at_least: str = "0") -> list[Json]:
        """For `wait`: empty until so many have come."""
        return [shown(each) for each in model.requests] if len(model.requests) >= int(at_least) else []

    def state() -> Json:
        return {
            "requests": len(model.requests),
            "statuses": model.statuses,
            "unsaid": model.script.unsaid,
            "unscripted": len(model.unscripted),
            "impossible": model.impossible,
        }

    def script(lines: list[Json]) -> Json:
        """Several lines at once: each an object with one key, the verb, and its arguments."""
        for line in lines:
            for verb, given in line.items():
                says[verb](**given)
        return state()

    def always(said: Any) -> None:
        model.answer_with(None if said is None else lambda _: said)

    says: dict[str, Verb] = {
        "answer": model.answer,
        "truncate": model.truncate,
        "refuse": model.refuse,
        "overflow": model.overflow,
        "fail": model.fail,
        "rate_limit": model.rate_limit,
        "overload": model.overload,
        "garble": model.garble,
        "reset": model.reset,
        "hang": model.hang,
        "always": always,
    }
    reads: dict[str, Verb] = {"requests": requests, "state": state}
    return Desk(reads, {**says, "script": script}, model.bell)
