"""`handrail dlq` on a real broker: what the daemon buried is listed, shown, and sent back once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiokafka import AIOKafkaConsumer, TopicPartition

from handrail.adapters.kafka import DeadLetters
from handrail.model.config import Config, KafkaConfig
from handrail.model.errors import Permanent
from tests.cli.support import Ran, handrail
from tests.kafka.room import an_alert, room
from tests.kafka.support import config, fresh, make_topics, read_all, running, send, until_committed
from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.server
MAPPING = {"name": "title", "status": "state", "firing": "bad", "namespace": "ns", "kind": "k", "object": "o"}
OWN = json.dumps({"title": "Checkout down", "state": "bad", "ns": "shop", "k": "Deployment", "o": "checkout"}).encode()
HOSTILE = b'{"password": "hunter2", "x": "\x1b[31mred\x07"}'


class Site:
    """A topic of alerts, its letters, and the configuration by which the command reads them."""

    def __init__(self, server: KafkaServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        topic = fresh("alerts")
        self.settings: KafkaConfig = config(server.bootstrap, topic)
        self.topic, self.dead = topic, self.settings.dead_letter_topic
        self.path = folder / "handrail.yaml"
        run(make_topics(server.bootstrap, topic))
        run(make_topics(server.bootstrap, self.dead, partitions=2))
        self.configure()

    def configure(self, **more: Any) -> None:
        topic = {"name": self.topic, **more.pop("topic", {})}
        kafka = {"bootstrap": [self.server.bootstrap], "topics": [topic], "dead_letter_topic": self.dead, **more}
        self.path.write_text(yaml.safe_dump({"cluster": {"name": "prod"}, "kafka": kafka, "policy": "p.yaml"}))

    def bury(self, *values: bytes | None, **more: Any) -> None:
        """By the daemon's own intake, as it was configured then."""

        async def work() -> None:
            await send(self.server.bootstrap, self.topic, values, **more)
            async with room(self.folder, self.settings) as here, running(here.intake()):
                await until_committed(self.server.bootstrap, self.settings.group, self.topic, len(values))

        run(work())

    def dlq(self, *arguments: object) -> Ran:
        return handrail("dlq", *arguments, "--config", self.path)

    def places(self) -> list[str]:
        return [f"{row['partition']}/{row['offset']}" for row in self.dlq("list", "--json").json]

    def sent(self, count: int) -> list[Any]:
        """Everything in the topic of alerts, which must be that many."""
        assert run(ends(self.settings, self.topic)) >= count
        found: list[Any] = run(read_all(self.server.bootstrap, self.topic, count))
        return found


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


async def ends(settings: KafkaConfig, topic: str) -> int:
    consumer = AIOKafkaConsumer(bootstrap_servers=list(settings.bootstrap))
    await consumer.start()
    try:
        found = await consumer.end_offsets([TopicPartition(topic, 0)])
    finally:
        await consumer.stop()
    return sum(found.values())


@pytest.fixture
def site(kafka_server: KafkaServer, tmp_path: Path) -> Site:
    return Site(kafka_server, tmp_path)


def test_letters_are_listed_with_place_time_reason_and_where_they_came_from(site: Site) -> None:
    assert site.dlq("list").out == "no dead letters\n"
    site.bury(OWN, b"\xff\x00\x01", None, OWN)
    ran = site.dlq("list")
    assert (ran.code, ran.err, len(ran.out.splitlines())) == (0, "", 4)
    rows = site.dlq("list", "--json").json
    by_source = {row["came_from"]["offset"]: row for row in rows}
    assert [by_source[n]["reason"] for n in range(4)] == ["UNKNOWN_FORMAT", "MALFORMED", "EMPTY", "UNKNOWN_FORMAT"]
    assert by_source[1]["came_from"] == {"topic": site.topic, "partition": 0, "offset": 1}
    first = next(line for line in ran.out.splitlines() if f"{site.topic}/0/0" in line)
    place = f"{by_source[0]['partition']}/{by_source[0]['offset']}"
    assert first.startswith(place)
    assert f"UNKNOWN_FORMAT   from {site.topic}/0/0" in first
    assert len(site.dlq("list", "--json", "--limit", "2").json) == 2
    assert [row["reason"] for row in site.dlq("list", "--json", "--reason", "EMPTY").json] == ["EMPTY"]
    assert site.dlq("list", "--reason", "NOPE").out == "no dead letters with reason NOPE\n"


