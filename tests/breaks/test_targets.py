"""Targets that are not what they were, or never were what the alert says; and text that would like to be more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.slack.desk import Posted
from handrail.adapters.telling import Teller
from handrail.model.incident import State
from handrail.model.reason import Reason
from tests.breaks.worlds import alerted, gloomy, lossy
from tests.reconciler.rig import BAD, DEPLOYMENT, GOOD, LOCAL, Shop, asking, ended, rig

NASTY = (
    "`" * 3 + "<!channel> <@U0ONCALL> *b* \u202egnp\u2066 \x1b[31m\x00\x07 " + "A" * 65_000,
    "inc-aaaaaaaaaa`; handrail approve inc-aaaaaaaaaa",
    "\ud800 half a pair",
)


def alertmanager(shop: Shop, *alerts: dict[str, Any], **more: Any) -> bytes:
    at = shop.clock.now().isoformat().replace("+00:00", "Z")
    full = [
        {"status": "firing", "startsAt": at, "annotations": {}, "labels": {"cluster": "demo", **labels}, **more}
        for labels in alerts
    ]
    return json.dumps({"version": "4", "status": "firing", "receiver": "h", "alerts": full}).encode()


async def pods(shop: Shop) -> list[str]:
    found = await shop.call("GET", "/api/v1/namespaces/shop/pods")
    return [pod["metadata"]["name"] for pod in found["items"]]


async def test_two_alerts_about_two_pods_of_one_deployment_are_one_repair(shop: Shop, tmp_path: Path) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        names = await pods(shop)
        crash = [{"alertname": "KubePodCrashLooping", "namespace": "shop", "pod": name} for name in names]
        await life.take(alertmanager(shop, *crash), offset=1)
        assert len(await life.incidents()) >= 3
        counted = lossy(life, applied)
        for _ in range(60):
            await counted._round()
        open_ = [i for i in await life.incidents() if not i.state.terminal]
        assert len(open_) == 1
        assert all(i.end and i.end[0] is Reason.MERGED for i in await life.incidents() if i.state.terminal)
        winner = open_[0].id
        request = open_[0].request
        assert request is not None
        assert (await life.desk.decide(winner, "approve", LOCAL, request.id)).ok
        for _ in range(200):
            if not await counted._round():
                await shop.live(1)
        done = await life.tools.store.incident(winner)
        assert done is not None
        assert done.state is State.RESOLVED, done.end
        assert len(applied) == 1


async def recreate(shop: Shop, image: str) -> None:
    old = await shop.deployment()
    await shop.call("DELETE", DEPLOYMENT)
    await shop.live(5)
    meta = {"name": "checkout", "namespace": "shop"}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": old["spec"]}
    await shop.call("POST", DEPLOYMENT.rsplit("/", 1)[0], body)
    await shop.roll_out(image)
    await shop.live(10)


async def test_another_deployment_of_the_same_name_is_not_the_one_that_was_approved(shop: Shop, tmp_path: Path) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        counted = lossy(life, applied)
        first = (await counted.run(asking)).request
        await recreate(shop, BAD)
        await counted.answer("approve")
        incident = await counted.run(lambda i: ended(i) or (asking(i) and i.request != first))
        assert applied == []
        assert incident.approved_by is None
        assert await shop.image() == BAD


async def test_another_deployment_of_the_same_name_is_not_undone(shop: Shop, tmp_path: Path) -> None:
    applied: list[str] = []
    async with rig(shop, tmp_path) as life:
        await alerted(shop, life)
        dark = gloomy(lossy(life, applied))
        await dark.run(lambda i: i.state is State.UNDOING, approve=True)
        await recreate(shop, GOOD)
        incident = await dark.run(ended)
        assert incident.state is State.HANDED_OVER
        assert len(applied) == 1


@pytest.mark.parametrize(
    "labels",
    [
        {"alertname": "KubePodCrashLooping", "namespace": "shop", "pod": "nobody-0"},
        {"alertname": "KubeNodeNotReady", "node": "node-1"},
        {"alertname": "KubeJobFailed", "namespace": "shop", "job_name": "nightly"},
        {"alertname": "KubeDaemonSetRolloutStuck", "namespace": "shop", "daemonset": "agent"},
        {"alertname": "KubeStatefulSetReplicasMismatch", "namespace": "shop", "statefulset": "db"},
        {"alertname": "Watchdog"},
        {"alertname": "Mystery", "namespace": "shop"},
        {"alertname": "Mystery", "namespace": "../../kube-system", "deployment": "../secrets/x"},
        {"alertname": "x" * 70_000, "namespace": "shop", "deployment": "checkout"},
    ],
)
async def test_whatever_an_alert_names_its_incident_ends_and_writes_nothing(
    shop: Shop, tmp_path: Path, labels: dict[str, str]
) -> None:
    async with rig(shop, tmp_path) as life:
        await life.take(alertmanager(shop, labels))
        for _ in range(400):
            found = await life.incidents()
            if all(i.state.terminal for i in found):
                break
            if not await life._round():
                shop.clock.advance(10)
        assert all(i.state.terminal and i.writes == () for i in found), [(i.state, i.end) for i in found]


class Wall:
    """A Slack that takes everything."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def show(self, card: Any, where: Any) -> Any:
        return where or Posted(channel="C1", ts="1.0")

    async def say(self, where: Any, line: str) -> None:
        self.lines.append(line)

    async def notice(self, text: str, where: Any) -> None:
        self.lines.append(text)


@pytest.mark.parametrize("text", NASTY, ids=["long", "command", "half"])
async def test_hostile_text_in_labels_and_objects_is_told_and_breaks_nothing(
    shop: Shop, tmp_path: Path, text: str
) -> None:
    async with rig(shop, tmp_path) as life:
        labels = {"alertname": "KubePodCrashLooping", "namespace": "shop", "deployment": "checkout", "note": text}
        sendable = text.encode("utf-8", "replace").decode()
        env = [{"name": "N", "value": sendable}]
        await shop.patch(
            {"op": "add", "path": "/metadata/annotations/example.com~1n", "value": sendable[:9000]},
            {"op": "add", "path": "/spec/template/spec/containers/0/env", "value": env},
        )
        await shop.live(20)
        await shop.roll_out(BAD)
        await shop.live(30)
        raw = alertmanager(shop, labels, annotations={"summary": text, "description": text})
        await life.take(raw)
        wall = Wall()
        await life.run(asking)
        incident = await life.run(ended, approve=True)
        assert incident.state is State.RESOLVED, incident.end
        await Teller(life.tools.store, wall, None, life.tools.now).tell_all()
        assert wall.lines
        assert not any("<!channel>" in line or "\x1b" in line for line in wall.lines)
        shown = await life.desk.show(incident.id)
        assert shown is not None
        report = await life.desk.report(incident.id)
        assert report is not None
        assert "\x1b" not in report
        assert "\u202e" not in report
