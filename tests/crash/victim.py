"""`handrail run`, by somebody who ends it at one chosen moment. The product has no hook for this: it is wrapped here.
It also waits less for a rollout or a symptom that does not come, or a repair that makes things worse would take
minutes each time.

The orders are a JSON file that CRASH_ORDERS names: `{"do": "kill" | "freeze", "at": MOMENT, "number": 3, "kind":
"intent"}`; MOMENT is "commit", "sent", "answered" or "published". They count from the moment that the file is there,
are carried out once, and are gone then. `number` 0 means any, `kind` "" means any. Each commit that a journal grew by
is told in the file beside it.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from handrail.adapters.claude import Claude
from handrail.adapters.kafka import EventTopic
from handrail.adapters.kubernetes import KubernetesHands
from handrail.adapters.store.database import Database, Tx
from handrail.cli import main
from handrail.effects import gather
from handrail.model import rollout

P = ParamSpec("P")
T = TypeVar("T")


class Orders:
    """What is to be done, and when."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._told = path.with_suffix(".told")
        self._passed = 0

    def pass_by(self, at: str, kinds: tuple[str, ...] = ()) -> None:
        """Called at each moment that something could happen at; may not return."""
        try:
            orders = json.loads(self._path.read_text())
        except FileNotFoundError:
            self._passed = 0
            return
        if orders["at"] == at:
            self._passed += 1
        with self._told.open("a") as told:
            told.write(json.dumps({"at": at, "kinds": kinds}) + "\n")
        if orders["at"] == at and self._is_it(orders, kinds):
            self._path.unlink()
            os.kill(os.getpid(), signal.SIGKILL if orders["do"] == "kill" else signal.SIGSTOP)
            self._passed = 0  # woken: the next orders count anew

    def _is_it(self, orders: dict[str, Any], kinds: tuple[str, ...]) -> bool:
        if orders.get("kind"):
            return orders["kind"] in kinds
        return bool(orders["number"] == self._passed)


def after(work: Callable[P, Awaitable[T]], orders: Orders, at: str) -> Callable[P, Awaitable[T]]:
    async def done(*given: P.args, **named: P.kwargs) -> T:
        found = await work(*given, **named)
        orders.pass_by(at)
        return found

    return done


def wrap(orders: Orders) -> None:
    """Right after the commit, before anybody learns of it; between an answer and its commit."""
    rollout.LEAST = gather.SYMPTOM_PATIENCE = timedelta(seconds=20)
    database: Any = Database
    hands: Any = KubernetesHands
    model: Any = Claude
    topic: Any = EventTopic
    keep = Database._keep

    def kept(this: Database, tx: Tx) -> None:
        if tx.grown:
            kinds = tuple(step.event.kind for step in tx.committed)
            orders.pass_by("commit", kinds or ("taken in",))
        keep(this, tx)

    database._keep = kept
    hands.send = after(KubernetesHands.send, orders, "sent")
    model.call = after(Claude.call, orders, "answered")
    topic.send = after(EventTopic.send, orders, "published")


if __name__ == "__main__":
    wrap(Orders(Path(os.environ["CRASH_ORDERS"])))
    main()
