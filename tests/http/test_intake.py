"""The doors for alerts: who gets in, how much, and what a sender hears."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse

from handrail.adapters.http.server import listen_address
from handrail.adapters.settings import Secret
from handrail.model.config import HttpIntakeConfig, SecretRef, TopicConfig
from handrail.model.errors import BadConfig, Transient
from handrail.model.reason import Reason
from handrail.model.record import Received, Record, Undecoded
from tests.http.doors import AM, GRAFANA, JSON, LOGS, PROTOBUF, TOKEN, Room, doors
from tests.http.support import Reviews, fetch, site

NO_NAME = Undecoded(reason=Reason.NO_ALERT_NAME, detail="a log record without alert.name", times=2)


@pytest.mark.parametrize("own", [False, True])
async def test_what_is_durable_is_answered_with_200_at_every_door(own: bool) -> None:
    room = Room()
    async with doors(room, own=own) as at:
        for path in (AM, GRAFANA):
            answer = await at.post(path, {"alerts": []})
            assert (answer.status, answer.json) == (200, {"ok": True, "alerts": 1, "refused": 0})
        room.received = {"alerts": 1, "entries": 1}
        answer = await at.post(LOGS, {"resourceLogs": []})
        assert (answer.status, answer.json) == (200, {}), "an ExportLogsServiceResponse without partialSuccess"
        assert answer.headers["Content-Type"].startswith(JSON)
        proto = await at.post(LOGS, b"\x0a\x00", kind=PROTOBUF)
        assert (proto.status, proto.text, proto.headers["Content-Type"]) == (200, "", PROTOBUF)
    assert [name for name, _ in room.bodies] == [f"http:{p}" for p in (AM, GRAFANA, LOGS + "+json", LOGS)]


async def test_without_a_token_there_is_no_door() -> None:
    async with site(Reviews()) as server:
        for path in (AM, GRAFANA, LOGS):
            assert (await server.post(path, {})).status == 404


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "ü" * 20])
async def test_a_stranger_gets_401_and_the_body_is_not_looked_at(token: str) -> None:
    room = Room()
    async with doors(room) as at:
        assert (await at.post(AM, {}, token=token)).json["reason"] == "NOT_A_SENDER"
        refused = await at.post(LOGS, b"\x0a\x00", token=token, kind=PROTOBUF)
        assert (refused.status, room.bodies) == (401, [])
        assert at.signs.noes == [("NOT_A_SENDER", "intake")] * 2
        assert (await at.post(AM, {}, token=f"Basic {TOKEN}")).status == 401


async def test_either_of_two_tokens_opens_and_a_changed_file_counts_at_once(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("the-old-token-of-them-all\n")
    new.write_text("the-new-token-of-them-all\n")
    secrets = [Secret(SecretRef(file=str(path)), "intake.http.tokens") for path in (old, new)]
    async with doors(Room(), tokens=secrets) as at:
        assert (await at.post(AM, {}, token="the-old-token-of-them-all")).status == 200
        assert (await at.post(AM, {}, token="the-new-token-of-them-all")).status == 200
        old.write_text("yet-another-token-than-before\n")
        assert (await at.post(AM, {}, token="the-old-token-of-them-all")).status == 401
        assert (await at.post(AM, {}, token="yet-another-token-than-before")).status == 200
        old.unlink()
        assert (await at.post(AM, {}, token="the-new-token-of-them-all")).status == 200, "the other one still opens"
        new.write_text("short")
        assert (await at.post(AM, {}, token="short")).status == 503, "nobody can be told from a stranger"


async def test_while_the_store_is_away_a_sender_is_told_when_to_send_again() -> None:
    room = Room(broken=Transient("database is locked", retry_after=2.2))
    async with doors(room) as at:
        answer = await at.post(AM, {})
        assert (answer.status, answer.headers["Retry-After"]) == (503, "3")
        assert answer.json["reason"] == "STORE_AWAY"
        otlp = await at.post(LOGS, b"\x0a\x00", kind=PROTOBUF)
        status = Status.FromString(otlp.text.encode())
        assert (otlp.status, status.code, status.message) == (503, 14, "STORE_AWAY: database is locked")


async def test_what_is_no_alert_is_refused_with_its_reason_and_buried() -> None:
    room = Room(received={"refused": Undecoded(reason=Reason.MALFORMED, detail="neither protobuf nor JSON")})
    async with doors(room) as at:
        answer = await at.post(AM, b"nonsense")
        assert (answer.status, answer.json["reason"]) == (400, "MALFORMED")
        ((record, why),) = room.letters
        assert (record.topic, record.value, why.detail) == (f"http:{AM}", b"nonsense", "neither protobuf nor JSON")
        room.brokers = False
        assert (await at.post(AM, b"nonsense")).status == 400, "without Kafka the log has to do"


async def test_one_bad_alert_does_not_have_its_neighbours_sent_again() -> None:
    room = Room(received={"alerts": 2, "refused": Undecoded(reason=Reason.NO_ALERT_NAME, detail="no alertname")})
    async with doors(room) as at:
        answer = await at.post(AM, {})
        assert (answer.status, answer.json["alerts"], answer.json["refused"]) == (200, 2, 1)
        assert len(room.letters) == 1


@pytest.mark.parametrize("alerts", [0, 3])
async def test_log_records_that_are_no_alerts_are_a_partial_success(alerts: int) -> None:
    room = Room(received={"alerts": alerts, "entries": alerts + 2, "refused": NO_NAME})
    async with doors(room) as at:
        answer = await at.post(LOGS, {"resourceLogs": []})
        partial = {"rejectedLogRecords": "2", "errorMessage": f"NO_ALERT_NAME: {NO_NAME.detail}"}
        assert (answer.status, answer.json) == (200, {"partialSuccess": partial})
        proto = await at.post(LOGS, b"\x0a\x00", kind=PROTOBUF)
        said = ExportLogsServiceResponse.FromString(proto.text.encode()).partial_success
        assert (proto.status, said.rejected_log_records, said.error_message) == (200, 2, partial["errorMessage"])


async def test_otlp_that_cannot_be_read_is_a_bad_request_with_a_status_in_its_own_encoding() -> None:
    room = Room(received={"entries": 0, "refused": Undecoded(reason=Reason.MALFORMED, detail="no protobuf \ud800")})
    async with doors(room) as at:
        proto = await at.post(LOGS, b"\xff", kind=PROTOBUF)
        status = Status.FromString(proto.text.encode())
        assert (proto.status, status.code, status.message) == (400, 3, "MALFORMED: no protobuf ?")
        assert (await at.post(LOGS, b"\xff")).json["code"] == 3


@pytest.mark.parametrize(
    ("path", "kind"), [(AM, "text/plain"), (AM, PROTOBUF), (GRAFANA, "application/octet-stream"), (LOGS, "text/plain")]
)
async def test_another_content_type_is_415(path: str, kind: str) -> None:
    async with doors(Room()) as at:
        assert (await at.post(path, {}, kind=kind)).status == 415


async def test_a_content_type_may_have_parameters() -> None:
    async with doors(Room()) as at:
        assert (await at.post(AM, {}, kind="Application/JSON; charset=utf-8")).status == 200


async def test_gzip_is_inflated_and_any_other_coding_is_415() -> None:
    room = Room()
    async with doors(room) as at:
        assert (await at.post(AM, {"a": 1}, packed=True)).status == 200
        two = gzip.compress(b'{"a"') + gzip.compress(b": 1}")
        assert (await at.post(AM, two, coding="GZIP")).status == 200
        assert [body for _, body in room.bodies] == [b'{"a": 1}'] * 2
        for coding in ("br", "deflate", "gzip, gzip", "zstd"):
            assert (await at.post(AM, b"{}", coding=coding)).status == 415
        for broken in (b"{}", gzip.compress(b"{}")[:-4], b""):
            assert (await at.post(AM, broken, coding="gzip")).status == 400
    assert len(room.bodies) == 2


async def test_gzip_of_thousands_of_members_is_refused_by_their_number() -> None:
    """Each costs a look at all that follow it: a body of empty ones would hold up everybody for minutes."""
    room = Room()
    async with doors(room) as at:
        few, many = (gzip.compress(b" ") * count + gzip.compress(b"{}") for count in (50, 5000))
        assert (await at.post(AM, few, coding="gzip")).status == 200
        answer = await at.post(AM, many, coding="gzip")
        assert (answer.status, answer.json["reason"]) == (400, "MALFORMED")
        assert "members" in answer.json["message"]
    assert len(room.bodies) == 1


@pytest.mark.parametrize("packed", [False, True])
async def test_more_than_the_bound_is_413_inflated_or_not(packed: bool) -> None:
    room, most = Room(), 2048
    async with doors(room, HttpIntakeConfig(most_bytes=most)) as at:
        assert (await at.post(AM, b" " * most, packed=packed)).status == 200
        assert (await at.post(AM, b" " * (most + 1), packed=packed)).status == 413
        assert (await at.post(AM, b" " * 50_000_000, packed=True)).json["reason"] == "TOO_LARGE"
        assert len(room.bodies) == 1

        async def endless() -> Any:
            for _ in range(100):
                yield b" " * 100

        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": JSON}
        async with (
            aiohttp.ClientSession() as session,
            session.post(at.url + AM, data=endless(), headers=headers) as answer,
        ):
            assert answer.status == 413, "without a Content-Length too"


class Slow(Room):
    """Takes nothing before it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def take(self, door: TopicConfig, body: bytes) -> Received:
        found = await super().take(door, body)
        await self.go.wait()
        return found


