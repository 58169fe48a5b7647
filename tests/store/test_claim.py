"""One open incident per target: whoever claims second is merged, in both journals at once."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from handrail.adapters.store import Store
from handrail.model import events as ev
from handrail.model.errors import Bug, HeadMoved
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from handrail.model.value import digest
from tests.factories import EVIDENCE, FakeTime, a_target, gathered
from tests.store.driving import TEXTS, drive, newest, walk

SHARED = a_target("checkout", "uid-shared")


async def test_the_first_claim_goes_on_and_keeps_its_evidence(store: Store) -> None:
    incident = await walk(store, State.GATHERING)
    claimed = await store.claim(incident, gathered(SHARED), TEXTS)
    assert isinstance(claimed, Incident)
    assert (claimed.state, claimed.target) == (State.PLANNING, SHARED)
    assert await store.blob(digest(EVIDENCE)) == EVIDENCE


async def test_the_second_claim_is_merged_in_both_journals(store: Store) -> None:
    first = await walk(store, State.PLANNING, "checkout", SHARED)
    second = await walk(store, State.GATHERING, "cart")
    assert await store.claim(second, gathered(SHARED), TEXTS) == first.id
    loser, winner = await newest(store, second.id), await newest(store, first.id)
    assert loser.state is State.SUPPRESSED
    end = (await store.entries(second.id))[-1].event
    assert isinstance(end, ev.Suppressed)
    assert (end.reason, end.into) == (Reason.MERGED, first.id)
    assert winner.state is State.PLANNING
    assert winner.alerts[-1] == second.alert
    told = [entry.event for entry in await store.entries(first.id)][-2:]
    assert isinstance(told[0], ev.AlertAttached)
    assert isinstance(told[1], ev.Noted)
    assert second.id in told[1].text
    assert await store.open_ids() == (first.id,)
    assert (await store.audit()).ok


async def test_of_two_claims_at_the_same_time_exactly_one_wins(store: Store) -> None:
    one = await walk(store, State.GATHERING, "checkout")
    other = await walk(store, State.GATHERING, "cart")
    ends = await asyncio.gather(store.claim(one, gathered(SHARED), TEXTS), store.claim(other, gathered(SHARED), TEXTS))
    winners = [end for end in ends if isinstance(end, Incident)]
    losers = [end for end in ends if isinstance(end, str)]
    assert len(winners) == len(losers) == 1
    assert losers == [winners[0].id]
    assert len(await store.open_ids()) == 1


async def test_a_target_whose_incident_has_ended_can_be_claimed_again(store: Store) -> None:
    first = await walk(store, State.PLANNING, "checkout", SHARED)
    await drive(store, first, (ev.HandedOver(reason=Reason.NO_RUNBOOK, detail="none"),))
    second = await walk(store, State.GATHERING, "cart")
    claimed = await store.claim(second, gathered(SHARED), TEXTS)
    assert isinstance(claimed, Incident)
    assert claimed.id == second.id


async def test_another_look_may_find_the_target_replaced_and_claims_the_new_one(store: Store, time: FakeTime) -> None:
    incident = await walk(store, State.ASKING, "checkout", SHARED)
    incident = await drive(store, incident, (ev.Voided(reason=Reason.TARGET_GONE, detail="deleted"),))
    replaced = SHARED.model_copy(update={"uid": "uid-new"})
    incident = await drive(store, incident, (gathered(replaced),))
    assert incident.target == replaced
    other = await walk(store, State.GATHERING, "cart")
    assert isinstance(await store.claim(other, gathered(SHARED), TEXTS), Incident)


async def test_a_claim_onto_an_old_head_is_not_written(store: Store) -> None:
    incident = await walk(store, State.GATHERING)
    await store.append(incident, (ev.Noted(text="moved"),))
    with pytest.raises(HeadMoved):
        await store.claim(incident, gathered(SHARED), TEXTS)
    assert await store.blob(digest(EVIDENCE)) is None


async def test_a_target_without_a_uid_can_not_be_claimed(store: Store) -> None:
    incident = await walk(store, State.GATHERING)
    nameless = SHARED.model_copy(update={"uid": ""})
    with pytest.raises(Bug):
        await store.claim(incident, gathered(nameless), TEXTS)


async def test_appending_a_held_target_beside_the_claim_is_a_bug(store: Store) -> None:
    await walk(store, State.PLANNING, "checkout", SHARED)
    second = await walk(store, State.GATHERING, "cart")
    with pytest.raises(Bug):
        await store.append(second, (gathered(SHARED),))
    assert await newest(store, second.id) == second


async def test_the_winner_may_go_on_while_the_loser_is_merged_into_it(store: Store, time: FakeTime) -> None:
    """The merge moves the winner's head: what was decided meanwhile is decided anew."""
    first = await walk(store, State.PLANNING, "checkout", SHARED)
    second = await walk(store, State.GATHERING, "cart")
    time.now += timedelta(seconds=5)
    await store.claim(second, gathered(SHARED), TEXTS)
    over = ev.HandedOver(reason=Reason.NO_RUNBOOK, detail="none")
    with pytest.raises(HeadMoved):
        await store.append(first, (over,))
    ended = await store.append(await newest(store, first.id), (over,))
    assert ended.state is State.HANDED_OVER
