"""The plain message for an incident whose card can't be made: its journal is damaged, or rendering it broke.

Built from the projection alone, by nothing that can break on what an incident holds. Says which incident, its state,
and how to see it with the CLI; once for each loud state as long as the process lives, and again after a restart.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from handrail.adapters.slack.desk import Posted
from handrail.adapters.store import IncidentRow, Telling
from handrail.adapters.telling.second import REMEMBERED, SecondChannel
from handrail.adapters.telling.thread import slack_only
from handrail.adapters.telling.ways import Desk
from handrail.core.words import one_line
from handrail.model.incident import State

LONGEST_WHY = 300
_LOUD = frozenset({State.ASKING, State.HANDED_OVER, State.RESOLVED, State.SUPPRESSED})


class PlainWords:
    """`slack` and the second channel may each be missing."""

    def __init__(self, slack: Desk | None, second: SecondChannel) -> None:
        self._slack = slack
        self._second = second
        self._told: OrderedDict[str, str] = OrderedDict()

    def is_told(self, row: IncidentRow) -> bool:
        return self._told.get(row.id) == _change(row)

    async def tell(self, row: IncidentRow, telling: Telling, why: str) -> None:
        """Raises NotTold where Slack fails: then `by_webhook` is left."""
        if self._slack is None:
            await self.by_webhook(row, why)
            return
        where = Posted(channel=telling.channel, ts=telling.ts) if telling.ts else None
        await slack_only(self._slack.notice(f"{status(row, why)} {next_action(row)}", where))
        self._remember(row)

    async def by_webhook(self, row: IncidentRow, why: str) -> None:
        if await self._second.tell(row.id, f"plain/{_change(row)}", lambda: _payload(row, why)) and self._second.there:
            self._remember(row)

    def _remember(self, row: IncidentRow) -> None:
        self._told[row.id] = _change(row)
        while len(self._told) > REMEMBERED:
            self._told.popitem(last=False)


def status(row: IncidentRow, why: str) -> str:
    about = _words(f"{row.title}, {row.target}" if row.target else row.title, 200)
    return f"{row.id} ({about}) is {row.state}, and can't be shown as it should: {_words(why, LONGEST_WHY)}."


def _words(text: str, most: int) -> str:
    """On one line, without backticks: only our own commands stand in those."""
    return one_line(text.replace("`", "'"), most).rstrip(".")


def next_action(row: IncidentRow) -> str:
    return f"Look at it with `handrail incidents show {row.id}`; where that fails too, with `handrail audit verify`."


def _change(row: IncidentRow) -> str:
    """A state that nobody waits for is no news of its own."""
    return row.state if row.state in _LOUD else "under way"


def _payload(row: IncidentRow, why: str) -> dict[str, Any]:
    return {
        "incident": row.id,
        "state": row.state,
        "title": row.title,
        "target": row.target,
        "status": status(row, why),
        "next_action": next_action(row),
    }
