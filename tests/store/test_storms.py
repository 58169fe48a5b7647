"""What a storm counts: owners, as far as labels or a look at the cluster have told them, on any replica."""

from __future__ import annotations

import pytest

from handrail.adapters.store import Store
from handrail.core import storm
from handrail.core.correlate import arrival
from handrail.core.storm import Count
from handrail.model import events as ev
from handrail.model.alert import Alert
from handrail.model.incident import State
from handrail.model.policy import StormLimit
from handrail.model.reason import Reason
from handrail.model.target import ObjectRef
from tests.factories import CLUSTER, NOW, FakeTime, a_batch, a_finding, a_target, an_alert, gathered
from tests.store.driving import MAX_AGE, TEXTS, newest, walk

PAGE = storm.page_of(CLUSTER)
LIMIT = StormLimit(targets=3, minutes=5)


def about_pod(pod: str, namespace: str = "shop") -> Alert:
    labels = {"alertname": "KubePodCrashLooping", "namespace": namespace, "pod": pod}
    return an_alert("KubePodCrashLooping").model_copy(update={"labels": labels})


async def take(store: Store, *alerts: Alert, offset: int = 0) -> list[str]:
    arrivals = [arrival(alert, CLUSTER, (a_finding(),)) for alert in alerts]
    took = await store.take((a_batch(*arrivals, offset=offset),), max_age=MAX_AGE, storm=LIMIT)
    return [one.incident for one in took[0]]


async def look_up(store: Store, id_: str, owner: ObjectRef) -> None:
    """As gathering does: begins, and claims the owner that the API server names."""
    begun = await store.append(await newest(store, id_), (ev.GatheringBegun(),))
    await store.claim(begun, gathered(owner), TEXTS)


async def count(store: Store) -> tuple[int, int, int]:
    found = await store.storms.count(PAGE, LIMIT)
    return found.owners, found.unresolved, found.overdue


async def test_a_pod_is_no_owner_until_it_was_looked_up_and_then_counts_as_what_owns_it(store: Store) -> None:
    ids = await take(store, *(about_pod(f"checkout-{n}") for n in range(8)))
    assert await count(store) == (0, 8, 0)
    assert await store.watching.standing() == (), "one workload may own them all"
    for id_ in ids:
        await look_up(store, id_, a_target())
    assert await count(store) == (1, 0, 0)


async def test_what_labels_name_and_what_pods_are_looked_up_to_be_is_counted_once(store: Store) -> None:
    (_, pod) = await take(store, an_alert(workload="checkout"), about_pod("checkout-1"))
    assert await count(store) == (1, 1, 0)
    await look_up(store, pod, a_target("checkout"))
    assert await count(store) == (1, 0, 0)


async def test_pods_of_one_workload_count_once_though_its_incident_is_older_than_the_window(
    store: Store, time: FakeTime
) -> None:
    await walk(store, State.PLANNING)
    time.later(minutes=10)
    for n, id_ in enumerate(await take(store, *(about_pod(f"checkout-{n}") for n in range(5)))):
        await look_up(store, id_, a_target())
        assert await count(store) == (1, 4 - n, 0)


async def test_owners_that_gathering_finds_make_a_storm_as_those_that_labels_name(store: Store) -> None:
    ids = await take(store, *(about_pod(f"w-{n}-x") for n in range(4)))
    for n, id_ in enumerate(ids):
        found = await store.storms.count(PAGE, LIMIT)
        assert storm.condition(PAGE, found, LIMIT) is None
        assert storm.undecided(found, LIMIT)
        await look_up(store, id_, a_target(f"w-{n}"))
    condition = storm.condition(PAGE, await store.storms.count(PAGE, LIMIT), LIMIT)
    assert condition is not None
    assert condition.what == "alerts of 4 objects came within 5 minutes"
    await take(store, *(an_alert(workload=f"w-{n}") for n in range(9)), offset=1)
    assert [one.reason for one in await store.watching.standing()] == [Reason.STORM]


async def test_a_pod_whose_owner_nobody_can_tell_counts_as_itself(store: Store, time: FakeTime) -> None:
    gone, waits = await take(store, about_pod("gone"), about_pod("waits"))
    begun = await store.append(await newest(store, gone), (ev.GatheringBegun(),))
    await store.append(begun, (ev.HandedOver(reason=Reason.TARGET_GONE, detail="there is no such pod any more"),))
    assert await count(store) == (1, 1, 0)
    time.later(seconds=storm.PATIENCE.total_seconds())
    assert await count(store) == (1, 1, 1), "the API server may be away"
    await look_up(store, waits, ObjectRef(api_version="v1", kind="Pod", namespace="shop", name="waits", uid="u"))
    assert await count(store) == (2, 0, 0), "no controller makes it"


async def test_things_that_no_controller_makes_count_at_once_and_so_does_what_names_nothing(store: Store) -> None:
    nodes = [an_alert("KubeNodeNotReady").model_copy(update={"labels": {"node": f"n-{n}"}}) for n in range(2)]
    nothing = an_alert("SomethingIsWrong").model_copy(update={"labels": {"team": "shop"}})
    await take(store, *nodes, nothing)
    assert await count(store) == (3, 0, 0)


@pytest.mark.parametrize(
    ("counted", "is_storm", "may_be"),
    [
        (Count(owners=3, newest=NOW), False, False),
        (Count(owners=4, newest=NOW), True, False),
        (Count(owners=0, unresolved=200, newest=NOW), False, True),
        (Count(owners=1, unresolved=2, newest=NOW), False, False),
        (Count(owners=1, unresolved=3, overdue=3, newest=NOW), True, False),
        (Count(owners=1, unresolved=3, overdue=2, newest=NOW), False, True),
        (Count(owners=4, unresolved=200, newest=NOW), True, False),
        (Count(), False, False),
    ],
)
def test_more_owners_than_the_limit_are_a_storm_and_pods_may_become_one(
    counted: Count, is_storm: bool, may_be: bool
) -> None:
    assert (storm.condition(PAGE, counted, LIMIT) is not None) is is_storm
    assert storm.undecided(counted, LIMIT) is may_be


async def test_what_was_given_to_people_lately_is_counted_by_whether_its_object_was_found(
    store: Store, time: FakeTime
) -> None:
    over = ev.HandedOver(reason=Reason.STORM, detail="the storm still goes on")
    known, unknown, waits = await take(store, *(an_alert(workload=name) for name in ("a", "b", "c")))
    for id_ in (known, waits):
        await look_up(store, id_, a_target(id_))
    for id_ in (known, unknown):
        await store.append(await newest(store, id_), (over,))
    assert [await store.storms.given(storm.TURN, known=found) for found in (True, False)] == [1, 1]
    assert (await store.storms.seen(PAGE, time.now, 5))[2] == (f"{waits} (Deployment shop/{waits})",)
    time.later(seconds=storm.TURN.total_seconds() + 1)
    assert [await store.storms.given(storm.TURN, known=found) for found in (True, False)] == [0, 0]
