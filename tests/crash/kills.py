"""SIGKILL after each journal commit of the main path and of the undo paths, and between an act and its outcome.

One scene tries one moment of each path: the daemon dies on the way to the repair and again on the way back, which a
person has asked for. The other way back is the daemon's own, where its repair made things worse.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.crash.oracle import Expected, Verdict, judged
from tests.crash.scene import Row, Scene, scene
from tests.path.stage import BAD
from tests.servers.control_plane import ControlPlane
from tests.servers.kafka import KafkaServer

SCENES = itertools.count(1)
REPAIRED = Expected()
TAKEN_BACK = Expected(spec="bad", writes=2, states=("RESOLVED", "RESOLVED"))
MADE_WORSE = Expected(spec="bad", writes=2, states=("HANDED_OVER",))


@dataclass(frozen=True)
class Moment:
    """`number` counts from the alert, or from the wish to undo; 0 never comes: the path is only watched."""

    path: str
    at: str
    number: int

    def __str__(self) -> str:
        if not self.number:
            return f"{self.path}, nobody killed"
        return f"{self.path}, killed after {self.at} {self.number}"


@dataclass(frozen=True)
class Stage:
    """The servers, which all scenes share, and a folder that they leave their files in."""

    plane: ControlPlane
    kafka: KafkaServer
    folder: Path

    def shop(self, name: str) -> str:
        """A namespace of this scene's own, also on a cluster that other runs have used."""
        return f"{name}-{time.time_ns() // 1_000_000 % 10_000_000}-{next(SCENES)}"


def over(rows: Sequence[Row], count: int) -> bool:
    return len(rows) >= count and all(row["state"].isupper() for row in rows)


async def killed(
    stage: Stage, main: Moment | None, back: Moment | None, url: str = ""
) -> tuple[list[Verdict], list[list[str]]]:
    """A verdict for each moment, and the commits that each path had. `url` is of PostgreSQL, "" a file."""
    number = (main or back).number  # type: ignore[union-attr]
    name = stage.shop(f"kill-{number}")
    async with scene(stage.plane, stage.kafka, stage.folder / name, (url,)) as at:
        await at.prepare(BAD)
        if main is not None:
            at.replicas[0].arm(main.at, main.number)
        await at.replicas[0].start()
        began = time.monotonic()
        await at.alert()
        rows = await at.drive(lambda rows: over(rows, 1), "the repair")
        # Between the answer and its commit a kill costs one more call: nobody can know of the first.
        asks = 2 if main is not None and main.at == "answered" else 1
        verdicts, paths = [], []
        if main is not None:
            verdicts.append(await _verdict(main, at, rows, Expected(asks=asks), began))
            paths.append(_commits(at))
        if back is not None:
            verdicts.append(await _taken_back(at, back, rows, asks))
            paths.append(_commits(at)[len(paths[0]) if paths else 0 :])
        return verdicts, paths


async def made_worse(stage: Stage, moment: Moment, url: str = "") -> tuple[list[Verdict], list[list[str]]]:
    """As `killed`: the pods of the revision that it goes back to never come, so it takes its own write back."""
    name = stage.shop(f"worse-{moment.number}")
    async with scene(stage.plane, stage.kafka, stage.folder / name, (url,)) as at:
        await at.prepare(BAD)
        at.replicas[0].arm(moment.at, moment.number)
        await at.replicas[0].start()
        began = time.monotonic()
        spoiled = asyncio.create_task(at.spoil())
        try:
            await at.alert()
            rows = await at.drive(lambda rows: over(rows, 1), "the end of what made it worse")
        finally:
            spoiled.cancel()
            with suppress(asyncio.CancelledError):
                await spoiled
        return [await _verdict(moment, at, rows, MADE_WORSE, began)], [_commits(at)]


async def _taken_back(at: Scene, back: Moment, rows: list[Row], asks: int) -> Verdict:
    began = time.monotonic()
    at.replicas[0].arm(back.at, back.number)
    await at.undo(rows[0]["id"])
    rows = await at.drive(lambda rows: over(rows, 2), "the undo")
    expected = Expected(spec="bad", writes=2, states=TAKEN_BACK.states, asks=asks)
    return await _verdict(back, at, rows, expected, began)


async def _verdict(moment: Moment, at: Scene, rows: list[Row], expected: Expected, began: float) -> Verdict:
    verdict = await judged(str(moment), at, rows, expected)
    verdict.ask(at.replicas[0].struck or not moment.number, "that moment never came")
    at.replicas[0].orders.unlink(missing_ok=True)
    verdict.seconds = time.monotonic() - began
    return verdict


def _commits(at: Scene) -> list[str]:
    return [",".join(one["kinds"]) for one in at.replicas[0].told() if one["at"] == "commit"]