async def test_only_so_many_are_taken_in_at_once_and_only_so_many_wait() -> None:
    room = Slow()
    async with doors(room, HttpIntakeConfig(at_once=2, waiting=1)) as at:
        posts = [asyncio.create_task(at.post(AM, {})) for _ in range(8)]
        done: set[asyncio.Task[Any]] = set()
        while len(done) < 5:
            done, _ = await asyncio.wait(posts, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0)
        assert {(one.result().status, one.result().headers["Retry-After"]) for one in done} == {(503, "5")}
        assert len(room.bodies) == 2
        room.go.set()
        assert sorted(answer.status for answer in await asyncio.gather(*posts)) == [200] * 3 + [503] * 5
        assert ("INTAKE_BUSY", "intake") in at.signs.noes
        assert (await at.post(AM, {})).status == 200, "there is room again"


async def test_what_is_not_done_in_time_is_said_and_gives_its_place_back() -> None:
    room = Slow()
    async with doors(room, HttpIntakeConfig(at_once=1, waiting=0, seconds=0.05)) as at:
        for _ in range(3):
            assert (await at.post(AM, {})).json["reason"] == "INTAKE_BUSY"
        room.go.set()
        assert (await at.post(AM, {})).status == 200


class SlowBrokers(Room):
    async def bury(self, letters: Sequence[tuple[Record, Undecoded]]) -> bool:
        await asyncio.sleep(0.2)
        return await super().bury(letters)


