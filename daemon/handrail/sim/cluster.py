"""The simulated cluster without its HTTP server: objects, controllers and kubelets, driven by a clock.

`settle` lets everything happen that can happen at this moment and says when the next thing is due. Nothing runs by
itself here: the caller turns the handle, a test with a clock of its own or `simulator` with the real one.
"""

from datetime import datetime

from .clock import Clock
from .controllers import Controller, deployment, disruption, garbage, replicaset, scheduler, soonest
from .ids import Ids
from .kubelet import Kubelet, Pace
from .nodes import furnish
from .registry import Registry
from .store import Store

_TOO_LONG = 1000


class Cluster:
    def __init__(self, clock: Clock, pace: Pace | None = None, *, nodes: int = 3, seed: int | None = None) -> None:
        self.clock = clock
        self.store = Store()
        self.registry = Registry(self.store, clock, Ids(seed))
        self._controllers: tuple[Controller, ...] = (
            deployment.step,
            replicaset.step,
            scheduler.step,
            Kubelet(pace or Pace()).step,
            disruption.step,
            garbage.step,
        )
        self._settled = -1
        self._due: datetime | None = None
        furnish(self.registry, nodes)

    def settle(self) -> datetime | None:
        """Go on until nothing changes any more; the answer is when to come back, if nobody writes before."""
        now = self.clock.now()
        if self._is_quiet(now):
            return self._due
        for _ in range(_TOO_LONG):
            before = self.store.version
            due = [step(self.registry, now) for step in self._controllers]
            if self.store.version == before:
                self._settled, self._due = before, soonest(*due)
                return self._due
        raise RuntimeError("the simulated controllers do not come to rest")

    def _is_quiet(self, now: datetime) -> bool:
        """Has nobody written since it came to rest, and is nothing due yet?"""
        return self.store.version == self._settled and (self._due is None or now < self._due)