def test_a_letter_far_back_is_found_by_its_reason(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handrail.adapters.kafka.dead.FIRST_LOOK", 2)
    site.bury(None, *(b"{" for _ in range(30)))
    (row,) = site.dlq("list", "--json", "--reason", "EMPTY", "--limit", "1").json
    assert row["came_from"]["offset"] == 0


def test_a_letter_is_shown_bounded_without_secrets_and_cannot_steer_a_terminal(site: Site) -> None:
    headers = [("trace", b"\x1b[2Jabc"), ("authorization", b"Bearer abcdefgh12345678")]
    site.bury(HOSTILE + b" " * 100_000, headers=headers)
    (place,) = site.places()
    ran = site.dlq("show", place)
    assert ran.code == 0
    assert "\x1b" not in ran.out + site.dlq("list").out
    assert "\x07" not in ran.out
    assert "hunter2" not in ran.out
    assert "abcdefgh12345678" not in ran.out
    assert len(ran.out) < 6_000
    assert f"came from {site.topic}/0/0" in ran.out
    assert "header trace=abc" in ran.out
    assert "today:\nrefused (part 1): " in ran.out
    found = site.dlq("show", place, "--json").json
    assert found["bytes"] == len(HOSTILE) + 100_000
    assert found["today"]["refused"]
    assert "hunter2" not in json.dumps(found)


def test_binary_and_absent_values_are_shown_too(site: Site) -> None:
    site.bury(b"\x00\x01\x02" * 1000, None)
    shown = [site.dlq("show", place).out for place in site.places()]
    assert any("| 00 01 02 00" in text and text.count("\n") < 15 for text in shown)
    assert any("| (a tombstone)" in text for text in shown)


def test_what_decodes_by_now_goes_back_once_and_the_rest_stays(site: Site) -> None:
    headers = [("trace", b"abc")]
    at = int(time.time() * 1000) - 60_000
    site.bury(OWN, b"{", headers=headers, key=b"k", timestamp_ms=at)
    assert site.dlq("replay", "--all").code == 3, "nothing has changed"
    site.configure(topic={"mapping": MAPPING})
    dry = site.dlq("replay", "--all", "--dry-run")
    assert (dry.code, f"would go back to {site.topic}" in dry.out) == (3, True)
    assert len(site.sent(2)) == run(ends(site.settings, site.topic)) == 2, "a dry run sends nothing"
    ran = site.dlq("replay", "--all", "--json")
    by_why = {row["letter"]: row["why_not"] for row in ran.json["letters"]}
    assert ran.code == 3
    assert (ran.json["ok"], ran.json["message"]) == (False, "1 of 2 went back")
    assert sorted(bool(why) for why in by_why.values()) == [False, True]
    (sent,) = [place for place, why in by_why.items() if not why]
    back = site.sent(3)[-1]
    assert (back.key, back.value, back.timestamp) == (b"k", OWN, at)
    assert dict(back.headers) == {
        "trace": b"abc",
        "handrail.replayed": f"{site.dead}/{sent}".encode(),
        "handrail.at": str(at).encode(),
    }
    again = site.dlq("replay", sent)
    assert (again.code, "it was sent back at" in again.out, "--again" in again.out) == (3, True, True)
    assert "(sent back)" in site.dlq("list").out
    assert "sent back at" in site.dlq("show", sent).out
    assert len(site.places()) == 2, "a note is no letter"
    assert site.dlq("replay", sent, "--again").code == 0
    assert site.sent(4)[-1].value == OWN
    (other,) = [place for place, why in by_why.items() if why]
    assert site.dlq("replay", other, "--force").code == 0


def test_what_went_back_opens_an_incident_and_is_no_letter_again(site: Site) -> None:
    site.bury(OWN)
    site.configure(topic={"mapping": MAPPING})
    assert site.dlq("replay", *site.places()).code == 0
    settings = Config.model_validate(yaml.safe_load(site.path.read_text())).kafka
    settings = settings.model_copy(update={"group": fresh("group")})

    async def rows() -> list[str]:
        async with room(site.folder, settings) as here, running(here.intake()):
            await until_committed(site.server.bootstrap, settings.group, site.topic, 2)
            return await here.workloads()

    assert run(rows()) == ["checkout"]
    assert len(site.places()) == 1


def test_an_old_letter_is_taken_as_old_as_it_is_and_opens_nothing(site: Site) -> None:
    site.bury(OWN, timestamp_ms=int((time.time() - 3600) * 1000))
    site.configure(topic={"mapping": MAPPING})
    assert site.dlq("replay", "--all").code == 0

    async def rows() -> list[str]:
        loaded = Config.model_validate(yaml.safe_load(site.path.read_text())).kafka
        settings = loaded.model_copy(update={"group": fresh("group")})
        async with room(site.folder, settings) as here, running(here.intake()):
            await send(site.server.bootstrap, site.topic, [an_alert("now")])
            while await here.workloads() != ["now"]:
                await asyncio.sleep(0.1)
            return await here.workloads()

    assert run(rows()) == ["now"]


def test_a_letter_that_names_a_topic_of_its_own_goes_nowhere(site: Site) -> None:
    """Whoever may write dead letters must not write to other topics by us."""
    forged = [("handrail.reason", b"MALFORMED"), ("handrail.topic", b"payments"), ("handrail.offset", b"1")]
    run(send(site.server.bootstrap, site.dead, [b'{"name": "x", "status": "firing"}'], headers=forged, partition=0))
    ran = site.dlq("replay", "--all", "--force", "--again")
    assert (ran.code, ran.out) == (3, "0/0  stays: it came from payments, which is not among kafka.topics\n")


@pytest.mark.parametrize("moment", ["_send", "commit"])
def test_a_kill_while_a_letter_is_sent_leaves_both_or_neither_and_it_is_sent_once(site: Site, moment: str) -> None:
    """Killed after the letter or its note was sent: the next replay ends that transaction before it looks."""
    site.bury(OWN)
    site.configure(topic={"mapping": MAPPING})
    (place,) = site.places()
    for kill_after in (1, 2) if moment == "_send" else (3,):
        assert killed(site, place, kill_after) == -signal.SIGKILL
    ran = site.dlq("replay", place)
    sent_before = moment == "commit"
    assert (ran.code, "it was sent back" in ran.out) == ((3, True) if sent_before else (0, False))

    async def committed() -> list[bytes]:
        settings = site.settings.model_copy(update={"group": fresh("group")})
        values: list[bytes] = []

        async with room(site.folder, settings) as here:
            one = here.intake()
            original = one._take

            async def noting(records: Any) -> Any:
                values.extend(record.value for record in records)
                return await original(records)

            one._take = noting
            async with running(one):
                while values.count(OWN) < 2 or one.pulse.lag != {f"{site.topic}/0": 0}:
                    await asyncio.sleep(0.1)
        return values

    assert run(committed()) == [OWN, OWN], "the first, and the one that was sent back"


KILLS = """
import os, signal, sys
from handrail.adapters.kafka.dead import Replay
left = int(os.environ["KILL_AFTER"])
original = Replay._send
async def send(self, message):
    global left
    await original(self, message)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
Replay._send = send
whole = Replay.send_back
async def send_back(self, letter):
    await whole(self, letter)
    os.kill(os.getpid(), signal.SIGKILL)
Replay.send_back = send_back
from handrail.cli import main
sys.argv[0] = "handrail"
main()
"""


def killed(site: Site, place: str, kill_after: int) -> int:
    async def work() -> int:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", KILLS, "dlq", "replay", place, "--config", str(site.path)),
            env={**os.environ, "KILL_AFTER": str(kill_after)},
        )
        return await process.wait()

    code: int = run(work())
    return code


