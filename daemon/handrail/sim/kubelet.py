"""The life of pods on nodes, as their images have it (see `behaviour`).

It decides when a container starts, exits, is restarted, fails to be pulled, and when a deleted pod is gone. It keeps
the stage of each container in memory; what others can see is in the pod's status, which `pod_status` writes.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto

from . import pod_status
from .behaviour import Behaviour, behaviour_of
from .controllers import soonest
from .deletes import finish
from .events import Recorder
from .kinds import POD
from .objects import Obj, at, clone, is_terminating, meta, name_of, namespace_of, stamp, uid_of
from .registry import Registry

_EVENTS = Recorder("kubelet")


@dataclass(frozen=True)
class Pace:
    """How long things take, in seconds."""

    start: float = 1.0
    flap: float = 2.0
    stop: float = 0.5


class Stage(Enum):
    CREATING = auto()
    RUNNING = auto()
    CRASH_LOOP = auto()
    PULL_FAILED = auto()
    PULL_BACK_OFF = auto()


@dataclass
class Run:
    """One container: its stage, when that ends by itself, and what `pod_status` shows of its past."""

    image: str
    stage: Stage
    due: datetime | None
    restarts: int = 0
    started_at: str = ""
    last: Obj = field(default_factory=dict)

    @property
    def behaviour(self) -> Behaviour:
        return behaviour_of(self.image)


class Kubelet:
    """The kubelets of all nodes in one."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._pods: dict[str, dict[str, Run]] = {}
        self._stopping: dict[str, datetime] = {}
        self._addresses = 0

    def step(self, registry: Registry, now: datetime) -> datetime | None:
        """Let every pod live on to this moment."""
        placed = [pod for pod in registry.store.all(POD) if at(pod, "spec", "nodeName")]
        self._forget({uid_of(pod) for pod in placed})
        due: datetime | None = None
        for pod in placed:
            wanted = self._stop(registry, pod, now) if is_terminating(pod) else self._live(registry, pod, now)
            due = soonest(due, wanted)
        return due

    def _forget(self, known: set[str]) -> None:
        for table in (self._pods, self._stopping):
            for uid in table.keys() - known:
                del table[uid]

    def _stop(self, registry: Registry, pod: Obj, now: datetime) -> datetime | None:
        due = self._stopping.get(uid_of(pod))
        if due is None:
            due = self._stopping[uid_of(pod)] = now + timedelta(seconds=self._pace.stop)
            for container in pod["spec"]["containers"]:
                _EVENTS.normal(registry, pod, "Killing", f"Stopping container {container['name']}")
        if now < due:
            return due
        if not meta(pod).get("finalizers") or meta(pod).get("deletionGracePeriodSeconds"):
            finish(registry, POD, pod)
        return None

    def _live(self, registry: Registry, pod: Obj, now: datetime) -> datetime | None:
        runs = self._pods.get(uid_of(pod))
        if runs is None:
            runs = self._pods[uid_of(pod)] = self._begin(registry, pod, now)
        moved = False
        for container in pod["spec"]["containers"]:
            run = runs[container["name"]]
            if run.due is not None and run.due <= now:
                self._advance(registry, pod, container["name"], run, now)
                moved = True
        if moved:
            self._show(registry, pod, runs, now)
        return soonest(*(run.due for run in runs.values()))

    def _begin(self, registry: Registry, pod: Obj, now: datetime) -> dict[str, Run]:
        due = now + timedelta(seconds=self._pace.start)
        for container in pod["spec"]["containers"]:
            _EVENTS.normal(registry, pod, "Pulling", f'Pulling image "{container["image"]}"')
        return {c["name"]: Run(str(c["image"]), Stage.CREATING, due) for c in pod["spec"]["containers"]}

    def _advance(self, registry: Registry, pod: Obj, name: str, run: Run, now: datetime) -> None:
        """Take the next stage of this container, and say when that one ends."""
        if run.stage is Stage.RUNNING:
            self._exit(registry, pod, name, run, now)
        elif not run.behaviour.pulls:
            self._fail_to_pull(registry, pod, run)
        else:
            if run.stage is Stage.CRASH_LOOP:
                run.restarts += 1
            self._start(registry, pod, name, run, now)
        flaps = not run.behaviour.ready
        run.due = now + timedelta(seconds=self._pace.flap) if flaps else None

    def _start(self, registry: Registry, pod: Obj, name: str, run: Run, now: datetime) -> None:
        run.stage, run.started_at = Stage.RUNNING, stamp(now)
        if run.restarts == 0:
            _EVENTS.normal(registry, pod, "Pulled", f'Successfully pulled image "{run.image}"')
        _EVENTS.normal(registry, pod, "Created", f"Created container: {name}")
        _EVENTS.normal(registry, pod, "Started", f"Started container {name}")

    def _exit(self, registry: Registry, pod: Obj, name: str, run: Run, now: datetime) -> None:
        """The container ends: it is started again at once for the first time, and after a pause later."""
        run.last = pod_status.terminated(pod, name, run.behaviour, run.restarts, run.started_at, stamp(now))
        if run.restarts == 0:
            run.restarts = 1
            self._start(registry, pod, name, run, now)
            return
        run.stage = Stage.CRASH_LOOP
        where = f"{name_of(pod)}_{namespace_of(pod)}({uid_of(pod)})"
        _EVENTS.warning(registry, pod, "BackOff", f"Back-off restarting failed container {name} in pod {where}")

    def _fail_to_pull(self, registry: Registry, pod: Obj, run: Run) -> None:
        if run.stage is Stage.PULL_FAILED:
            run.stage = Stage.PULL_BACK_OFF
            _EVENTS.normal(registry, pod, "BackOff", f'Back-off pulling image "{run.image}"')
            _EVENTS.warning(registry, pod, "Failed", "Error: ImagePullBackOff")
            return
        run.stage = Stage.PULL_FAILED
        _EVENTS.warning(registry, pod, "Failed", f"Failed to pull image {pod_status.pull_error(run.image)}")
        _EVENTS.warning(registry, pod, "Failed", "Error: ErrImagePull")

    def _show(self, registry: Registry, pod: Obj, runs: dict[str, Run], now: datetime) -> None:
        current = registry.get(POD, namespace_of(pod), name_of(pod))
        shown = clone(current)
        if not at(shown, "status", "podIP") and any(run.stage is Stage.RUNNING for run in runs.values()):
            self._addresses += 1
            address = f"10.244.{self._addresses // 250}.{self._addresses % 250 + 1}"
            shown["status"] |= {"podIP": address, "podIPs": [{"ip": address}]}
        pod_status.write(shown, runs, now)
        if shown != current:
            registry.store.put(POD, shown)
