"""`handrail check`: proves each thing that the daemon leans on, side by side, each within ten seconds.

Decides nothing and changes nothing: no topic is made, no group joined, nothing posted, no running daemon's database
opened. What is wrong becomes a line that says what to do, never a traceback.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from handrail.adapters.http.server import listen_address
from handrail.adapters.settings import load_config
from handrail.check.lines import Line, fail, ok
from handrail.check.probes import configured, load
from handrail.model.errors import BadConfig, HandrailError

__all__ = ["Line", "check"]

SECONDS = 10.0
PROGRESS_SECONDS = 2.0


async def check(path: Path, progress: Callable[[str], None]) -> list[Line]:
    """In a fixed order. `progress` hears every two seconds what is still waited for."""
    try:
        config = load_config(path)
        listen_address(config.http.listen)
        if config.http.intake:
            listen_address(config.http.intake, "http.intake")
    except BadConfig as wrong:
        return [fail("config", line) for line in str(wrong).splitlines()]
    probes = configured(config)
    await asyncio.to_thread(load, probes)
    tasks = {name: asyncio.create_task(probe(config)) for name, probe in probes.items()}
    await _wait(tasks, progress)
    found = [line for name, task in tasks.items() for line in _lines(name, task)]
    return [ok("config", f"{path} is valid"), *found]


async def _wait(tasks: Mapping[str, asyncio.Task[list[Line]]], progress: Callable[[str], None]) -> None:
    loop = asyncio.get_running_loop()
    ends = loop.time() + SECONDS
    pending = set(tasks.values())
    while pending and (left := ends - loop.time()) > 0:
        _, pending = await asyncio.wait(pending, timeout=min(left, PROGRESS_SECONDS))
        waiting = [name for name, task in tasks.items() if task in pending]
        if waiting:
            progress(f"waiting for {', '.join(waiting)}")
    for task in pending:
        task.cancel()
    if pending:
        await asyncio.wait(pending, timeout=PROGRESS_SECONDS)


def _lines(name: str, task: asyncio.Task[list[Line]]) -> list[Line]:
    if task.cancelled() or not task.done():
        return [fail(name, f"no answer within {SECONDS:.0f} s; is it reachable from here?")]
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, HandrailError):
        return [fail(name, str(error))]
    return [fail(name, f"{type(error).__name__}: {str(error)[:300]}; this is a fault of the check itself: report it")]