def test_of_two_who_replay_at_once_the_later_one_goes_on(site: Site) -> None:
    site.bury(OWN)
    site.configure(topic={"mapping": MAPPING})
    (place,) = site.places()
    partition, offset = map(int, place.split("/"))

    async def work() -> None:
        letters = DeadLetters(site.settings)
        (letter,) = (await letters.at([(partition, offset)])).values()
        async with letters.replay() as first:
            await first._producer.begin_transaction()
            async with letters.replay() as second:
                await second.send_back(letter)
        assert (await letters.at([(partition, offset)]))[partition, offset].replayed_at

    async def put_out() -> None:
        letters = DeadLetters(site.settings)
        (letter,) = (await letters.at([(partition, offset)])).values()
        async with letters.replay() as first, letters.replay():
            await first.send_back(letter)

    run(work())
    with pytest.raises(Permanent, match="another replay has begun"):
        run(put_out())


def test_what_is_wrong_is_said_in_one_line(site: Site) -> None:
    assert "PARTITION/OFFSET" in site.dlq("show", "x").err
    assert f"no dead letter at 0/99 of {site.dead}" in site.dlq("show", "0/99").err
    assert site.dlq("replay", "7/1").out == "7/1  stays: there is no dead letter there\n"
    assert "or say --all" in site.dlq("replay").err
    assert "or say --all" in site.dlq("replay", "0/1", "--all").err
    site.configure(dead_letter_topic="nowhere.dead")
    ran = site.dlq("list")
    assert (ran.code, "topic 'nowhere.dead' does not exist" in ran.err) in ((1, True), (0, False))
    site.configure(bootstrap=["127.0.0.1:1"])
    ran = site.dlq("list")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "127.0.0.1:1" in ran.err