async def test_what_is_durable_is_answered_so_however_slow_the_brokers_are_with_its_letters() -> None:
    room = SlowBrokers(received={"alerts": 1, "refused": NO_NAME})
    async with doors(room, HttpIntakeConfig(seconds=0.1)) as at:
        answer = await at.post(AM, {})
    assert (answer.status, answer.json["alerts"], len(room.letters)) == (200, 1, 1)


class Waited(Room):
    """Takes its time; whoever sent it may be gone by then."""

    def __init__(self) -> None:
        super().__init__()
        self.here, self.go, self.done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def take(self, door: TopicConfig, body: bytes) -> Received:
        self.here.set()
        await self.go.wait()
        found = await super().take(door, body)
        self.done.set()
        return found


async def test_a_whole_request_is_taken_though_its_sender_has_gone(caplog: pytest.LogCaptureFixture) -> None:
    room = Waited()
    async with doors(room) as at:
        host, port = listen_address(at.url.removeprefix("http://"))
        _, writer = await asyncio.open_connection(host, port)
        head = f"POST {AM} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: {JSON}\r\n"
        writer.write(f"{head}Content-Length: 2\r\n\r\n{{}}".encode())
        await room.here.wait()
        writer.transport.abort()
        assert (await fetch(at.url, "GET", "/healthz", b"", {})).status == 200
        room.go.set()
        await room.done.wait()
        assert (await at.post(AM, {})).status == 200
    assert [line.levelname for line in caplog.records if line.levelname == "ERROR"] == []
    assert len(room.bodies) == 2


@pytest.mark.parametrize("sent", ["Content-Length: 10\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"])
async def test_of_a_sender_that_goes_away_in_the_middle_nothing_is_taken_and_it_is_no_fault(
    sent: str, caplog: pytest.LogCaptureFixture
) -> None:
    room = Room()
    async with doors(room, HttpIntakeConfig(at_once=1, waiting=0)) as at:
        host, port = listen_address(at.url.removeprefix("http://"))
        head = f"POST {AM} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: {JSON}\r\n"
        for _ in range(2):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(f"{head}{sent}".encode())
            writer.write_eof()
            await reader.read()
            writer.close()
        assert room.bodies == []
        assert (await at.post(AM, {})).status == 200, "it holds no place"
    assert [line.levelname for line in caplog.records if line.levelname == "ERROR"] == []


async def test_the_doors_are_no_way_into_the_api_nor_the_other_way() -> None:
    async with doors(Room(), own=True) as at:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        assert (await fetch(at.url, "GET", "/api/v1/incidents", b"", headers)).status == 404
        assert (await fetch(at.url, "GET", AM, b"", headers)).status == 405
    async with doors(Room()) as at:
        assert (await fetch(at.url, "GET", "/api/v1/incidents", b"", headers)).status == 401


async def test_a_listener_for_nobody_is_refused() -> None:
    from handrail.model.config import Config

    tree = {"cluster": {"name": "x"}, "kafka": {"bootstrap": ["b:1"], "topics": [{"name": "t"}]}, "policy": "p"}
    with pytest.raises(ValueError, match="names no token"):
        Config.model_validate({**tree, "http": {"intake": "0.0.0.0:8081"}})
    taken = {"tokens": [{"env": "TOKEN"}]}
    Config.model_validate({**tree, "http": {"intake": "0.0.0.0:8081"}, "intake": {"http": taken}})


async def test_a_door_that_cannot_be_opened_is_named() -> None:
    async with doors(Room()) as at:
        from handrail.adapters.http import HttpServer, Who
        from handrail.model.config import HttpConfig
        from tests.http.support import PlainDesk

        async def nothing() -> Any:
            return {}

        taken = HttpConfig(listen="127.0.0.1:0", intake=at.url.removeprefix("http://"))
        server = HttpServer(taken, PlainDesk(), Who(Reviews()), nothing, nothing)
        server.take_alerts([])
        with pytest.raises(BadConfig, match="intake"):
            await server.start()
