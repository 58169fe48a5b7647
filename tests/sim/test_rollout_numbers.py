"""The arithmetic of rolling updates, for whatever numbers and whatever order pods become available in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handrail.sim.controllers.rollout import Limits, Revision, grown, limits, shared_out, shrunk

COUNTS = st.integers(0, 12)


@given(COUNTS, COUNTS, COUNTS, st.lists(st.tuples(COUNTS, COUNTS), max_size=3), st.data())
def test_a_step_breaks_no_limit_that_was_kept_before(
    replicas: int, surge: int, unavailable: int, old: list[tuple[int, int]], data: st.DataObject
) -> None:
    limit = limits(replicas, surge, unavailable)
    size = data.draw(st.integers(0, replicas))
    new = Revision(size, data.draw(st.integers(0, size)))
    others = [Revision(max(pair), min(pair)) for pair in old]
    total = new.size + sum(r.size for r in others)
    assert grown(limit, new.size, total) + total - new.size <= max(limit.most, total)

    sizes = shrunk(limit, new, others)
    left = new.available + sum(min(r.available, s) for r, s in zip(others, sizes, strict=True))
    before = new.available + sum(r.available for r in others)
    assert left >= min(before, limit.least_available)
    assert all(0 <= s <= r.size for r, s in zip(others, sizes, strict=True))


@given(st.integers(1, 12), COUNTS, COUNTS)
def test_a_rollout_of_pods_that_become_available_ends(replicas: int, surge: int, unavailable: int) -> None:
    limit = limits(replicas, surge, unavailable)
    new, old = 0, replicas
    for _ in range(2 * replicas + 2):
        new = grown(limit, new, new + old)
        (old,) = shrunk(limit, Revision(new, new), [Revision(old, old)])
    assert (new, old) == (replicas, 0)


@given(st.integers(1, 12), COUNTS, COUNTS)
def test_a_rollout_of_pods_that_never_become_available_sticks_within_its_limits(
    replicas: int, surge: int, unavailable: int
) -> None:
    limit = limits(replicas, surge, unavailable)
    new, old = 0, replicas
    for _ in range(2 * replicas + 2):
        new = grown(limit, new, new + old)
        (old,) = shrunk(limit, Revision(new, 0), [Revision(old, old)])
    assert old == limit.least_available
    assert new + old <= limit.most


@given(st.integers(0, 20), st.integers(0, 5), st.lists(st.integers(1, 10), min_size=1, max_size=4))
def test_sharing_out_gives_exactly_what_is_wanted(replicas: int, surge: int, sizes: list[int]) -> None:
    sizes = sorted(sizes, reverse=True)
    shared = shared_out(Limits(replicas, surge, 0), sizes, sum(sizes))
    assert all(size >= 0 for size in shared)
    assert sum(shared) >= (replicas + surge if replicas else 0)


def test_percentages_round_towards_safety() -> None:
    assert limits(3, "25%", "25%") == Limits(3, 1, 0)
    assert limits(10, "25%", "25%") == Limits(10, 3, 2)
    assert limits(3, 0, "10%") == Limits(3, 0, 1)
