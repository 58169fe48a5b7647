"""`make crash`: the real process, ended and disturbed at every point, and what came of it.

Prints a line for each point as it is known; the last line is one JSON object. Exit 1 when anything was not survived.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.crash import builds, faults, many
from tests.crash.faults import Fault
from tests.crash.kills import Moment, Stage, killed, made_worse
from tests.crash.oracle import Verdict
from tests.servers.control_plane import ControlPlane
from tests.servers.kafka import KafkaServer

KINDS = ("kills", "worse", "acts", "kafka", "kills-postgres", "replicas", "many", "builds")
SHARED = {"kills-postgres", "replicas", "many", "builds"}
PAIRS: tuple[tuple[Fault, Fault | None], ...] = (
    (Fault("frozen", "intent"), Fault("restarted", "sent")),
    (Fault("frozen", "approved"), Fault("cut off", "sent")),
    (Fault("restarted", "intent"), Fault("cut off", "intent")),
    (Fault("cut off", "approved"), Fault("restarted", "approved")),
    (Fault("gone", "approved"), Fault("gone", "approved")),
    (Fault("frozen", faults.ASKED), None),
)

Job = Callable[[], Awaitable[Sequence[Verdict]]]


class Table:
    """Tells each verdict as it comes, and sums them up."""

    def __init__(self) -> None:
        self.verdicts: list[Verdict] = []
        self._began = time.monotonic()

    def add(self, verdicts: Sequence[Verdict], *, counted: bool = True) -> None:
        """A run that nothing was done to is no point, unless something is wrong with it."""
        for one in verdicts:
            if counted or one.wrong:
                self.verdicts.append(one)
            how = "survived" if not one.wrong else "FAILED: " + "; ".join(one.wrong)[:2000]
            spent = time.monotonic() - self._began
            print(f"{spent:6.0f} s {len(self.verdicts):4}  {one.point:<64} {one.seconds:5.0f} s  {how}", flush=True)

    async def run(self, name: str, job: Job) -> None:
        """What fails on the way is a point that was not survived, with its reason."""
        try:
            self.add(await job())
        except (AssertionError, OSError, RuntimeError) as failed:
            self.add([Verdict(name, [str(failed) or repr(failed)], stranded=1)])

    def sums(self) -> dict[str, int]:
        return {
            "points": len(self.verdicts),
            "survived": sum(not one.wrong for one in self.verdicts),
            "repeated_effects": sum(one.repeated_effects for one in self.verdicts),
            "repeated_model_calls": sum(one.repeated_model_calls for one in self.verdicts),
            "stranded": sum(one.stranded for one in self.verdicts),
        }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make crash", description=__doc__)
    parser.add_argument("--only", action="append", choices=KINDS, help="only this kind of fault; may be repeated")
    parser.add_argument("--points", default="", metavar="N,N-M", help="of the kills, only after these commits")
    parser.add_argument("--incidents", type=int, default=200, help="that one of two replicas is killed under")
    parser.add_argument("--at-once", type=int, default=3, help="scenes of kills side by side")
    parser.add_argument("--kafka-seconds", type=float, default=30, help="how long the brokers are away")
    parser.add_argument("--release", default=builds.RELEASE, help="the tag (or commit) that is N")
    return parser.parse_args()


def chosen(text: str) -> set[int]:
    """ "2,5-7" as numbers; empty means all."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


Killed = Callable[[Moment | None, Moment | None], Awaitable[tuple[list[Verdict], list[list[str]]]]]


async def kills(table: Table, given: argparse.Namespace, kill: Killed, on: str = "") -> None:
    """The paths are watched once, so that no commit is forgotten; then each is the last of a process."""
    watched, paths = await kill(Moment(f"repair{on}", "commit", 0), Moment(f"undo{on}", "commit", 0))
    table.add(watched, counted=False)

    def moments(number: int) -> tuple[Moment | None, Moment | None]:
        return (
            Moment(f"repair{on}", "commit", number) if number <= len(paths[0]) else None,
            Moment(f"undo{on}", "commit", number) if number <= len(paths[1]) else None,
        )

    await each(table, given, range(1, max(map(len, paths)) + 1), lambda n: kill(*moments(n)))


