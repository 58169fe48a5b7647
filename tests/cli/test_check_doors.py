"""`handrail check` knocks at the doors for alerts, and asks Alertmanager, without taking anything in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.site import Site, only
from tests.http.doors import TOKEN, Room, doors
from tests.servers.alertmanager import AlertmanagerServer


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return Site(tmp_path)


def with_token(here: Site, folder: Path, listen: str, text: str = TOKEN) -> Site:
    (folder / "intake-token").write_text(text)
    here.config["intake"] = {"http": {"tokens": [{"file": str(folder / "intake-token")}]}}
    here.config["http"] = {"listen": "127.0.0.1:9", "intake": listen.removeprefix("http://")}
    return here


async def test_a_token_that_opens_is_said_and_nothing_is_taken_in(here: Site, tmp_path: Path) -> None:
    room = Room(received={"entries": 0})
    async with doors(room, own=True) as at:
        line = only(await with_token(here, tmp_path, at.url).check(), "intake token 0")
        assert line.ok
        assert at.url in line.text
    assert [body for _, body in room.bodies] == [b""], "an OTLP request without a single log record"


async def test_a_token_that_is_refused_fails_with_what_to_do(here: Site, tmp_path: Path) -> None:
    async with doors(Room(), own=True) as at:
        line = only(await with_token(here, tmp_path, at.url, "another-token-of-some-length").check(), "intake token 0")
        assert not line.ok
        assert "refused" in line.text


async def test_without_a_daemon_the_token_is_read_and_that_is_said(here: Site, tmp_path: Path) -> None:
    line = only(await with_token(here, tmp_path, "0.0.0.0:9").check(), "intake token 0")
    assert line.ok
    assert "not tried" in line.text


@pytest.mark.parametrize("text", ["", "short"])
async def test_a_token_that_is_none_fails(here: Site, tmp_path: Path, text: str) -> None:
    assert not only(await with_token(here, tmp_path, "127.0.0.1:9", text).check(), "intake token 0").ok


async def test_an_address_that_is_none_is_found(here: Site, tmp_path: Path) -> None:
    assert "http.intake" in only(await with_token(here, tmp_path, ":8081").check(), "config").text


async def test_an_alertmanager_that_is_away_fails(here: Site) -> None:
    here.config["alertmanager"] = {"url": "http://127.0.0.1:9"}
    line = only(await here.check(), "alertmanager")
    assert not line.ok
    assert "away" in line.text


@pytest.mark.server
async def test_an_alertmanager_that_answers_is_named_with_its_version(
    here: Site, alertmanager_server: AlertmanagerServer
) -> None:
    here.config["alertmanager"] = {"url": alertmanager_server.url}
    line = only(await here.check(), "alertmanager")
    assert line.ok
    assert "version 0." in line.text
