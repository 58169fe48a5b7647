"""What /readyz and /metrics say, and that every log line is one JSON object, a library's too."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import structlog

from handrail.adapters.http.server import listen_address
from handrail.adapters.kafka import Pulse
from handrail.adapters.store import Store
from handrail.adapters.telemetry import Gauges, configure_logs
from handrail.model.config import LogConfig
from handrail.model.errors import Transient
from tests.http.support import Reviews, site
from tests.store.places import migrated

NOW = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(f"sqlite:///{migrated(tmp_path / 'handrail.db')}", cluster="c", clock=lambda: NOW)
    yield opened
    await opened.close()


async def test_ready_needs_an_answer_of_the_brokers_and_the_store(store: Store) -> None:
    pulse, now = Pulse(), 100.0
    gauges = Gauges(store, pulse, lambda: now)
    assert (await gauges.ready())["ready"] is False
    assert (await gauges.ready())["kafka"] == "not polled yet"
    pulse.last_poll = 80.0
    found = await gauges.ready()
    assert (found["ready"], found["last_poll_seconds"], found["store"], found["kafka"]) == (True, 20.0, "ok", "ok")
    now = 111.0
    assert (await gauges.ready())["ready"] is False


async def test_readiness_says_what_intake_waits_for_and_what_is_set_aside(store: Store) -> None:
    pulse = Pulse(last_poll=0.0, paused=True, waits_for="the policy can't be read", set_aside={"a/0": "damaged"})
    pulse.last_error = "damaged"
    found = await Gauges(store, pulse, lambda: 1.0).ready()
    assert found["intake_paused"] is True
    assert found["intake_waits_for"] == "the policy can't be read"
    assert found["set_aside"] == {"a/0": "damaged"}
    assert found["kafka"] == "damaged"


class Gone(Store):
    """A store whose database does not answer."""

    def __init__(self) -> None:
        pass

    def unfit(self) -> dict[str, str]:
        return {"inc-1": "damaged at entry 3"}

    async def ping(self) -> None:
        raise Transient("disk I/O error")

    async def count_by_state(self) -> dict[str, int]:
        raise Transient("disk I/O error")


async def test_a_store_that_is_away_is_said_and_not_ready() -> None:
    gauges = Gauges(Gone(), Pulse(last_poll=0.0), lambda: 1.0)
    found = await gauges.ready()
    assert (found["ready"], found["store"]) == (False, "disk I/O error")
    assert (found["degraded"], found["degraded_incidents"]) == (1, {"inc-1": "damaged at entry 3"})
    assert b"handrail_store_up 0.0" in await gauges.text()


async def test_the_metrics_that_the_alerts_of_the_docs_are_made_of_are_there(store: Store) -> None:
    pulse = Pulse(last_poll=90.0, lag={"alerts/0": 7}, set_aside={"alerts/1": "damaged"}, paused=True)
    await store.set_switch(True, by="kubernetes:alice", why="freeze")
    text = (await Gauges(store, pulse, lambda: 100.0).text()).decode()
    for line in (
        "handrail_last_poll_age_seconds 10.0",
        'handrail_kafka_lag_records{partition="alerts/0"} 7.0',
        "handrail_intake_paused 1.0",
        "handrail_kafka_set_aside_partitions 1.0",
        "handrail_store_up 1.0",
        "handrail_stopped 1.0",
        'handrail_incidents{state="HANDED_OVER"} 0.0',
    ):
        assert line in text.splitlines()


@pytest.fixture
def quiet_after() -> Iterator[None]:
    handlers, level = logging.root.handlers, logging.root.level
    yield
    logging.root.handlers = handlers
    logging.root.setLevel(level)
    structlog.reset_defaults()


@pytest.mark.usefixtures("quiet_after")
def test_every_line_is_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(LogConfig())
    structlog.get_logger("x").info("hello", incident="inc-1", text="two\nlines")
    logging.getLogger("some.library").warning("careful: %s", "two\nlines")
    logging.getLogger("some.library").info("chatter")
    logging.getLogger("aiokafka.conn").error("chatter")
    try:
        raise ValueError("inside")
    except ValueError:
        structlog.get_logger("x").exception("broken")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == ["hello", "careful: two\nlines", "broken"]
    assert (lines[0]["incident"], lines[0]["level"]) == ("inc-1", "info")
    assert lines[1]["logger"] == "some.library"
    assert "ValueError: inside" in lines[2]["exception"]


@pytest.mark.usefixtures("quiet_after")
def test_the_level_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(LogConfig(level="error", format="text"))
    structlog.get_logger("x").warning("not this")
    structlog.get_logger("x").error("this")
    said = capsys.readouterr().err
    assert "not this" not in said
    assert "this" in said


@pytest.mark.usefixtures("quiet_after")
@pytest.mark.parametrize(
    "header",
    [b"Authorization: Bearer secret-of-mine\x01", b"Authorization: Bearer secret-of-mine" + b"x" * 9000, b": x"],
)
async def test_what_is_no_http_is_one_line_without_the_token_in_it(
    header: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs(LogConfig())
    async with site(Reviews()) as server:
        host, port = listen_address(server.url.removeprefix("http://"))
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"GET /healthz HTTP/1.1\r\n" + header + b"\r\n\r\n")
        assert b" 400 " in await reader.readline()
        writer.close()
    (line,) = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert (line["level"], line["logger"]) == ("warning", "aiohttp.server")
    assert line["event"].startswith("a request that is no HTTP: ")
    assert "secret-of-mine" not in json.dumps(line)
