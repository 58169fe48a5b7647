"""Crashes: whatever moment a process dies at, what it said is there, and nothing is there by half."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.store import Store, claim, gate, journal
from handrail.core.fold import fold
from handrail.model import events as ev
from handrail.model.incident import State
from handrail.model.value import digest
from tests.factories import CLUSTER, FakeTime, a_saga, a_target, an_alert, an_intent, gathered
from tests.store.driving import TEXTS, arrive, drive, newest, passes, through_the_gate, walk

ROOT = Path(__file__).parents[2]
KILLS = (11, 40, 70)


class Pulled(BaseException):
    """The plug. No `except Exception` on the way may catch it."""


def pulled_after(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The statement is carried out, and then the process is as good as dead."""

    async def pulled(*args: Any, **named: Any) -> None:
        await original(*args, **named)
        raise Pulled

    return pulled


def pulled_before(_original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def pulled(*_args: Any, **_named: Any) -> None:
        raise Pulled

    return pulled


@pytest.mark.parametrize("pulled", [pulled_before, pulled_after])
@pytest.mark.parametrize("statement", ["write_rows", "_project"])
async def test_an_append_that_breaks_off_between_statements_leaves_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, statement: str, pulled: Callable[..., Any]
) -> None:
    incident = await walk(store, State.OPENED)
    with monkeypatch.context() as patched:
        patched.setattr(journal, statement, pulled(getattr(journal, statement)))
        with pytest.raises(Pulled):
            await store.append(incident, (ev.GatheringBegun(),), blobs={digest("text"): "text"})
    await nothing_left_of_it(store, incident.id, 1)
    assert await store.blob(digest("text")) is None
    assert (await store.append(incident, (ev.GatheringBegun(),))).seq == 2


@pytest.mark.parametrize("pulled", [pulled_before, pulled_after])
async def test_an_intent_that_breaks_off_leaves_neither_intent_nor_start(
    store: Store, monkeypatch: pytest.MonkeyPatch, pulled: Callable[..., Any]
) -> None:
    incident = await walk(store, State.EXECUTING)
    intent = an_intent(a_saga(incident.id))
    with monkeypatch.context() as patched:
        patched.setattr(gate, "_record_start", pulled(gate._record_start))
        with pytest.raises(Pulled):
            await through_the_gate(store, incident, intent, passes)
    await nothing_left_of_it(store, incident.id, incident.seq)
    assert (await drive(store, incident, (intent,))).open_write is not None


@pytest.mark.parametrize("pulled", [pulled_before, pulled_after])
@pytest.mark.parametrize("statement", ["extend", "note"])
async def test_a_merge_is_in_both_journals_or_in_none(
    store: Store, monkeypatch: pytest.MonkeyPatch, statement: str, pulled: Callable[..., Any]
) -> None:
    target = a_target("checkout", "uid-shared")
    winner = await walk(store, State.PLANNING, "checkout", target)
    loser = await walk(store, State.GATHERING, "cart")
    with monkeypatch.context() as patched:
        patched.setattr(claim, statement, pulled(getattr(claim, statement)))
        with pytest.raises(Pulled):
            await store.claim(loser, gathered(target), TEXTS)
    await nothing_left_of_it(store, loser.id, loser.seq)
    await nothing_left_of_it(store, winner.id, winner.seq)
    assert await store.claim(loser, gathered(target), TEXTS) == winner.id


async def nothing_left_of_it(store: Store, id_: str, seq: int) -> None:
    assert (await newest(store, id_)).seq == seq
    assert len(await store.entries(id_)) == seq
    assert (await store.audit()).ok


async def test_a_caller_that_is_cancelled_leaves_a_whole_transaction_and_a_usable_store(store: Store) -> None:
    incident = await walk(store, State.OPENED)
    for rounds in range(12):
        others = asyncio.all_tasks()
        task = asyncio.create_task(store.append(incident, (ev.Noted(text=str(rounds)),)))
        for _ in range(rounds * 3):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task, *(asyncio.all_tasks() - others)})
        incident = await newest(store, incident.id)
        assert len(await store.entries(incident.id)) == incident.seq
    assert (await store.audit()).ok


async def test_closing_waits_for_a_transaction_whose_caller_has_gone(url: str, time: FakeTime) -> None:
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    incident = await walk(store, State.OPENED)
    task = asyncio.create_task(store.append(incident, (ev.GatheringBegun(),)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    await store.close()
    store = await Store.open(url, cluster=CLUSTER, clock=time)
    assert (await newest(store, incident.id)).state is State.GATHERING
    await store.close()


async def test_a_killed_writer_loses_nothing_that_it_said_and_leaves_whole_journals(url: str, time: FakeTime) -> None:
    said: dict[str, int] = {}
    for lines in KILLS:
        await asyncio.to_thread(_write_and_kill, url, lines, said)
        store = await Store.open(url, cluster=CLUSTER, clock=time)
        report = await store.audit()
        heads = {id_: len(await store.entries(id_)) for id_ in said}
        folds = [(await newest(store, id_), fold(await store.entries(id_), cluster=CLUSTER)) for id_ in said]
        await store.close()
        assert report.ok, report
        assert all(heads[id_] >= seq for id_, seq in said.items())
        assert all(kept == folded for kept, folded in folds)
    assert store.epoch == 0 if store.replica else 2 * len(KILLS)


def _write_and_kill(url: str, lines: int, said: dict[str, int]) -> None:
    """Kills in the middle of whatever follows the last line that was read."""
    command = [sys.executable, "-m", "tests.store.writer", url]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(lines):
            id_, seq = process.stdout.readline().split()
            said[id_] = int(seq)
        process.send_signal(signal.SIGKILL)
        for line in process.stdout.read().splitlines(keepends=True):
            if line.endswith("\n"):
                said[line.split()[0]] = int(line.split()[1])
    assert process.returncode == -signal.SIGKILL


async def test_intake_goes_on_where_it_was_killed(store: Store) -> None:
    """A record that was taken, but whose offset was never committed, comes again."""
    id_ = await arrive(store, an_alert(), offset=5)
    assert await arrive(store, an_alert(), offset=5) == ""
    assert len(await store.entries(id_)) == 1
