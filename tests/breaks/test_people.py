"""People at the rail: who may do what, when two act at once, and what a card of before is still good for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml

from handrail.adapters.settings import PolicyFile
from handrail.model.approval import Person
from handrail.model.incident import State
from handrail.model.reason import Reason
from tests.breaks.worlds import alerted, lossy, pass_by
from tests.reconciler.rig import BAD, GOOD, LOCAL, POLICY, Shop, asking, ended, rig


async def test_two_people_who_approve_at_once_are_one_approval(shop: Shop, tmp_path: Path) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        waiting = await life.run(asking)
        assert waiting.request is not None
        request = waiting.request.id
        replies = await asyncio.gather(
            *(life.desk.decide(waiting.id, verb, LOCAL, request) for verb in ("approve", "approve", "approve"))
        )
        assert [reply.ok for reply in replies].count(True) == 1
        incident = await lossy(life, applied).run(ended)
        assert incident.state is State.RESOLVED
        assert len(applied) == 1


async def test_approve_and_reject_at_once_are_one_decision(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        waiting = await life.run(asking)
        assert waiting.request is not None
        both = (life.desk.decide(waiting.id, verb, LOCAL, waiting.request.id) for verb in ("reject", "approve"))
        replies = await asyncio.gather(*both)
        assert [reply.ok for reply in replies].count(True) == 1
        incident = await life.run(ended)
        assert (incident.state is State.RESOLVED) == replies[1].ok
        assert await shop.image() == (GOOD if replies[1].ok else BAD)


async def test_the_id_of_an_old_card_approves_nothing(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        first = await life.run(asking)
        assert first.request is not None
        await shop.patch({"op": "add", "path": "/spec/minReadySeconds", "value": 1})
        assert (await life.answer("approve")).ok
        await life.run(lambda i: i.state is State.ASKING and i.request != first.request)
        reply = await life.desk.decide(first.id, "approve", LOCAL, first.request.id)
        assert (reply.ok, reply.reason) == (False, Reason.APPROVAL_MISMATCH)


@pytest.mark.parametrize("state", [State.GATHERING, State.REHEARSING])
async def test_an_approver_can_take_it_before_anything_was_asked(shop: Shop, tmp_path: Path, state: State) -> None:
    """The card says so: `handrail take` keeps Handrail off it."""
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        incident = await life.run(lambda i: i.state is state)
        outsider = await life.desk.decide(incident.id, "take", Person(via="slack", name="U0STRANGER"), None)
        assert (outsider.ok, outsider.reason) == (False, Reason.NOT_AN_APPROVER)
        reply = await life.desk.decide(incident.id, "take", LOCAL, None)
        assert reply.ok, reply.message
        stranger = await life.desk.decide(incident.id, "give_back", Person(via="slack", name="U0STRANGER"), None)
        assert not stranger.ok
        assert (await life.desk.decide(incident.id, "give_back", LOCAL, None)).ok


async def test_somebody_who_is_no_approver_any_more_approves_nothing(shop: Shop, tmp_path: Path) -> None:
    """Policy as it is now: whoever was taken off the list while the card stood there has no say left."""
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        (tmp_path / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "approvers": {"slack_users": ["U0ONCALL"]}}))
        reply = await life.answer("approve")
        assert (reply.ok, reply.reason) == (False, Reason.NOT_AN_APPROVER)
        incident = await life.the_incident()
        assert incident.state is State.ASKING


async def test_taken_while_a_write_is_in_flight_nothing_more_is_written(shop: Shop, tmp_path: Path) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        losing = lossy(life, applied, before=frozenset({1}))
        await losing.run(lambda i: i.open_write is not None, approve=True)
        assert (await life.answer("take")).ok
        incident = await pass_by(losing, lambda i: i.open_write is None, minutes=60)
        assert incident.taken_by == LOCAL or incident.state.terminal
        assert applied == []


async def test_stop_works_while_the_policy_is_broken(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        (tmp_path / "policy.yaml").write_text("version: [")
        reply = await life.desk.switch(True, LOCAL, "something is wrong")
        assert reply.ok, reply.message
        assert (await life.tools.store.switch()).stopped


async def test_what_a_write_did_is_found_out_while_the_policy_is_broken(shop: Shop, tmp_path: Path) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        losing = lossy(life, applied, after=frozenset({1}))
        await losing.run(lambda i: i.open_write is not None, approve=True)
        (tmp_path / "policy.yaml").write_text("version: [")
        await losing.run(lambda i: i.open_write is None, minutes=1)
        assert len(applied) == 1


async def test_an_alert_is_taken_in_while_the_policy_is_broken_and_goes_on_when_it_is_mended(
    shop: Shop, tmp_path: Path
) -> None:
    async with rig(shop, tmp_path) as life:
        good = (tmp_path / "policy.yaml").read_text()
        (tmp_path / "policy.yaml").write_text("version: [")
        await alerted(shop, life)
        assert len(await life.incidents()) == 1
        await shop.live(5)
        (tmp_path / "policy.yaml").write_text(good)
        incident = await life.run(ended, approve=True)
        assert incident.state is State.RESOLVED, incident.end


async def test_a_policy_that_stays_broken_is_told_to_a_person(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        (tmp_path / "policy.yaml").write_text("version: [")
        incident = await pass_by(life, ended, minutes=60)
        assert incident.end is not None
        assert incident.end[0] is Reason.APPROVAL_EXPIRED
        assert await shop.image() == BAD


async def test_a_broken_policy_is_said_and_said_no_more_once_it_is_mended(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path):
        policy = PolicyFile(tmp_path / "policy.yaml")
        assert policy.problem() == ""
        good = (tmp_path / "policy.yaml").read_text()
        (tmp_path / "policy.yaml").write_text("version: [")
        assert "nothing is allowed" in policy.problem()
        assert policy.last_good().rules
        (tmp_path / "policy.yaml").write_text(good)
        assert policy.problem() == ""
