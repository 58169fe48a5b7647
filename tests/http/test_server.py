"""Where it listens, the socket of the local user, and the probes."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import socket
import stat
from pathlib import Path

import pytest

from handrail.adapters.http import Reply
from handrail.adapters.http import server as listening
from handrail.adapters.http.server import listen_address
from handrail.model.approval import Person
from handrail.model.errors import BadConfig
from tests.http.support import SRE, Reviews, site

LOCAL = Person(via="local", name=getpass.getuser())


async def test_the_owner_of_the_process_is_known_by_the_socket_alone(tmp_path: Path) -> None:
    path, reviews = str(tmp_path / "handrail.sock"), Reviews()
    async with site(reviews, path) as server:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert (await server.locally("GET", "/api/v1/status")).status == 200
        assert (await server.locally("POST", "/api/v1/incidents/inc-1/take")).status == 200
        assert server.desk.asked[-1] == ("decide", "inc-1", "take", LOCAL, None)
        assert (await server.get("/api/v1/status")).status == 401
    assert not Path(path).exists()
    assert reviews.asked == []


async def test_a_socket_that_a_killed_daemon_left_behind_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "handrail.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    async with site(Reviews(), str(path)) as server:
        assert (await server.locally("GET", "/healthz")).status == 200


async def test_a_socket_that_still_answers_is_left_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "handrail.sock")
    async with site(Reviews(), path) as first:
        with pytest.raises(BadConfig, match="another process answers"):
            async with site(Reviews(), path):
                pass
        assert (await first.locally("GET", "/healthz")).status == 200


async def test_a_file_in_the_sockets_place_is_never_removed(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("data")
    with pytest.raises(BadConfig, match="is no socket"):
        async with site(Reviews(), str(path)):
            pass
    assert path.read_text() == "data"


async def test_a_port_that_is_taken_is_said() -> None:
    async with site(Reviews()) as first:
        with pytest.raises(BadConfig, match="choose another"):
            async with site(Reviews(), listen=first.url.removeprefix("http://")):
                pass


@pytest.mark.parametrize(
    ("listen", "address"),
    [("127.0.0.1:8080", ("127.0.0.1", 8080)), ("[::1]:1", ("::1", 1)), ("localhost:65535", ("localhost", 65535))],
)
def test_an_address_is_host_and_port(listen: str, address: tuple[str, int]) -> None:
    assert listen_address(listen) == address


@pytest.mark.parametrize("listen", ["", "8080", "host:", "host:http", "host:65536", "host:-1", "host:\u0663", ":8080"])
def test_an_address_without_host_or_port_is_refused(listen: str) -> None:
    with pytest.raises(BadConfig, match=r"http\.listen"):
        listen_address(listen)


async def test_alive_is_not_ready() -> None:
    async with site(Reviews()) as server:
        server.state = {"ready": False, "kafka": "away"}
        assert (await server.get("/healthz")).status == 200
        answer = await server.get("/readyz")
        assert (answer.status, answer.json) == (503, {"ready": False, "kafka": "away"})
        server.state = {"ready": True}
        assert (await server.get("/readyz")).status == 200


DEGRADED = {"ready": True, "degraded": 1, "degraded_incidents": {"inc-1": "damaged at entry 3"}}
COUNTED = {"ready": True, "degraded": 1}


async def test_a_probe_counts_incidents_and_names_them_to_readers_alone(tmp_path: Path) -> None:
    reviews = Reviews(sre=SRE)
    async with site(reviews, str(tmp_path / "s")) as server:
        server.state = DEGRADED
        assert (await server.get("/readyz")).json == COUNTED
        assert reviews.asked == [], "the kubelet's probe asks nobody"
        assert (await server.get("/readyz", token="unknown")).json == COUNTED
        assert (await server.get("/readyz", token="sre")).json == DEGRADED
        assert (await server.locally("GET", "/readyz")).json == DEGRADED
        for path in ("/healthz", "/metrics"):
            assert "inc-1" not in (await server.get(path)).text
        server.desk.unread = Reply(ok=False, message="not a reader", reason="NOT_A_READER")
        assert (await server.get("/readyz", token="sre")).json == COUNTED


async def test_a_probe_is_answered_whatever_is_away() -> None:
    reviews = Reviews(sre=SRE)
    reviews.away = "the API server does not answer"
    async with site(reviews) as server:
        server.state = DEGRADED
        assert (await server.get("/readyz", token="sre")).json == COUNTED


async def test_metrics_are_in_the_format_of_prometheus() -> None:
    async with site(Reviews()) as server:
        answer = await server.get("/metrics")
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert answer.text == "handrail_up 1\n"


@pytest.mark.parametrize(
    ("sent", "more"),
    [
        (b"", b""),
        (b"GET /healthz HT", b""),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"X-Slow: y\r\n"),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\n", b"X-Slow: y\r\n"),
    ],
)
async def test_a_connection_on_which_no_whole_request_comes_is_closed(
    sent: bytes, more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "IDLE_SECONDS", 0.1)
    async with site(Reviews()) as server, asyncio.timeout(30):
        host, port = listen_address(server.url.removeprefix("http://"))
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(sent)
        while not reader.at_eof():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(reader.read(1000), 0.01)
            writer.write(more)
        writer.close()
