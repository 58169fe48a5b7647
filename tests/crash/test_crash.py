"""Each kind of fault once, on the real process and real servers; `make crash` tries every point.

A scene mostly waits (for pods that crash, leases that end), so all of them play side by side, and each test looks at
what came of its own. Only that without Kafka comes after the others, who need it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack

import pytest

from tests.crash import builds, faults, many
from tests.crash.faults import Fault, Postgres
from tests.crash.kills import Moment, Stage, killed
from tests.crash.oracle import Verdict
from tests.servers.control_plane import ControlPlane
from tests.servers.fixtures import unavailable
from tests.servers.kafka import KafkaServer
from tests.servers.pins import Missing

pytestmark = pytest.mark.server

Came = dict[str, Sequence[Verdict] | BaseException]
Told = Callable[[str], None]

ON_A_SERVER = ("a freeze", "a replica", "builds", "a database")
"""Need PostgreSQL; the last one a server of its own, which it restarts."""


async def play(stage: Stage) -> Came:
    jobs: dict[str, Awaitable[Sequence[Verdict]]] = {
        "an act": both(stage, Moment("repair", "sent", 1), Moment("undo", "commit", 8)),
        "an answer": both(stage, Moment("repair", "answered", 1), Moment("undo", "published", 3)),
    }
    async with AsyncExitStack() as stack:
        try:
            shared = await stack.enter_async_context(faults.postgres(stage))
            own = await stack.enter_async_context(faults.postgres(stage))
        except Missing as missing:
            came: Came = dict.fromkeys(ON_A_SERVER, missing)
        else:
            came = {}
            jobs |= {
                "a freeze": faults.replicas(stage, shared, Fault("frozen", "intent")),
                "a replica": a_replica(stage, shared),
                "builds": two_builds(stage, shared),
                "a database": faults.replicas(stage, own, Fault("cut off", "sent"), Fault("restarted", "sent")),
            }
        came |= await together(jobs)
    if isinstance(stage.kafka, KafkaServer):
        came |= await together({"kafka": no_kafka(stage)})
    return came


async def together(jobs: dict[str, Awaitable[Sequence[Verdict]]]) -> Came:
    return dict(zip(jobs, await asyncio.gather(*jobs.values(), return_exceptions=True), strict=True))


async def both(stage: Stage, main: Moment, back: Moment) -> Sequence[Verdict]:
    return (await killed(stage, main, back))[0]


async def a_replica(stage: Stage, base: Postgres) -> Sequence[Verdict]:
    return [await many.one_of_two(stage, base, 4, commits=4)]


async def two_builds(stage: Stage, base: Postgres) -> Sequence[Verdict]:
    if builds.why_not(builds.RELEASE):
        return []
    packages = await builds.unpacked(builds.RELEASE, stage.folder)
    pair = (builds.handed_on(stage, base, builds.RELEASE, packages, newer_dies) for newer_dies in (False, True))
    return await asyncio.gather(*pair)


async def no_kafka(stage: Stage) -> Sequence[Verdict]:
    return [await faults.without_kafka(stage, 5)]


@pytest.fixture(scope="module")
def survived(control_plane: ControlPlane, kafka_server: KafkaServer, tmp_path_factory: pytest.TempPathFactory) -> Told:
    came = asyncio.run(play(Stage(control_plane, kafka_server, tmp_path_factory.mktemp("crash"))))

    def look(name: str) -> None:
        found = came[name]
        if isinstance(found, Missing):
            unavailable(str(found))
        if isinstance(found, BaseException):
            raise found
        assert [f"{one.point}: {wrong}" for one in found for wrong in one.wrong] == []
        assert found, "nothing was tried"

    return look


def test_killed_between_an_act_and_its_outcome_and_after_a_commit_on_the_way_back(survived: Told) -> None:
    survived("an act")


def test_killed_between_a_models_answer_and_its_record_and_an_event_and_its_cursor(survived: Told) -> None:
    survived("an answer")


def test_a_replica_that_wakes_beyond_its_lease_repeats_nothing(survived: Told) -> None:
    survived("a freeze")


def test_a_database_that_restarts_or_cuts_its_connections_at_the_write_loses_and_repeats_nothing(
    survived: Told,
) -> None:
    survived("a database")


def test_one_of_two_replicas_is_killed_and_the_other_finishes_all(survived: Told) -> None:
    survived("a replica")


def test_the_last_release_and_this_build_finish_what_the_other_began(survived: Told) -> None:
    missing = builds.why_not(builds.RELEASE)
    if missing:
        pytest.skip(missing)
    survived("builds")


def test_without_kafka_the_repair_goes_on_and_the_next_alert_is_heard_afterwards(
    survived: Told, kafka_server: KafkaServer
) -> None:
    if not isinstance(kafka_server, KafkaServer):
        pytest.skip("somebody else's brokers are not stopped")
    survived("kafka")
