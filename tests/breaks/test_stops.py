"""Stops of a namespace and of a step, and those that the cluster itself holds: met, latched, told, started again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from handrail.adapters.slack import Command
from handrail.core.standing import next_action, status
from handrail.core.story import line
from handrail.model import events as ev
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from handrail.model.switch import CLUSTER, EVERYTHING, Reach, Scope
from tests.breaks.guards import SHOP, WORDS, Rights, guarded
from tests.breaks.worlds import alerted, gloomy, lossy
from tests.reconciler.rig import BAD, GOOD, LOCAL, POLICY, Rig, Shop, asking, ended, rig

BANK = Reach(scope=Scope.NAMESPACE, name="bank")
UNDO = Reach(scope=Scope.STEP, name="rollout_undo")
SCALE = Reach(scope=Scope.STEP, name="scale_workload")


def paused(incident: Incident) -> bool:
    return incident.paused


def acted(incident: Incident) -> bool:
    return any(run.done for run in incident.writes)


async def told(life: Rig, incident: Incident) -> list[str]:
    return [said for entry in await life.tools.store.entries(incident.id) if (said := line(entry))]


async def rests(life: Rig, incident: Incident) -> None:
    """Many looks and much time later nothing has happened."""
    for _ in range(5):
        await life._round()
        await life.shop.live(30)
    assert (await life.the_incident()).seq == incident.seq


@pytest.mark.parametrize("reach", [EVERYTHING, SHOP, UNDO], ids=str)
async def test_a_stop_of_what_it_is_about_holds_until_its_own_start(shop: Shop, tmp_path: Path, reach: Reach) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        reply = await life.desk.switch(True, LOCAL, "release freeze", reach)
        assert "1 open incident is concerned" in reply.message
        incident = await life.run(paused)
        assert (await told(life, incident))[-1] == (
            f"local:tester stopped {reach}: release freeze. Nothing has been changed."
        )
        assert f"`handrail start{reach.flag}`" in next_action(incident, shop.clock.now())
        no = await life.answer("approve")
        assert (no.ok, no.reason) == (False, Reason.STOPPED)
        for other in {EVERYTHING, SHOP, UNDO, SCALE} - {reach}:
            assert "was not stopped" in (await life.desk.switch(False, LOCAL, "", other)).message
        await rests(life, incident)
        assert (await life.desk.switch(False, LOCAL, "", reach)).ok
        resumed = await life.run(lambda i: not i.paused)
        assert resumed.state is State.ASKING, "it goes on where it stood"
        done = await life.run(ended, approve=True)
        assert done.state is State.RESOLVED, done.end


@pytest.mark.parametrize("reach", [EVERYTHING, SHOP, UNDO], ids=str)
async def test_an_approval_right_after_a_stop_does_not_count_and_goes_off_after_no_start(
    shop: Shop, tmp_path: Path, reach: Reach
) -> None:
    """Its incident has not been looked at since, and its card does not show the stop yet."""
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        await life.desk.switch(True, LOCAL, "freeze", reach)
        no = await life.answer("approve")
        assert (no.ok, no.reason) == (False, Reason.STOPPED)
        assert no.message == f"local:tester stopped {reach}: freeze; approve after `handrail start{reach.flag}`"
        await life.desk.switch(False, LOCAL, "", reach)
        incident = await life.the_incident()
        await rests(life, incident)
        assert asking(incident)
        assert (await life.answer("approve")).ok


@pytest.mark.parametrize("reach", [BANK, SCALE], ids=str)
async def test_a_stop_of_something_else_is_none_of_its_business(shop: Shop, tmp_path: Path, reach: Reach) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        assert "0 open incidents are concerned" in (await life.desk.switch(True, LOCAL, "freeze", reach)).message
        incident = await life.run(ended, approve=True)
        assert incident.state is State.RESOLVED, incident.end


async def test_of_two_stops_lifting_one_leaves_the_other_and_says_so(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        await life.desk.switch(True, LOCAL, "the shop migrates", SHOP)
        await life.run(lambda i: i.stop is not None and i.stop.reach == SHOP)
        await life.desk.switch(True, LOCAL, "all hands off", EVERYTHING)
        await life.run(lambda i: i.stop is not None and i.stop.reach == EVERYTHING)
        lifted = await life.desk.switch(False, LOCAL, "")
        assert "still on: local:tester stopped namespace shop: the shop migrates" in lifted.message
        assert "`handrail start --in-namespace shop`" in lifted.message
        await life.run(lambda i: i.stop is not None and i.stop.reach == SHOP)
        lines = (await life.desk.status())["lines"]
        assert lines[0].startswith("STOPPED: namespace shop, by local:tester since ")
        assert lines[0].endswith("UTC: the shop migrates")
        await life.desk.switch(False, LOCAL, "", SHOP)
        assert (await life.run(ended, approve=True)).state is State.RESOLVED


async def test_the_thread_hears_what_a_stop_leaves_half_done(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(acted, approve=True)
        await life.desk.switch(True, LOCAL, "wait", UNDO)
        incident = await life.run(paused)
        assert "wait. Done so far: put the pod template" in (await told(life, incident))[-1]
        assert "Done so far: " in status(incident, shop.clock.now())


async def test_a_stop_is_told_also_while_nobody_knows_whether_the_write_landed(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as plain:
        life = lossy(plain, [], before=frozenset(range(1, 9)))
        await alerted(shop, life)
        await life.run(lambda i: i.open_write is not None, approve=True)
        await life.desk.switch(True, LOCAL, "freeze")
        held = await life.run(paused, minutes=1)
        assert held.open_write is not None
        assert any("freeze" in said for said in await told(life, held))
        await life.desk.switch(False, LOCAL, "")
        going = await life.run(lambda i: not i.paused, minutes=1)
        assert going.state is State.EXECUTING


@pytest.mark.parametrize(
    ("reach", "why"),
    [
        (Reach(scope=Scope.NAMESPACE, name="Not/One"), "x"),
        (Reach(scope=Scope.NAMESPACE, name="a" * 64), "x"),
        (Reach(scope=Scope.STEP, name="rollout_und"), "x"),
        (EVERYTHING, " "),
    ],
)
async def test_a_press_that_would_stop_nothing_is_refused(shop: Shop, tmp_path: Path, reach: Reach, why: str) -> None:
    async with rig(shop, tmp_path) as life:
        assert not (await life.desk.switch(True, LOCAL, why, reach)).ok
        assert (await life.tools.store.switch()).pressed == ()


async def test_only_operators_and_approvers_command_and_status_names_each_stop(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        policy = {**POLICY, "operators": {"slack_users": ["U0OPS"], "local": True}}
        (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
        await alerted(shop, life)
        await life.run(asking)

        async def says(user: str, text: str) -> str:
            return await life.desk.command(Command(user=user, text=text, respond="https://hooks.slack.com/x"))

        assert "neither an operator nor an approver" in await says("U0STRANGER", "stop freeze")
        assert "neither an operator nor an approver" in await says("U0STRANGER", "status")
        assert (await life.tools.store.switch()).stops == ()
        assert "can't be read" in await says("U0OPS", "stop --namespace shop freeze")
        assert (await life.tools.store.switch()).stops == ()
        assert "1 open incident is concerned" in await says("U0OPS", "stop --in-namespace shop it migrates")
        assert "STOPPED: namespace shop, by slack:U0OPS since " in await says("U0OPS", "status")
        assert "started" in await says("U0OPS", "start --in-namespace shop")
        assert await says("U0OPS", "status") == "not stopped\n1 open incident"
        assert [stop.reach for stop in (await life.tools.store.switch()).pressed] == [SHOP]
        assert EVERYTHING not in [stop.reach for stop in (await life.tools.store.switch()).stops]


# what the cluster holds


async def test_a_dry_run_that_the_stop_policy_refuses_latches_with_the_persons_words(
    shop: Shop, tmp_path: Path
) -> None:
    async with rig(shop, tmp_path) as plain:
        life, hands = guarded(plain, annotated=True)
        await alerted(shop, life)
        incident = await life.run(paused)
        assert (incident.state, incident.stop and incident.stop.why) == (State.REHEARSING, WORDS)
        (stop,) = (await life.tools.store.switch()).stops
        assert (stop.reach, stop.by, stop.why) == (SHOP, CLUSTER, WORDS)
        assert (await told(life, incident))[-1] == (
            f"The cluster refuses every write in namespace shop: {WORDS}. Nothing has been changed."
        )
        assert len(hands.refused) == 1
        await rests(life, incident)
        assert len(hands.refused) == 1, "never retried in a loop"
        hands.annotated = False
        await rests(life, incident)
        assert len(hands.refused) == 1, "lifted in the cluster alone: a person has to say start"
        assert (await life.desk.switch(False, LOCAL, "", SHOP)).ok
        done = await life.run(ended, approve=True)
        assert done.state is State.RESOLVED, done.end


async def test_put_while_the_card_is_open_nothing_is_written_and_start_repairs(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as plain:
        life, hands = guarded(plain)
        await alerted(shop, life)
        await life.run(asking)
        hands.annotated = True
        assert (await life.answer("approve")).ok
        incident = await life.run(paused)
        assert (incident.state, incident.writes, hands.applied) == (State.EXECUTING, (), [])
        assert await shop.image() == BAD
        assert (await life.desk.switch(False, LOCAL, "", SHOP)).ok
        again = await life.run(lambda i: len(hands.refused) == 2 and i.paused)
        await rests(life, again)
        assert len(hands.refused) == 2, "started too early it is met once more, once"
        hands.annotated = False
        await life.desk.switch(False, LOCAL, "", SHOP)
        done = await life.run(ended)
        assert (done.state, len(hands.applied)) == (State.RESOLVED, 1)
        assert await shop.image() == GOOD


@pytest.mark.parametrize("gone", [False, True], ids=["annotation", "binding"])
async def test_a_write_that_is_refused_is_absent_latched_with_its_outcome_and_done_after_start(
    shop: Shop, tmp_path: Path, gone: bool
) -> None:
    async with rig(shop, tmp_path) as plain:
        rights = Rights(left=not gone)
        life, hands = guarded(plain, rights, at_writes=True)
        await alerted(shop, life)
        await life.run(asking)
        hands.annotated, hands.bound = not gone, not gone
        await life.answer("approve")
        incident = await life.run(paused)
        (run,) = incident.writes
        assert run.outcome is not None
        assert (run.outcome.result, run.outcome.reason) == (ev.Result.ABSENT, Reason.STOPPED)
        reach = EVERYTHING if gone else SHOP
        assert [stop.reach for stop in (await life.tools.store.switch()).stops] == [reach]
        await rests(life, incident)
        hands.annotated, hands.bound, rights.left = False, True, True
        await life.desk.switch(False, LOCAL, "", reach)
        done = await life.run(ended)
        assert (done.state, len(hands.applied)) == (State.RESOLVED, 1)


async def test_a_write_that_was_lost_before_the_stop_stays_unknown_until_it_is_found_out(
    shop: Shop, tmp_path: Path
) -> None:
    """Sent again it is refused, but the lost one may still land: no outcome is made up."""
    async with rig(shop, tmp_path) as plain:
        life, hands = guarded(plain, at_writes=True, lost=frozenset({1}))
        await alerted(shop, life)
        await life.run(asking)
        hands.annotated = False
        await life.answer("approve")
        await life.run(lambda i: i.open_write is not None)
        hands.annotated = True
        incident = await life.run(paused)
        assert incident.open_write is not None
        for _ in range(5):
            await life._round()
        assert len(hands.refused) == 1
        hands.annotated = False
        await life.desk.switch(False, LOCAL, "", SHOP)
        done = await life.run(ended)
        assert (done.state, len(hands.applied)) == (State.RESOLVED, 1)


async def test_an_undo_that_the_cluster_refuses_waits_for_start_and_is_done_then(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as plain:
        life, hands = guarded(gloomy(plain))
        await alerted(shop, life)
        await life.run(lambda i: i.state is State.UNDOING, approve=True)
        hands.annotated = True
        incident = await life.run(paused)
        assert incident.state is State.UNDOING
        assert "Done so far: " in (await told(life, incident))[-1]
        hands.annotated = False
        await life.desk.switch(False, LOCAL, "", SHOP)
        await life.run(lambda i: bool(i.undone_steps))
        assert await shop.image() == BAD


async def test_every_right_gone_stops_everything_and_any_right_left_is_a_refusal(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as plain:
        rights = Rights(left=False)
        life, _hands = guarded(plain, rights, bound=False)
        await alerted(shop, life)
        incident = await life.run(paused)
        (stop,) = (await life.tools.store.switch()).stops
        assert (stop.reach, stop.by) == (EVERYTHING, CLUSTER)
        assert rights.asked == [(("delete", "patch"), "shop")], "the rights of the enabled steps, there"
        assert "none of the rights to write is left" in (await told(life, incident))[-1]
        await rests(life, incident)
        rights.left = True
        await life.desk.switch(False, LOCAL, "")
        over = await life.run(ended)
        assert over.end is not None
        assert over.end[0] is Reason.DENIED, "a 403 while rights are left is a refusal"
        assert (await life.tools.store.switch()).stops == ()


async def test_rights_that_cannot_be_asked_about_latch_nothing(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as plain:
        life, _hands = guarded(plain, Rights(away=True), bound=False)
        await alerted(shop, life)
        over = await life.run(ended)
        assert over.end is not None
        assert over.end[0] is Reason.DENIED
        assert (await life.tools.store.switch()).pressed == ()


@pytest.mark.parametrize("how", ["policy", "hands"])
async def test_where_nothing_may_be_written_nothing_is_sent_and_nothing_latches(
    shop: Shop, tmp_path: Path, how: str
) -> None:
    async with rig(shop, tmp_path) as plain:
        rights = Rights(left=False)
        life, hands = guarded(plain, rights, annotated=True)
        if how == "hands":
            quiet = life.tools.config.kubernetes.model_copy(update={"hands_enabled": False})
            config = life.tools.config.model_copy(update={"kubernetes": quiet})
            life = Rig(replace(life.tools, config=config), shop)
        else:
            rules = [{"namespaces": ["shop"], "steps": {"rollout_undo": "observe"}}]
            (tmp_path / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "rules": rules}))
        await alerted(shop, life)
        over = await life.run(ended)
        assert over.end is not None
        assert over.end[0] is Reason.OBSERVE_ONLY
        assert (hands.refused, rights.asked) == ([], [])
        assert (await life.tools.store.switch()).pressed == ()


async def test_a_latch_outlives_a_restart_and_stands_in_the_books(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as plain:
        life, _hands = guarded(plain, annotated=True)
        await alerted(shop, life)
        await life.run(paused)
    async with rig(shop, tmp_path) as plain:
        life, hands = guarded(plain)
        await rests(life, await life.the_incident())
        assert hands.refused == []
        lines = (await life.desk.status())["lines"]
        assert lines[0].startswith("STOPPED: namespace shop, by the cluster since ")
        assert WORDS in lines[0]
        assert "handrail start --cluster --namespace shop" in lines[1]
        assert (await life.tools.store.audit()).ok
