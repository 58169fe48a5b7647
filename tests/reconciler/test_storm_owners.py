"""A storm counts owners: many pods of one workload are one trouble, pods of many workloads are a storm."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest
import yaml

from handrail.adapters.store import Duty
from handrail.adapters.telling import Teller
from handrail.core import storm
from handrail.effects.tick import Ticking
from handrail.model import events as ev
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from handrail.reconciler import advance
from tests.breaks.test_telling import Channel
from tests.reconciler.rig import BAD, POLICY, Rig, Shop, asking, rig
from tests.reconciler.test_replicas import Slack, teller
from tests.reconciler.test_storm import body, make, minutes, others, page_of
from tests.store.places import Template

CRASH = "KubePodCrashLooping"


def two(folder: Path) -> None:
    """A policy by which three objects are a storm already."""
    (folder / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "storm": {"targets": 2, "minutes": 5}}))


def about(*pods: str) -> bytes:
    """As kube-prometheus says it: no label names a workload."""
    labels = {"alertname": CRASH, "cluster": "demo", "namespace": "shop", "container": "app"}
    alerts = [
        {"status": "firing", "labels": {**labels, "pod": pod}, "annotations": {}, "startsAt": "2026-01-01T00:00:00Z"}
        for pod in pods
    ]
    return json.dumps({"version": "4", "status": "firing", "receiver": "h", "alerts": alerts}).encode()


async def pods_of(shop: Shop, *workloads: str) -> list[str]:
    found = await shop.call("GET", "/api/v1/namespaces/shop/pods")
    return [pod["metadata"]["name"] for pod in found["items"] if pod["metadata"]["labels"]["app"] in workloads]


async def drive(life: Rig, until: float = 20) -> None:
    """Moves everything for so many seconds of the cluster's clock."""
    for _ in range(int(until // 2)):
        while await life._round():
            pass
        life.shop.clock.advance(2)
        life.shop.simulator.cluster.settle()


async def test_many_pods_of_one_workload_are_one_incident_that_is_asked_about(shop: Shop, tmp_path: Path) -> None:
    two(tmp_path)
    await shop.roll_out(BAD)
    await shop.live(60)
    async with rig(shop, tmp_path) as life:
        pods = await pods_of(shop, "checkout")
        assert len(pods) > 3
        await life.take(about(*pods))
        await Ticking(life.tools).tick()
        await life.run(asking)
        states = Counter(incident.state for incident in await life.incidents())
        assert states == {State.ASKING: 1, State.SUPPRESSED: len(pods) - 1}
        (asked,) = [incident for incident in await life.incidents() if asking(incident)]
        assert len(asked.alerts) == len(pods)
        assert await life.tools.store.watching.standing() == ()


async def test_pods_of_many_workloads_are_a_storm_as_soon_as_their_owners_are_looked_up(
    shop: Shop, tmp_path: Path
) -> None:
    two(tmp_path)
    await make(shop, "cart", "search")
    await shop.roll_out(BAD)
    await shop.live(60)
    async with rig(shop, tmp_path) as life:
        ticking, slack = Ticking(life.tools), Channel()
        await life.take(about(*await pods_of(shop, "cart", "search", "checkout")))
        assert await life.tools.store.watching.standing() == (), "the intake asks no cluster"
        await drive(life)
        await ticking.tick()
        page = await page_of(life)
        assert page.storm is not None
        assert (page.storm.objects, page.storm.unresolved) == (3, 0)
        assert {one.reason for one in await life.tools.store.watching.standing()} == {Reason.STORM}
        assert all(incident.request is None for incident in await others(life))
        await minutes(life, ticking, Teller(life.tools.store, slack, None, life.tools.now), 0.2)
        assert {card.incident for card in slack.cards} == {page.id}


async def test_while_pods_are_not_looked_up_nothing_is_planned_and_not_for_longer_than_that_takes(
    shop: Shop, tmp_path: Path
) -> None:
    """Among pods that are there no longer, and so count as objects once that is known."""
    two(tmp_path)
    await shop.roll_out(BAD)
    await shop.live(60)
    async with rig(shop, tmp_path) as life:
        (first, *_) = await pods_of(shop, "checkout")
        await life.take(about(first, "gone-1"))
        await life.take(about("gone-2", "gone-3"), offset=1)
        waiting = [row.id for row in await life.tools.store.rows(10)]
        found = await life.tools.store.storms.count(storm.page_of("demo"), life.tools.policy.last_good().storm)
        assert (found.owners, found.unresolved) == (0, 4)
        await drive(life)
        ends = Counter(incident.state for incident in [await told(life, id_) for id_ in waiting])
        assert ends == {State.HANDED_OVER: 3, State.GATHERING: 1}
        (held,) = [incident for incident in [await told(life, id_) for id_ in waiting] if incident.silenced]
        assert held.silenced is not None
        assert held.silenced.reason is Reason.STORM


async def test_new_pods_that_never_cease_do_not_keep_a_question_back_for_ever(shop: Shop, tmp_path: Path) -> None:
    """They are looked up as fast as they come, so it never is a storm; there is no end to it that could be told."""
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "storm": {"targets": 2, "minutes": 1}}))
    await shop.roll_out(BAD)
    await shop.live(60)
    async with rig(shop, tmp_path) as life:
        await life.take(body("checkout"))
        (row,) = await life.tools.store.rows(1)
        seen: set[State] = set()
        for number in range(1, 35):
            await life.take(about(f"{number}-a", f"{number}-b", f"{number}-c"), offset=number)
            while await advance(life.tools, row.id) == 0.0:
                pass
            seen.add((await told(life, row.id)).state)
            shop.clock.advance(20)
        assert seen >= {State.PLANNING, State.ASKING}


async def told(life: Rig, id_: str) -> Incident:
    found = await life.tools.store.incident(id_)
    assert found is not None
    return found


@pytest.mark.server
async def test_two_replicas_that_each_see_a_part_of_a_storm_tell_one_page_with_the_whole(
    shop: Shop, tmp_path: Path, template: Template
) -> None:
    two(tmp_path)
    await make(shop, "cart", "search", "pay")
    url, slack = template.url(template.copy().name), Slack()
    async with rig(shop, tmp_path, url=url) as one, rig(shop, tmp_path, url=url) as other:
        lives = (one, other)
        pods = await pods_of(shop, "cart", "search", "pay", "checkout")
        parts = (about(*pods[::2]), about(*pods[1::2]))
        await asyncio.gather(
            *(life.take(part, offset=n) for n, (life, part) in enumerate(zip(lives, parts, strict=True)))
        )
        await asyncio.gather(*(drive(life, 12) for life in lives))
        await asyncio.gather(*(Ticking(life.tools).tick() for life in lives))
        page = await page_of(one)
        assert page.storm is not None
        assert (page.storm.objects, page.storm.alerts) == (4, len(pods))
        assert page.storm.names == (ev.Counted(name=CRASH, times=len(pods)),)
        await asyncio.gather(*(teller(life.tools.store, slack, shop.clock).tell_all() for life in lives))
        assert [line for line in slack.said if line.startswith("new ")] == [f"new {page.id}"]
        assert all(incident.request is None for incident in await others(other))
        assert sum([await life.tools.store.on_duty(Duty.TICK) for life in lives]) == 1
        assert (await one.tools.store.audit()).ok
