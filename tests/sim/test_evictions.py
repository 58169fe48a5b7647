"""Evictions and budgets, with a clock that the test turns."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.sim.evict import evict
from handrail.sim.kinds import BUDGET, POD
from handrail.sim.objects import Obj, name_of, uid_of
from handrail.sim.status import ApiError
from tests.sim.still import CRASH, NS, Still


def budget(still: Still, **spec: Any) -> None:
    wanted = {"selector": {"matchLabels": {"app": "checkout"}}, **spec}
    still.registry.create(BUDGET, NS, {"metadata": {"name": "checkout"}, "spec": wanted})


def allowed(still: Still) -> int:
    return int(still.all(BUDGET)[0]["status"]["disruptionsAllowed"])


def try_to_evict(still: Still, pod: Obj, **options: Any) -> None:
    evict(still.registry, still.registry.get(POD, NS, name_of(pod)), {"deleteOptions": options}, {})


def test_a_second_eviction_finds_the_budget_spent(still: Still) -> None:
    still.deploy(3)
    budget(still, minAvailable=2)
    still.after(2)
    first, second, _ = still.pods
    try_to_evict(still, first)
    with pytest.raises(ApiError, match="disruption budget") as refused:
        try_to_evict(still, second)
    assert refused.value.code == 429
    assert "retryAfterSeconds" not in (refused.value.details or {})
    assert (refused.value.details or {})["causes"][0]["reason"] == "DisruptionBudget"
    still.after(3)
    try_to_evict(still, second)


def test_a_budget_that_is_not_counted_yet_says_when_to_ask_again(still: Still) -> None:
    still.deploy(3)
    still.after(2)
    budget(still, minAvailable=2)
    with pytest.raises(ApiError, match="disruption budget") as refused:
        try_to_evict(still, still.pods[0])
    assert (refused.value.details or {})["retryAfterSeconds"] == 10
    still.after(1)
    try_to_evict(still, still.pods[0])


def test_an_eviction_that_is_refused_for_its_uid_spends_the_budget_for_two_minutes(still: Still) -> None:
    still.deploy(3)
    budget(still, minAvailable=2)
    still.after(2)
    with pytest.raises(ApiError) as refused:
        try_to_evict(still, still.pods[0], preconditions={"uid": "another"})
    assert refused.value.code == 409
    still.after(110)
    assert allowed(still) == 0
    still.after(15)
    assert allowed(still) == 1


def test_a_dry_run_spends_nothing_and_evicts_nobody(still: Still) -> None:
    still.deploy(3)
    budget(still, maxUnavailable=1)
    still.after(2)
    try_to_evict(still, still.pods[0], dryRun=["All"], preconditions={"uid": uid_of(still.pods[0])})
    still.after(2)
    assert allowed(still) == 1
    assert len(still.pods) == 3


def test_a_pod_that_does_not_work_goes_without_the_budget_once_enough_others_do(still: Still) -> None:
    still.deploy(3)
    budget(still, minAvailable=3)
    still.after(2)
    still.roll_out(CRASH)
    still.after(3)
    broken = next(pod for pod in still.pods if pod["spec"]["containers"][0]["image"] == CRASH)
    assert allowed(still) == 0
    try_to_evict(still, broken)
    still.after(1)
    assert name_of(broken) not in still.names(POD)


def test_a_share_is_counted_from_the_owners_size(still: Still) -> None:
    still.deploy(4)
    budget(still, maxUnavailable="30%")
    still.after(2)
    status = still.all(BUDGET)[0]["status"]
    assert (status["expectedPods"], status["desiredHealthy"], status["disruptionsAllowed"]) == (4, 2, 2)
