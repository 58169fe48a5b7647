"""Each kind of fault once, on the real process and real servers; `make crash` tries every point."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

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


@pytest.fixture
def stage(control_plane: ControlPlane, kafka_server: KafkaServer, tmp_path: Path) -> Stage:
    return Stage(control_plane, kafka_server, tmp_path)


@pytest.fixture
async def base(stage: Stage) -> AsyncIterator[Postgres]:
    try:
        async with faults.postgres(stage) as found:
            yield found
    except Missing as missing:
        unavailable(str(missing))


def survived(*verdicts: Verdict) -> None:
    assert [f"{one.point}: {wrong}" for one in verdicts for wrong in one.wrong] == []


async def test_killed_between_an_act_and_its_outcome_and_after_a_commit_on_the_way_back(stage: Stage) -> None:
    verdicts, _ = await killed(stage, Moment("repair", "sent", 1), Moment("undo", "commit", 8))
    survived(*verdicts)


async def test_killed_between_a_models_answer_and_its_record_and_an_event_and_its_cursor(stage: Stage) -> None:
    verdicts, _ = await killed(stage, Moment("repair", "answered", 1), Moment("undo", "published", 3))
    survived(*verdicts)


async def test_a_replica_that_wakes_beyond_its_lease_repeats_nothing(stage: Stage, base: Postgres) -> None:
    survived(*await faults.replicas(stage, base, Fault("frozen", "intent")))


async def test_a_database_that_restarts_or_cuts_its_connections_at_the_write_loses_and_repeats_nothing(
    stage: Stage, base: Postgres
) -> None:
    survived(*await faults.replicas(stage, base, Fault("cut off", "sent"), Fault("restarted", "sent")))


async def test_without_kafka_the_repair_goes_on_and_the_next_alert_is_heard_afterwards(stage: Stage) -> None:
    if not isinstance(stage.kafka, KafkaServer):
        pytest.skip("somebody else's brokers are not stopped")
    survived(await faults.without_kafka(stage, 5))


async def test_one_of_two_replicas_is_killed_and_the_other_finishes_all(stage: Stage, base: Postgres) -> None:
    survived(await many.one_of_two(stage, base, 4))


async def test_the_last_release_and_this_build_finish_what_the_other_began(stage: Stage, base: Postgres) -> None:
    missing = builds.why_not(builds.RELEASE)
    if missing:
        pytest.skip(missing)
    packages = await builds.unpacked(builds.RELEASE, stage.folder)
    for newer_dies in (False, True):
        survived(await builds.handed_on(stage, base, builds.RELEASE, packages, newer_dies))
