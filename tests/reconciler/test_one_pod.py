"""One pod that hangs, from finding to replacement: what voids, what does not, and a crash or a lost answer anywhere.

The whole inside of the daemon on the simulated cluster, with a detector that names the cause.
"""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from handrail.cli.demo_alert import alert_as_otlp
from handrail.model.detector import Watches, Window
from handrail.model.errors import OutcomeUnknown
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.hands import Answer, Hands, Sent
from handrail.model.incident import Incident, State
from handrail.model.reason import Reason
from handrail.model.switch import Permit
from handrail.model.value import Raw
from handrail.model.workload import pod_is_ready
from tests.reconciler.rig import POLICY, Killed, Rig, Shop, asking, ended, killed_after, rig
from tests.reconciler.test_restarts import CountingHands

PODS = "/api/v1/namespaces/shop/pods"
STEPS = ("delete_pod", "evict_pod")


class Nothing(BaseModel):
    """No parameters."""


AT_ONCE = timedelta(0)


@dataclass(frozen=True)
class Hanging:
    """Says of a workload with one pod that is not ready what that is."""

    name: str = "hanging"
    watches: frozenset[Watches] = frozenset({Watches.WORKLOAD})
    Params: type[BaseModel] = Nothing
    reach: timedelta = AT_ONCE
    confirmed_by: str = "the test"
    example: str = "one pod hangs"

    def detect(self, window: Window, now: datetime, params: BaseModel) -> tuple[Finding, ...]:
        w = window.workload
        if w is None or sum(map(pod_is_ready, w.pods)) != len(w.pods) - 1:
            return ()
        return (
            Finding(
                detector=self.name,
                cause=Cause.POD_DEADLOCKED,
                handling=Handling.APPROVE,
                target=None,
                summary="one pod hangs",
                corroborated=True,
            ),
        )


class Evicts:
    """The runbook's step by another way."""

    name = "runbook"

    def __init__(self, planner: Any) -> None:
        self._planner = planner

    def plan(self, brief: Any, menu: Any) -> Any:
        turned = tuple(
            option.model_copy(update={"step": "delete_pod"}) for option in menu.options if option.step == "evict_pod"
        )
        return self._planner.plan(brief, menu.model_copy(update={"options": turned}))


def life_of(rig_: Rig, step: str) -> Rig:
    planner = Evicts(rig_.tools.runbooks) if step == "evict_pod" else rig_.tools.runbooks
    tools = replace(rig_.tools, detectors=(*rig_.tools.detectors, Hanging()), runbooks=planner)
    return Rig(tools, rig_.shop)


def allow(folder: Path) -> None:
    steps = {**POLICY["rules"][0]["steps"], **dict.fromkeys(STEPS, "ask")}  # type: ignore[index]
    rules = [{"namespaces": ["shop"], "steps": steps}]
    (folder / "policy.yaml").write_text(yaml.safe_dump({**POLICY, "rules": rules}))


async def pods(shop: Shop) -> list[Raw]:
    found: list[Raw] = (await shop.call("GET", PODS))["items"]
    return found


async def hang(shop: Shop, life: Rig) -> str:
    """One pod stops being ready; two minutes later the alert comes. The UID of that pod."""
    pod = copy.deepcopy((await pods(shop))[0])
    for condition in pod["status"]["conditions"]:
        if condition["type"] in ("Ready", "ContainersReady"):
            condition.update(status="False", lastTransitionTime=f"{shop.clock.now():%Y-%m-%dT%H:%M:%SZ}")
    await shop.call("PUT", f"{PODS}/{pod['metadata']['name']}/status", pod)
    await shop.live(120)
    await life.take(alert_as_otlp(int(shop.clock.now().timestamp() * 1e9)))
    return str(pod["metadata"]["uid"])


async def replaced(shop: Shop, uid: str) -> None:
    left = await pods(shop)
    assert len(left) == 3
    assert all(map(pod_is_ready, left))
    assert uid not in {pod["metadata"]["uid"] for pod in left}


@pytest.mark.parametrize("step", STEPS)
async def test_the_pod_that_hangs_is_shown_asked_about_and_replaced_once(shop: Shop, tmp_path: Path, step: str) -> None:
    allow(tmp_path)
    async with rig(shop, tmp_path) as fresh:
        life = life_of(fresh, step)
        hands = CountingHands(life.tools.hands)
        life = Rig(replace(life.tools, hands=hands), shop)
        uid = await hang(shop, life)
        shown = await life.run(asking)
        assert shown.rehearsal is not None
        (write,) = shown.rehearsal.writes
        assert uid in write.diff
        assert "ReplicaSet/checkout-" in write.diff
        assert (shown.rehearsal.blast.pods, shown.rehearsal.blast.percent) == (1, 0)
        end = await life.run(ended, approve=True)
        assert end.state is State.RESOLVED, end.end
        assert len(hands.applied) == 1
        await replaced(shop, uid)


