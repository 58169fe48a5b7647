"""`handrail stop|start|status` at a daemon's own API, desk, gate and store, on an incident of a simulated cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from structlog.testing import capture_logs

from handrail.adapters.http import HttpServer, Who
from handrail.model.approval import Person
from handrail.model.config import HttpConfig
from handrail.model.incident import Incident, State
from handrail.model.switch import EVERYTHING, Reach, Scope
from tests.breaks.worlds import Lossy, alerted
from tests.cli.support import Ran, handrail
from tests.cli.test_commands import one_line
from tests.http.support import SRE, Reviews
from tests.reconciler.conftest import shop
from tests.reconciler.rig import POLICY, Rig, Shop, asking, ended, rig

__all__ = ["shop"]

SHOP = Reach(scope=Scope.NAMESPACE, name="shop")
UNDO = Reach(scope=Scope.STEP, name="rollout_undo")
ABOUT_IT: dict[str, tuple[Reach, list[str]]] = {
    "everything": (EVERYTHING, []),
    "its namespace": (SHOP, ["--in-namespace", "shop"]),
    "its step": (UNDO, ["--step", "rollout_undo"]),
}
OTHERS = {"a namespace": ["--in-namespace", "bank"], "a step": ["--step", "scale_workload"]}


@dataclass
class Room:
    """A life of the daemon, and somebody at its socket."""

    life: Rig
    address: str
    socket: Path

    async def says(self, *words: str) -> Ran:
        return await asyncio.to_thread(handrail, *words, "--socket", str(self.socket))

    async def by_token(self, token: str, *words: str) -> Ran:
        return await asyncio.to_thread(handrail, *words, "--server", self.address, HANDRAIL_TOKEN=token)

    async def standing(self) -> Any:
        return (await self.says("status", "--json")).json

    async def rests(self) -> None:
        """Whatever time goes by, nothing more is journalled about the one incident."""
        before = await self.life.the_incident()
        for _ in range(5):
            await self.life._round()
            await self.life.shop.live(30)
        assert (await self.life.the_incident()).seq == before.seq


def paused(incident: Incident) -> bool:
    return incident.paused


@asynccontextmanager
async def opened(folder: Path, shop: Shop) -> AsyncIterator[Room]:
    async with rig(shop, folder) as life:
        reviews = Reviews(sre=SRE, stranger=Person(via="kubernetes", name="mallory"))

        async def ready() -> dict[str, Any]:
            return {"ready": True}

        async def metrics() -> bytes:
            return b""

        listen = HttpConfig(listen="127.0.0.1:0", socket=str(folder / "s"))
        server = HttpServer(listen, life.desk, Who(reviews), ready, metrics)
        address = await server.start()
        try:
            with capture_logs():  # the command's own output is what is looked at
                yield Room(life, address, folder / "s")
        finally:
            await server.stop()


@pytest.fixture
async def room(shop: Shop, tmp_path: Path) -> AsyncIterator[Room]:
    """With a question about the workload open."""
    async with opened(tmp_path, shop) as found:
        await alerted(shop, found.life)
        await found.life.run(asking)
        yield found


@pytest.mark.parametrize("what", ABOUT_IT)
async def test_what_is_stopped_is_not_written_until_the_same_words_start_it(room: Room, what: str) -> None:
    reach, named = ABOUT_IT[what]
    stopped = await room.says("stop", *named, "--reason", "release freeze")
    assert stopped.code == 0
    assert stopped.out.startswith("stopped by local:")
    assert f"until `handrail start{reach.flag}`; 1 open incident is concerned" in stopped.out

    incident = await room.life.run(paused)
    refused = await room.says("approve", incident.id, "--yes")
    assert "stopped" in one_line(refused, 3)
    await room.rests()

    started = await room.says("start", *named)
    assert (started.code, started.out.split(":")[0]) == (0, "started by local")
    incident = await room.life.run(lambda found: not found.paused)
    assert incident.state is State.ASKING, "it goes on where it stood"
    assert (await room.says("approve", incident.id, "--yes")).code == 0
    assert (await room.life.run(ended)).state is State.RESOLVED


@pytest.mark.parametrize("what", OTHERS)
async def test_a_stop_of_something_else_holds_up_nobody_here(room: Room, what: str) -> None:
    assert "0 open incidents are concerned" in (await room.says("stop", *OTHERS[what], "--reason", "freeze")).out
    incident = await room.life.the_incident()
    assert (await room.says("approve", incident.id, "--yes")).code == 0
    assert (await room.life.run(ended)).state is State.RESOLVED


@pytest.mark.parametrize("what", ABOUT_IT)
async def test_pressed_between_the_approval_and_the_write_it_comes_before_the_write(room: Room, what: str) -> None:
    """And what was approved stays approved: it goes on after the start without another click."""
    applied: list[str] = []
    room.life.tools = replace(room.life.tools, hands=Lossy(room.life.tools.hands, applied))
    incident = await room.life.the_incident()
    assert (await room.says("approve", incident.id, "--yes")).code == 0
    assert (await room.says("stop", *ABOUT_IT[what][1], "--reason", "no")).code == 0
    await room.life.run(paused)
    await room.rests()
    assert applied == []
    assert (await room.says("start", *ABOUT_IT[what][1])).code == 0
    assert (await room.life.run(ended)).state is State.RESOLVED
    assert len(applied) == 1


async def test_each_stop_is_lifted_by_itself_and_status_says_what_is_left(room: Room) -> None:
    for _, named in ABOUT_IT.values():
        await room.says("stop", *named, "--reason", "it \x1b[31mmigrates")
    found = await room.standing()
    assert [stop["reach"] for stop in found["stops"]] == ["everything", "namespace shop", "step rollout_undo"]
    assert {stop["by"].split(":")[0] for stop in found["stops"]} == {"local"}
    plain = (await room.says("status")).out
    assert "\x1b" not in plain
    assert [line.split(",")[0] for line in plain.splitlines() if line.startswith("STOPPED")] == [
        "STOPPED: everything",
        "STOPPED: namespace shop",
        "STOPPED: step rollout_undo",
    ]
    left = (await room.says("start")).out
    assert "still on: " in left
    assert "`handrail start --in-namespace shop`" in left
    assert "`handrail start --step rollout_undo`" in left
    await room.says("start", "--step", "rollout_undo")
    assert [stop["reach"] for stop in (await room.standing())["stops"]] == ["namespace shop"]
    await room.says("start", "--in-namespace", "shop")
    assert (await room.says("status")).out == "not stopped\n1 open incident\n"


async def test_a_start_of_what_was_not_stopped_says_so_and_records_nothing(room: Room) -> None:
    await room.says("stop", "--in-namespace", "shop", "--reason", "freeze")
    pressed = (await room.life.tools.store.switch()).pressed
    for named in ([], ["--step", "rollout_undo"], ["--in-namespace", "bank"]):
        done = await room.says("start", *named)
        assert done.code == 0
        assert "was not stopped" in done.out
        assert "still on: " in done.out
    assert (await room.life.tools.store.switch()).pressed == pressed


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (["--in-namespace", "Shop"], "can be no namespace's name"),
        (["--in-namespace", "shop/checkout"], "can be no namespace's name"),
        (["--in-namespace", "*"], "can be no namespace's name"),
        (["--step", "rollout_und"], "there is no step 'rollout_und'; `handrail steps` names them"),
        (["--step", "*"], "there is no step '*'"),
    ],
)
async def test_a_name_that_would_stop_nothing_is_refused_in_one_line(room: Room, named: list[str], said: str) -> None:
    for verb in (["stop", *named, "--reason", "freeze"], ["start", *named]):
        assert said in one_line(await room.says(*verb), 2)
    assert (await room.life.tools.store.switch()).pressed == ()


async def test_an_empty_name_is_no_name_and_never_means_all_of_them(room: Room) -> None:
    """`--in-namespace "$NS"` in a script, with NS unset."""
    for option in ("--in-namespace", "--step", "--namespace"):
        for verb in (["stop", "--reason", "freeze"], ["start"]):
            for empty in ("", " "):
                assert "names nothing" in one_line(await room.says(*verb, option, empty), 2)
                assert "names nothing" in one_line(await room.says(*verb, "--cluster", option, empty), 2)
    assert (await room.life.tools.store.switch()).pressed == ()


async def test_a_stop_without_a_reason_is_refused(room: Room) -> None:
    assert "say why" in one_line(await room.says("stop", "--step", "rollout_undo", "--reason", "  "), 2)
    one_line(await room.says("stop", "--step", "rollout_undo"), 2)
    assert (await room.life.tools.store.switch()).pressed == ()


async def test_whom_the_policy_does_not_name_neither_stops_nor_starts(room: Room, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "operators": {"groups": ["sre"]}}))
    for words in (["stop", "--in-namespace", "shop", "--reason", "x"], ["start", "--in-namespace", "shop"]):
        assert "neither an operator nor an approver" in one_line(await room.by_token("stranger", *words), 3)
        one_line(await room.by_token("unknown", *words), 3)
    assert (await room.life.tools.store.switch()).pressed == ()
    assert (await room.by_token("sre", "stop", "--in-namespace", "shop", "--reason", "x")).code == 0
    (stop,) = (await room.life.tools.store.switch()).stops
    assert (stop.by, stop.reach) == ("kubernetes:alice", SHOP)


async def test_a_stop_is_there_after_a_restart_and_the_next_process_is_told_of_the_start(
    shop: Shop, tmp_path: Path
) -> None:
    async with opened(tmp_path, shop) as room:
        await alerted(shop, room.life)
        await room.life.run(asking)
        await room.says("stop", "--step", "rollout_undo", "--reason", "wrong revision")
    async with opened(tmp_path, shop) as room:
        assert "STOPPED: step rollout_undo" in (await room.says("status")).out
        await room.life.run(paused)
        await room.says("start", "--step", "rollout_undo")
        assert (await room.life.run(ended, approve=True)).state is State.RESOLVED