async def worse(stage: Stage, table: Table, given: argparse.Namespace) -> None:
    """From the verdict on: what is before is the main path's."""
    watched, (path,) = await made_worse(stage, Moment("worse", "commit", 0))
    table.add(watched, counted=False)
    first = next(number for number, kinds in enumerate(path, 1) if "verified" in kinds)
    numbers = range(first, len(path) + 1)
    await each(table, given, numbers, lambda n: made_worse(stage, Moment("worse", "commit", n)))

    async def sent() -> Sequence[Verdict]:
        return (await made_worse(stage, Moment("worse", "sent", 2)))[0]

    await table.run("killed between the act of its own undo and the outcome", sent)


async def each(
    table: Table,
    given: argparse.Namespace,
    numbers: Iterable[int],
    kill: Callable[[int], Awaitable[tuple[list[Verdict], list[list[str]]]]],
) -> None:
    """Some side by side."""
    wanted = chosen(given.points)
    places = asyncio.Semaphore(given.at_once)

    async def one(number: int) -> None:
        async def job() -> Sequence[Verdict]:
            return (await kill(number))[0]

        async with places:
            await table.run(f"killed after commit {number}", job)

    await asyncio.gather(*(one(n) for n in numbers if not wanted or n in wanted))


async def acts(stage: Stage, table: Table) -> None:
    """Between what was done in the world and its record."""

    async def written() -> Sequence[Verdict]:
        return (await killed(stage, Moment("repair", "sent", 1), Moment("undo", "sent", 1)))[0]

    async def answered() -> Sequence[Verdict]:
        return (await killed(stage, Moment("repair", "answered", 1), Moment("undo", "published", 3)))[0]

    await table.run("killed between act and outcome", written)
    await table.run("killed between a model's answer and its record, and an event and its cursor", answered)


async def shared(stage: Stage, table: Table, given: argparse.Namespace, only: Sequence[str]) -> None:
    """All that needs PostgreSQL."""
    async with faults.postgres(stage) as base:
        if "kills-postgres" in only:

            async def kill(main: Moment | None, back: Moment | None) -> tuple[list[Verdict], list[list[str]]]:
                return await killed(stage, main, back, base.database()[1])

            await kills(table, given, kill, " on PostgreSQL")
        for main, back in PAIRS if "replicas" in only else ():
            await table.run(f"{main}; {back}", lambda m=main, b=back: faults.replicas(stage, base, m, b))  # type: ignore[misc]
        if "many" in only:

            async def lot() -> Sequence[Verdict]:
                return [await many.one_of_two(stage, base, given.incidents)]

            await table.run("one of two replicas is killed", lot)
        if "builds" in only:
            await side_by_side(stage, table, base, given.release)


async def side_by_side(stage: Stage, table: Table, base: faults.Postgres, release: str) -> None:
    missing = builds.why_not(release)
    if missing:
        print(missing, flush=True)
        return
    packages = await builds.unpacked(release, stage.folder)
    for newer_dies in (False, True):

        async def job(newer_dies: bool = newer_dies) -> Sequence[Verdict]:
            return [await builds.handed_on(stage, base, release, packages, newer_dies)]

        await table.run("two builds side by side", job)


async def suite(stage: Stage, table: Table, given: argparse.Namespace) -> None:
    only = given.only or KINDS
    if "kills" in only:
        await kills(table, given, lambda main, back: killed(stage, main, back))
    if "worse" in only:
        await worse(stage, table, given)
    if "acts" in only:
        await acts(stage, table)
    if "kafka" in only:

        async def away() -> Sequence[Verdict]:
            return [await faults.without_kafka(stage, given.kafka_seconds)]

        await table.run("without Kafka", away)
    if SHARED & set(only):
        await shared(stage, table, given, only)


def main() -> int:
    given = arguments()
    table = Table()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="handrail-crash-")))
        plane = ControlPlane().start()
        stack.callback(plane.close)
        plane.add_node("node-of-many", room={"cpu": "1k", "memory": "4Ti", "pods": "5k"})
        kafka = KafkaServer().start()
        stack.callback(kafka.close)
        asyncio.run(suite(Stage(plane, kafka, folder), table, given))
    sums = table.sums()
    print(json.dumps(sums), flush=True)
    return 0 if sums["points"] == sums["survived"] and sums["points"] else 1


if __name__ == "__main__":
    sys.exit(main())
