"""An event of a newer build leaves its incident to newer replicas, and says so wherever somebody may look."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from structlog.testing import capture_logs

from handrail.adapters.store.chain import entry_hash
from handrail.loop import Reconciler
from handrail.model.incident import State
from handrail.model.switch import Reach, Scope
from tests.breaks.worlds import alerted, lossy
from tests.reconciler.rig import LOCAL, Rig, Shop, asking, ended, rig
from tests.store.places import behind

AT = "2026-11-03T03:00:00.000000+00:00"


async def of_a_newer_build(life: Rig, path: Path, id_: str, kind: str, version: int) -> None:
    last = (await life.tools.store.entries(id_))[-1]
    data = {"kind": kind, "text": "from the future", "by": "handrail"}
    seal = entry_hash(last.hash, (id_, last.seq + 1, AT), (kind, data), "newer", version)
    row = (id_, last.seq + 1, AT, kind, version, json.dumps(data), "newer", last.hash, seal)
    behind(path).execute(f"INSERT INTO journal VALUES ({', '.join('?' * len(row))})", row)
    behind(path).execute("UPDATE incidents SET head = ? WHERE id = ?", (last.seq + 1, id_))


async def looked_at(life: Rig) -> list[str]:
    """One round of the loop; the warnings and errors that it logged."""
    with capture_logs() as logged:
        async with asyncio.TaskGroup() as group:
            await Reconciler(life.tools).start_due(group)
    return [str(line) for line in logged if line["log_level"] == "error"]


async def test_a_kind_or_a_version_that_this_build_does_not_know_is_left_and_said(shop: Shop, tmp_path: Path) -> None:
    for kind, version in (("teleported", 1), ("noted", 2)):
        folder = tmp_path / kind
        folder.mkdir()
        async with rig(shop, folder) as life:
            await alerted(shop, life)
            waiting = await life.run(asking)
            await of_a_newer_build(life, folder / "handrail.db", waiting.id, kind, version)
            (said,) = await looked_at(life)
            assert kind in said
            assert kind in life.tools.store.unfit()[waiting.id]
            (row,) = await life.desk.incidents(10)
            assert (row["state"], kind in row["left"]) == (State.ASKING, True)
            assert (await life.tools.store.audit()).ok


async def test_a_stop_that_only_a_newer_build_can_read_leaves_all_to_it_and_stops_no_stop(
    shop: Shop, tmp_path: Path
) -> None:
    """Nobody here knows what it concerns: nothing is written, nothing is handed over, and a press still works."""
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        waiting = await life.run(asking)
        row = f"('workload', 'Deployment shop/checkout', 1, 'cli:sre', 'freeze', '{AT}')"
        behind(tmp_path / "handrail.db").execute(f"INSERT INTO stops VALUES {row}")
        no = await life.answer("approve")
        assert (no.ok, "a newer build stopped" in no.message) == (False, True)
        (said,) = await looked_at(life)
        assert "a newer build stopped workload Deployment shop/checkout" in said
        after = await life.the_incident()
        assert (after.state, after.end, after.writes) == (State.ASKING, None, ())
        status = await life.desk.status()
        assert any("a newer build stopped" in line for line in status["lines"])
        assert status["stops_of_newer_builds"] == ["workload Deployment shop/checkout"]
        shops = Reach(scope=Scope.NAMESPACE, name="shop")
        assert (await life.desk.switch(True, LOCAL, "mine", shops)).ok
        lifted = await life.desk.switch(False, LOCAL, "", shops)
        assert "still on: a newer build stopped" in lifted.message
        behind(tmp_path / "handrail.db").execute("DELETE FROM stops WHERE scope = 'workload'")
        done = await life.run(ended, approve=True)
        assert (waiting.id, done.state) == (done.id, State.RESOLVED)


async def test_what_became_of_a_write_is_found_out_also_under_a_stop_of_a_newer_build(
    shop: Shop, tmp_path: Path
) -> None:
    """A stop blocks new intents, never results (design, state rule 8)."""
    async with rig(shop, tmp_path) as plain:
        life = lossy(plain, [], after=frozenset({1}))
        await alerted(shop, life)
        await life.run(lambda i: i.open_write is not None, approve=True)
        row = f"('workload', 'x', 1, 'cli:sre', 'freeze', '{AT}')"
        behind(tmp_path / "handrail.db").execute(f"INSERT INTO stops VALUES {row}")
        known = await life.run(lambda i: i.open_write is None, minutes=1)
        assert [run.done for run in known.writes] == [True]