@pytest.mark.parametrize("step", STEPS)
async def test_a_pod_whose_status_flaps_before_the_approval_is_replaced_and_one_with_other_labels_is_looked_at_anew(
    shop: Shop, tmp_path: Path, step: str
) -> None:
    allow(tmp_path)
    async with rig(shop, tmp_path) as fresh:
        life = life_of(fresh, step)
        uid = await hang(shop, life)
        asked = await life.run(asking)
        pod = next(pod for pod in await pods(shop) if pod["metadata"]["uid"] == uid)
        where = f"{PODS}/{pod['metadata']['name']}"
        pod["status"]["message"] = "another word of its kubelet"
        await shop.call("PUT", f"{where}/status", pod)
        labelled = [{"op": "add", "path": "/metadata/labels/touched", "value": "yes"}]
        if step == "evict_pod":
            await shop.call("PATCH", where, labelled, "application/json-patch+json")
        await life.answer("approve")
        after = await life.run(lambda i: ended(i) or (i.state is State.ASKING and i.request != asked.request))
        assert after.voids == (1 if step == "evict_pod" else 0)
        end = await life.run(ended, approve=True)
        assert end.state is State.RESOLVED, end.end
        await replaced(shop, uid)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("lost", ["on the way there", "on the way back"])
async def test_a_lost_answer_is_settled_by_looking_for_the_uid(
    shop: Shop, tmp_path: Path, step: str, lost: str
) -> None:
    allow(tmp_path)
    async with rig(shop, tmp_path) as fresh:
        life = life_of(fresh, step)
        hands = CountingHands(life.tools.hands, lose=lost.endswith("back"), lose_before=lost.endswith("there"))
        life = Rig(replace(life.tools, hands=hands), shop)
        uid = await hang(shop, life)
        end = await life.run(ended, approve=True)
        assert end.state is State.RESOLVED, end.end
        assert len(hands.applied) == 1
        await replaced(shop, uid)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("commits", range(6, 13))
async def test_killed_after_any_commit_it_is_replaced_once_all_the_same(
    shop: Shop, tmp_path: Path, step: str, commits: int
) -> None:
    allow(tmp_path)
    async with rig(shop, tmp_path) as fresh:
        first = life_of(fresh, step)
        uid = await hang(shop, first)
        with suppress(Killed):
            await killed_after(first, commits).run(ended, approve=True)
    async with rig(shop, tmp_path) as fresh:
        second = life_of(fresh, step)
        end: Incident = await second.run(ended, approve=True)
        assert end.state is State.RESOLVED, end.end
        await replaced(shop, uid)


@dataclass
class Elusive:
    """The first eviction is lost on its way; the pod moves before the second, and the third ends as `third` says: None
    where somebody has changed the pod by then."""

    hands: Hands
    shop: Shop
    third: Sent | None
    sends: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.hands, name)

    async def send(self, permit: Permit) -> Sent:
        self.sends += 1
        match self.sends:
            case 1:
                raise OutcomeUnknown("lost on the way there")
            case 2:
                uid = permit.write.object.uid
                pod = next(pod for pod in await pods(self.shop) if pod["metadata"]["uid"] == uid)
                where = f"{PODS}/{pod['metadata']['name']}"
                pod["status"]["message"] = "another word of its kubelet"
                await self.shop.call("PUT", f"{where}/status", pod)
                if self.third is None:
                    labelled = [{"op": "add", "path": "/metadata/labels/touched", "value": "yes"}]
                    await self.shop.call("PATCH", where, labelled, "application/json-patch+json")
                return Sent(answer=Answer.CONFLICT)
            case _:
                assert self.third is not None
                return self.third


THIRDS = (Sent(answer=Answer.REFUSED, reason=Reason.DENIED), Sent(answer=Answer.CONFLICT), None)


@pytest.mark.parametrize("third", THIRDS, ids=["refused", "conflict", "changed"])
async def test_an_eviction_that_was_lost_may_land_whatever_version_a_later_one_was_sent_at(
    shop: Shop, tmp_path: Path, third: Sent | None
) -> None:
    """It names none: what is answered to a later attempt is not said of it."""
    allow(tmp_path)
    async with rig(shop, tmp_path) as fresh:
        life = life_of(fresh, "evict_pod")
        life = Rig(replace(life.tools, hands=Elusive(life.tools.hands, shop, third)), shop)
        await hang(shop, life)
        end = await life.run(ended, approve=True)
        assert end.end is not None
        assert end.end[0] is Reason.OUTCOME_UNCLEAR
