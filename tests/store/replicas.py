"""Two replicas on one database: what the tests of them need; the fixtures are imported by name."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.store import Access, Store
from handrail.core.gate import GateFacts, judge
from handrail.model import events as ev
from handrail.model.budgets import Budget, Budgets, RiskBudgets
from handrail.model.errors import HandrailError, HeadMoved, Transient
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason, Refusal
from handrail.model.switch import Permit
from tests.factories import (
    CLUSTER,
    FakeTime,
    a_policy,
    an_intent,
)
from tests.store.driving import behind, walk

SHORT = Access(lease_seconds=4.5)
"""Short enough to be seen ending, and long enough that a machine that stalls for a second or two costs no lease."""


@pytest.fixture
def kind() -> str:
    return "postgresql"


@pytest.fixture
async def other(url: str, time: FakeTime) -> AsyncIterator[Store]:
    """A second replica on the same database."""
    opened = await Store.open(url, cluster=CLUSTER, clock=time)
    yield opened
    await opened.close()


def real(intent: ev.Intent) -> Callable[[GateFacts], Refusal | None]:
    """The gate's own judge, with budgets that the tests of replicas do not reach."""
    budgets = Budgets(per_cluster=Budget(most=1000), per_risk=RiskBudgets(disruptive=None), at_once=1000)
    policy = a_policy().model_copy(update={"budgets": budgets})
    return lambda facts: judge(facts, policy, "handrail", intent.write, intent.direction)


def intent_of(incident: Incident) -> ev.Intent:
    assert incident.saga is not None
    return an_intent(incident.saga)


async def tries(store: Store, incident: Incident, intent: ev.Intent) -> Permit | Refusal | HandrailError:
    """As a replica does it: takes the lease, then asks the gate."""
    try:
        async with store.driving(incident) as ours:
            if not ours:
                return Refusal(reason=Reason.LEASE_LOST, detail="another replica drives it")
            passed = await store.commit_intent(incident, intent, real(intent))
    except (HeadMoved, Transient) as lost:
        return lost
    return passed if isinstance(passed, Refusal) else passed[1]


async def expire(path: Path, id_: str) -> None:
    behind(path).execute("UPDATE incidents SET lease_until = now() - interval '1 second' WHERE id = :id", {"id": id_})


async def walk_to_executing(store: Store, workload: str) -> Incident:
    incident = await walk(store, State.EXECUTING, workload)
    await store.let_go(incident.id)
    return incident


def cut(path: Path) -> None:
    """Everybody's connections to this database, whatever they are doing."""
    behind(path).execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ? AND pid <> pg_backend_pid()",
        (path.name,),
    )


async def eventually(work: Callable[[], Awaitable[Any]]) -> Any:
    for _ in range(50):
        with contextlib.suppress(Transient):
            return await work()
        await asyncio.sleep(0.1)
    return await work()


def permitted(passed: tuple[Incident, Permit] | Refusal) -> tuple[Incident, Permit]:
    assert not isinstance(passed, Refusal), passed
    return passed
