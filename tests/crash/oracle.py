"""What must be true after each point, whatever was done to the daemon: as after the run that nothing was done to."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass, field

import click

from tests.crash import published
from tests.crash.scene import Row, Scene, spec_of, whole
from tests.path.stage import until

PATCH = ("patch", "deployments", "checkout")


@dataclass
class Verdict:
    """Of one point. `wrong` is empty when it was survived."""

    point: str
    wrong: list[str] = field(default_factory=list)
    repeated_effects: int = 0
    repeated_model_calls: int = 0
    stranded: int = 0
    seconds: float = 0.0

    def ask(self, good: bool, otherwise: str) -> None:
        if not good:
            self.wrong.append(otherwise)


@dataclass(frozen=True)
class Expected:
    """`states` oldest first; `spec` names one that the scene has kept; `asks` is the most a model may be asked."""

    spec: str = "good"
    writes: int = 1
    states: tuple[str, ...] = ("RESOLVED",)
    asks: int = 1


async def judged(point: str, scene: Scene, rows: list[Row], expected: Expected) -> Verdict:
    """The cluster, the audit log, the model's requests, the journals, and what was published of them."""
    verdict = Verdict(point)
    states = tuple(row["state"] for row in reversed(rows))
    verdict.stranded = sum(not state.isupper() for state in states)
    verdict.ask(states == expected.states, f"ended as {states}, not {expected.states}")
    spec = await asyncio.to_thread(spec_of, scene.shop)
    verdict.ask(spec == scene.specs[expected.spec], f"the spec is {json.dumps(spec)[:500]}")
    verdict.ask(await asyncio.to_thread(whole, scene.neighbour) == scene.beside, "the neighbour was touched")
    await _writes(verdict, scene, expected)
    asks = len(scene.model.requests)
    verdict.repeated_model_calls = max(0, asks - expected.asks)
    verdict.ask(0 < asks <= expected.asks, f"the model was asked {asks} times")
    await _audited(verdict, scene)
    verdict.wrong += await all_published(scene, rows)
    return verdict


async def all_published(scene: Scene, rows: list[Row]) -> list[str]:
    """What is missing on the events topic, or wrong there."""
    return await published.wrong(scene.kafka.bootstrap, scene.events, {row["id"]: row["head"] for row in rows})


async def _writes(verdict: Verdict, scene: Scene, expected: Expected) -> None:
    """The audit log is written a moment after the answer."""
    daemon = scene.replicas[0]
    with contextlib.suppress(AssertionError):
        await until(lambda: len(daemon.applied()) >= expected.writes, 5, "the audit log")
    applied = [(one.verb, one.resource, one.name) for one in await asyncio.to_thread(daemon.applied)]
    verdict.repeated_effects = max(0, len(applied) - expected.writes)
    verdict.ask(applied == [PATCH] * expected.writes, f"applied {applied}")


async def _audited(verdict: Verdict, scene: Scene) -> None:
    live = next((one for one in scene.replicas if one.process is not None and not one.dead), None)
    if live is None:
        verdict.wrong.append("no daemon is left")
        return
    try:
        report = await asyncio.to_thread(live.client().get, "/api/v1/audit")
    except click.ClickException as error:
        verdict.wrong.append(f"no audit: {error.message}")
        return
    verdict.ask(bool(report.get("ok")), f"the journals are not as they were written: {report}")
