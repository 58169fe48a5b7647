"""Where somebody is at work, by a mark on the object, its namespace or its nodes, nothing is done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from handrail.core.fingerprint import fingerprint
from handrail.core.maintenance import kept_off, marked, nodes_to_read
from handrail.model.hands import DryRun, Sent
from handrail.model.incident import Incident, State
from handrail.model.marks import MAINTENANCE
from handrail.model.reason import Reason, Refusal
from handrail.model.switch import Permit
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.workload import Workload
from handrail.model.write import Write
from tests.breaks.worlds import alerted
from tests.reconciler.rig import BAD, DEPLOYMENT, LOCAL, Rig, Shop, asking, ended, rig

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
NAMESPACE = "/api/v1/namespaces/shop"


async def mark(shop: Shop, path: str, text: str) -> None:
    merge = {"metadata": {"annotations": {MAINTENANCE: text}}}
    await shop.call("PATCH", path, merge, "application/merge-patch+json")


async def node_of_a_failing_pod(shop: Shop) -> list[str]:
    pods = (await shop.call("GET", "/api/v1/namespaces/shop/pods"))["items"]
    return sorted({p["spec"]["nodeName"] for p in pods if "crash" in p["spec"]["containers"][0]["image"]})


def end_of(incident: Incident) -> tuple[State, Reason | None]:
    return incident.state, incident.end[0] if incident.end else None


@pytest.mark.parametrize("where", ["object", "namespace", "node"])
async def test_a_mark_keeps_us_off_before_anything_is_planned(shop: Shop, tmp_path: Path, where: str) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        node = (await node_of_a_failing_pod(shop))[0]
        path = {"object": DEPLOYMENT, "namespace": NAMESPACE, "node": f"/api/v1/nodes/{node}"}[where]
        await mark(shop, path, "alice moves the database")
        incident = await life.run(ended)
        assert end_of(incident) == (State.HANDED_OVER, Reason.IN_MAINTENANCE)
        assert incident.end is not None
        assert "alice moves the database" in incident.end[1]
        assert incident.menu is None
        assert await shop.image() == BAD


async def test_a_mark_with_a_time_that_is_over_is_none(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await mark(shop, DEPLOYMENT, (shop.clock.now() - timedelta(minutes=1)).isoformat())
        await life.run(asking)


@pytest.mark.parametrize("path", [DEPLOYMENT, NAMESPACE])
async def test_a_mark_set_while_a_person_is_asked_keeps_us_off_after_the_approval(
    shop: Shop, tmp_path: Path, path: str
) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        await mark(shop, path, (shop.clock.now() + timedelta(hours=2)).isoformat())
        assert (await life.answer("approve")).ok
        incident = await life.run(ended)
        assert end_of(incident) == (State.HANDED_OVER, Reason.IN_MAINTENANCE)
        assert incident.writes == ()
        assert await shop.image() == BAD


@dataclass
class Stopped:
    """Somebody presses stop while the last dry-run before the write is made."""

    life: Rig
    approved: bool = False

    async def read(self, ref: ObjectRef) -> Raw | None:
        return await self.life.tools.hands.read(ref)

    async def dry_run(self, write: Write) -> DryRun | Refusal:
        if self.approved:
            self.approved = False
            await self.life.desk.switch(True, LOCAL, "the database is moved")
        return await self.life.tools.hands.dry_run(write)

    async def send(self, permit: Permit) -> Sent:
        return await self.life.tools.hands.send(permit)


async def test_a_mark_set_under_a_stop_that_came_at_the_very_write_keeps_us_off_after_the_start(
    shop: Shop, tmp_path: Path
) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(asking)
        hands = Stopped(life, approved=True)
        stopped = Rig(replace(life.tools, hands=hands), shop)
        assert (await life.answer("approve")).ok
        incident = await stopped.run(lambda one: one.paused)
        assert incident.writes == ()
        await mark(shop, NAMESPACE, "the database is moved")
        assert (await life.desk.switch(False, LOCAL, "")).ok
        incident = await stopped.run(ended)
        assert end_of(incident) == (State.HANDED_OVER, Reason.IN_MAINTENANCE)
        assert await shop.image() == BAD


async def test_a_mark_set_between_planning_and_rehearsal_is_seen_by_the_rehearsal(shop: Shop, tmp_path: Path) -> None:
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        await life.run(lambda one: one.state is State.REHEARSING)
        await mark(shop, NAMESPACE, "freeze")
        assert end_of(await life.run(ended)) == (State.HANDED_OVER, Reason.IN_MAINTENANCE)


def thing(*pods: tuple[str, bool], **annotations: str) -> Workload:
    """A Deployment with pods on these nodes, ready or not."""
    meta = {"namespace": "shop", "name": "checkout", "uid": "u", "annotations": annotations}
    raw = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"replicas": 3}, "status": {}}
    return Workload(object=raw, pods=tuple(pod(*one) for one in pods), replica_sets=(), autoscalers=(), observed_at=NOW)


def pod(node: str, ready: bool) -> Raw:
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    meta = {"namespace": "shop", "name": f"p-{node}", "uid": f"u-{node}"}
    spec, status = {"nodeName": node}, {"phase": "Running", "conditions": [condition]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def node(name: str, *taints: str, **annotations: str) -> Raw:
    meta = {"name": name, "uid": f"u-{name}", "annotations": annotations}
    spec = {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec}


@pytest.mark.parametrize(
    ("mark_of", "who"),
    [
        ("ToBeDeletedByClusterAutoscaler", "the cluster autoscaler"),
        ("karpenter.sh/disrupted", "Karpenter"),
        ("weave.works/kured-reboot-in-progress", "kured"),
    ],
)
def test_where_every_failing_pod_is_on_a_node_that_others_work_on_they_are_left_to_it(mark_of: str, who: str) -> None:
    taken = node("n1", mark_of) if "kured" not in mark_of else node("n1", **{mark_of: "2026-03-02T11:00:00Z"})
    workload = thing(("n1", False), ("n2", True))
    refusal = kept_off(workload, None, [taken], NOW)
    assert refusal is not None
    assert refusal.reason is Reason.SOMEONE_ELSE_ACTS
    assert who in refusal.detail
    elsewhere_too = thing(("n1", False), ("n2", False))
    assert kept_off(elsewhere_too, None, [taken, node("n2")], NOW) is None, "then the trouble is not theirs"
    assert kept_off(thing(("n1", True), ("n2", True)), None, [taken], NOW) is None


def test_only_nodes_of_failing_pods_are_read_and_not_too_many() -> None:
    many = [(f"n{number}", number % 2 == 0) for number in range(40)]
    assert nodes_to_read(thing(*many)) == ("n1", "n3", "n5", "n7", "n9")


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True),
        ("until Monday", True),
        ("2026-03-02T12:00:01Z", True),
        ("2026-03-02T11:59:59Z", False),
        ("2026-03-02T14:00:00+02:00", False),
        ("2026-03-02", True),
        ("2026-03-01", False),
        ("\u202etxet elitsoh\n" * 1000, True),
    ],
)
def test_a_time_ends_a_mark_and_any_other_text_does_not(text: str, holds: bool) -> None:
    refusal = marked(thing(**{MAINTENANCE: text}).object, NOW)
    assert (refusal is not None) is holds
    assert refusal is None or (len(refusal.detail) < 500 and "\u202e" not in refusal.detail)


def test_a_mark_is_part_of_what_an_approval_is_bound_to() -> None:
    plain: Any = thing().object
    assert fingerprint(plain, with_replicas=False) != fingerprint(
        thing(**{MAINTENANCE: "x"}).object, with_replicas=False
    )
