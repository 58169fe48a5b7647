"""The second channel: the webhook hears of loud changes once each, and of nothing else; it may be None."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import structlog

from handrail.adapters.telling.ways import LONG_AGO, Hook
from handrail.model.errors import Permanent, Transient

log = structlog.get_logger("telling")

REMEMBERED = 5_000
SHORTEST_WAIT = 30.0


class SecondChannel:
    """`now` is UTC. What was told is remembered as long as the process lives."""

    def __init__(self, hook: Hook | None, now: Callable[[], datetime]) -> None:
        self._hook = hook
        self._now = now
        self._told: OrderedDict[str, str] = OrderedDict()
        self._back = LONG_AGO

    @property
    def there(self) -> bool:
        return self._hook is not None

    async def tell(self, id_: str, change: str, payload: Callable[[], Mapping[str, Any]]) -> bool:
        """`change` names what happened, "" for nothing. True when there is nothing (left) to send."""
        if self._hook is None or not change or self._told.get(id_) == change:
            return True
        if self._now() < self._back:
            return False
        try:
            await self._hook.send(payload())
        except (Transient, Permanent) as error:
            wait = max(SHORTEST_WAIT, error.retry_after if isinstance(error, Transient) else 0.0)
            self._back = self._now() + timedelta(seconds=wait)
            log.error("the webhook was not told either", incident=id_, why=str(error))
            return False
        self._told[id_] = change
        while len(self._told) > REMEMBERED:
            self._told.popitem(last=False)
        return True
