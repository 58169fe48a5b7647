"""Who may read: what incidents, reports and the audit hold is shown to those whom the policy names, and to no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.answer import is_one_of
from handrail.core.reading import may_read
from handrail.model.approval import Approvers, Person, Readers
from handrail.model.policy import Policy
from handrail.model.reason import Reason
from tests.breaks.worlds import alerted
from tests.reconciler.rig import POLICY, Shop, asking, rig

ALICE = Person(via="kubernetes", name="alice", groups=("sre", "system:authenticated"))
NAMES = st.sampled_from(["alice", "bob", "", "sre", "U0ONCALL", "system:authenticated"])
LISTS = st.lists(NAMES, max_size=2).map(tuple)
PEOPLE = st.builds(Person, via=st.sampled_from(["kubernetes", "slack", "header", ""]), name=NAMES, groups=LISTS)
APPROVERS = st.builds(Approvers, users=LISTS, groups=LISTS, slack_users=LISTS, local=st.booleans())
READERS = st.builds(Readers, users=LISTS, groups=LISTS)


@given(PEOPLE, APPROVERS, APPROVERS, READERS)
def test_nobody_reads_whom_no_list_of_the_policy_names(
    person: Person, approvers: Approvers, operators: Approvers, readers: Readers
) -> None:
    policy = Policy(version=1, approvers=approvers, operators=operators, readers=readers)
    named = [approvers, operators, Approvers(users=readers.users, groups=readers.groups)]
    assert (may_read(policy, person) is None) == any(is_one_of(some, person) for some in named)


def test_a_policy_without_readers_lets_only_those_read_who_may_decide_or_stop() -> None:
    assert may_read(Policy(version=1, approvers=Approvers(groups=("sre",))), ALICE) is None
    assert may_read(Policy(version=1, operators=Approvers(users=("alice",))), ALICE) is None
    refusal = may_read(Policy(version=1), ALICE)
    assert refusal is not None
    assert refusal.reason is Reason.NOT_A_READER
    assert "kubernetes:alice" in refusal.detail
    assert "`readers`" in refusal.detail


def test_the_owner_of_the_process_reads_whatever_the_policy_says() -> None:
    assert may_read(Policy(version=1), Person(via="local", name="handrail")) is None


@pytest.mark.parametrize("named", [{"users": ["alice"]}, {"groups": ["sre"]}])
async def test_a_reader_may_look_and_decide_nothing(shop: Shop, tmp_path: Path, named: dict[str, Any]) -> None:
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "readers": named}))
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        waiting = await life.run(asking)
        assert waiting.request is not None
        assert life.desk.may_read(ALICE) is None
        reply = await life.desk.decide(waiting.id, "approve", ALICE, waiting.request.id)
        assert (reply.ok, reply.reason) == (False, Reason.NOT_AN_APPROVER)
        assert not (await life.desk.switch(True, ALICE, "because")).ok


async def test_a_stranger_learns_nothing_by_trying_to_decide(shop: Shop, tmp_path: Path) -> None:
    """Not even whether there is such an incident."""
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        waiting = await life.run(asking)
        assert waiting.request is not None
        said = {
            (await life.desk.decide(id_, verb, ALICE, request)).message
            for id_ in (waiting.id, "inc-none", "")
            for verb in ("approve", "reject", "take", "give-back")
            for request in (waiting.request.id, None, "r-0")
        }
        assert len(said) == 1
        assert waiting.id not in said.pop()


async def test_taken_off_the_list_is_taken_off_at_once(shop: Shop, tmp_path: Path) -> None:
    """And a policy that breaks afterwards brings nobody back, nor does it blind those whom the last good one named."""
    file = tmp_path / "policy.yaml"
    file.write_text(yaml.safe_dump({**POLICY, "readers": {"users": ["alice", "bob"]}}))
    bob = Person(via="kubernetes", name="bob")
    async with rig(shop, tmp_path) as life:
        assert life.desk.may_read(ALICE) is None
        file.write_text(yaml.safe_dump({**POLICY, "readers": {"users": ["bob"]}}))
        assert life.desk.may_read(ALICE) is not None
        file.write_text("readers: {users: [alice]")
        assert life.desk.may_read(ALICE) is not None
        assert life.desk.may_read(bob) is None
