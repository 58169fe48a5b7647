"""A stop, a person who holds it, a daemon that was down for long: none is a reason to give up unseen."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from handrail.model.errors import Transient
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from tests.breaks.worlds import alerted, gloomy, lossy, pass_by
from tests.reconciler.rig import BAD, GOOD, Killed, Rig, Shop, ended, killed_after, rig

LONG = 45 * 60


async def in_state(life: Rig, state: State) -> Incident:
    return await life.run(lambda i: i.state is state, approve=True)


@pytest.mark.parametrize("state", [State.GATHERING, State.PLANNING, State.VERIFYING])
async def test_after_a_long_stop_it_goes_on_where_it_stood(shop: Shop, tmp_path: Path, state: State) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await in_state(life, state)
        await life.tools.store.set_switch(True, by="ops", why="release freeze")
        await life.run(lambda i: i.paused)
        shop.clock.advance(LONG)
        await life.tools.store.set_switch(False, by="ops", why="")
        incident = await life.run(ended, approve=True)
        assert incident.state is State.RESOLVED, incident.end
        assert await shop.image() == GOOD


async def test_given_back_after_a_long_time_it_goes_on_where_it_stood(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await in_state(life, State.VERIFYING)
        assert (await life.answer("take")).ok
        shop.clock.advance(LONG)
        assert (await life.answer("give_back")).ok
        incident = await life.run(ended)
        assert incident.state is State.RESOLVED, incident.end


@pytest.mark.parametrize("commits", [1, 3, 5, 9, 12])
async def test_a_daemon_that_was_down_for_long_looks_before_it_gives_up(
    shop: Shop, tmp_path: Path, commits: int
) -> None:
    """Whatever it was killed at: nothing is said to be away, or unclear, that was never asked."""
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        with suppress(Killed):
            await killed_after(lossy(life, applied), commits).run(ended, approve=True)
    shop.clock.advance(LONG)
    async with rig(shop, tmp_path) as life:
        incident = await lossy(life, applied).run(ended, approve=True)
        too_late = incident.end is not None and incident.end[0] in (Reason.RUN_EXPIRED, Reason.APPROVAL_EXPIRED)
        assert incident.state is State.RESOLVED or too_late, incident.end
        assert len(applied) == (0 if await shop.image() == BAD else 1)


@dataclass
class Away:
    """Any of our outside things, every call of which fails."""

    def __getattr__(self, name: str) -> Any:
        async def away(*args: Any, **options: Any) -> Any:
            raise Transient("connection refused by 10.0.0.1", retry_after=5.0)

        return away


STATES = [State.GATHERING, State.REHEARSING, State.EXECUTING, State.VERIFYING, State.UNDOING]


@pytest.mark.parametrize("state", STATES)
async def test_a_cluster_that_stays_away_ends_with_a_person_who_is_told_why(
    shop: Shop, tmp_path: Path, state: State
) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        dark = gloomy(life)
        await dark.run(lambda i: i.state is state, approve=True)
        away: Any = Away()
        steps: Any = {name: _Blind(step) for name, step in dark.tools.steps.items()}
        gone = Rig(replace(dark.tools, hands=away, gatherer=away, eyes=away, steps=steps), shop)
        incident = await pass_by(gone, ended, minutes=100)
        assert incident.state is State.HANDED_OVER
        assert incident.end is not None
        assert incident.end[0] in (Reason.SOURCE_AWAY, Reason.RUN_EXPIRED), incident.end
        assert "refused" in incident.end[1] or incident.end[0] is Reason.RUN_EXPIRED


class _Blind:
    def __init__(self, step: Any) -> None:
        self._step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)

    async def look(self, eyes: Any, target: Any) -> Any:
        raise Transient("connection refused by 10.0.0.1", retry_after=5.0)
