"""A cluster whose clock the test turns, and short ways to ask it things."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from handrail.sim.clock import ManualClock
from handrail.sim.cluster import Cluster
from handrail.sim.kinds import DEPLOYMENT, EVENT, NAMESPACE, POD, REPLICA_SET, Kind
from handrail.sim.objects import Obj, at, condition_of, name_of

GOOD = "registry.example/checkout:1.4.2"
CRASH = "registry.example/checkout:1.5.0-crash"
NS = "shop"


class Still:
    """Nothing happens but in `after`: then all that is due until then, in order."""

    def __init__(self, clock: ManualClock, nodes: int = 2) -> None:
        self.clock = clock
        self.cluster = Cluster(clock, nodes=nodes, seed=7)
        self.registry = self.cluster.registry
        self.registry.create(NAMESPACE, "", {"metadata": {"name": NS}})

    def after(self, seconds: float) -> None:
        """Let this time pass, stopping wherever something is due."""
        end = self.clock.now() + timedelta(seconds=seconds)
        while (due := self.cluster.settle()) is not None and due <= end:
            self.clock.advance((due - self.clock.now()).total_seconds())
        self.clock.advance((end - self.clock.now()).total_seconds())
        self.cluster.settle()

    def deploy(self, replicas: int = 3, image: str = GOOD, **spec: Any) -> Obj:
        labels = {"app": "checkout"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": image}]}}
        wanted = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **spec}
        return self.registry.create(DEPLOYMENT, NS, {"metadata": {"name": "checkout"}, "spec": wanted})

    def edit(self, change: Callable[[Obj], None]) -> None:
        """Change the deployment, as a user would."""
        self.registry.change(DEPLOYMENT, self.deployment, change)

    def roll_out(self, image: str) -> None:
        def change(obj: Obj) -> None:
            obj["spec"]["template"]["spec"]["containers"][0]["image"] = image

        self.edit(change)

    def scale(self, replicas: int) -> None:
        self.edit(lambda obj: obj["spec"].update(replicas=replicas))

    @property
    def deployment(self) -> Obj:
        return self.registry.get(DEPLOYMENT, NS, "checkout")

    def all(self, kind: Kind) -> list[Obj]:
        return self.cluster.store.all(kind, NS)

    @property
    def pods(self) -> list[Obj]:
        return self.all(POD)

    def sizes(self) -> dict[str, int]:
        """How many pods each image is to have."""
        return {
            rs["spec"]["template"]["spec"]["containers"][0]["image"]: int(rs["spec"]["replicas"])
            for rs in self.all(REPLICA_SET)
        }

    def progress(self) -> str:
        condition = condition_of(self.deployment, "Progressing")
        return str(condition["reason"]) if condition else ""

    def status(self, key: str) -> int:
        return int(at(self.deployment, "status", key, default=0))

    def events(self, reason: str) -> list[str]:
        return [str(event["message"]) for event in self.all(EVENT) if event["reason"] == reason]

    def state(self, image: str) -> tuple[str, int]:
        """Where the first container with this image stands, and how often it was restarted."""
        pod = next(p for p in self.pods if p["spec"]["containers"][0]["image"] == image)
        status = pod["status"]["containerStatuses"][0]
        waiting = at(status, "state", "waiting", "reason")
        return waiting or next(iter(status["state"])), int(status["restartCount"])

    def names(self, kind: Kind) -> list[str]:
        return [name_of(obj) for obj in self.all(kind)]
