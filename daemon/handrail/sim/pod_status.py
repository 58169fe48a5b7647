"""What a pod's status says about its containers, in the words of a kubelet.

Pure: it writes into the pod that it is given. When things happen is for `kubelet`.
"""

import hashlib
from datetime import datetime
from typing import TYPE_CHECKING

from .behaviour import Behaviour
from .objects import Obj, meta, name_of, namespace_of, stamp, uid_of

if TYPE_CHECKING:
    from .kubelet import Run

_BACK_OFF = "back-off 10s restarting failed container={name} pod={pod}_{namespace}({uid})"


def pull_error(image: str) -> str:
    return f'"{image}": failed to pull and unpack image "{image}": not found'


def write(pod: Obj, runs: "dict[str, Run]", now: datetime) -> None:
    """Bring the status up to date with these runs."""
    status = pod["status"]
    statuses = [_container(pod, c, runs[c["name"]]) for c in pod["spec"]["containers"]]
    ready = all(run.behaviour.ready and run.started_at for run in runs.values())
    status["containerStatuses"] = statuses
    status["phase"] = "Running" if all(run.started_at for run in runs.values()) else "Pending"
    status.setdefault("startTime", stamp(now))
    status.setdefault("hostIP", "127.0.0.1")
    why = {} if ready else {
        "reason": "ContainersNotReady",
        "message": f"containers with unready status: [{' '.join(s['name'] for s in statuses if not s['ready'])}]",
    }  # fmt: skip
    _condition(pod, "PodReadyToStartContainers", True, now, {})
    _condition(pod, "Initialized", True, now, {})
    _condition(pod, "Ready", ready, now, why)
    _condition(pod, "ContainersReady", ready, now, why)


def _condition(pod: Obj, kind: str, holds: bool, now: datetime, why: Obj) -> None:
    status = "True" if holds else "False"
    conditions: list[Obj] = pod["status"].setdefault("conditions", [])
    before = next((c for c in conditions if c["type"] == kind), None)
    since = before.get("lastTransitionTime", stamp(now)) if before and before["status"] == status else stamp(now)
    found = {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": since} | why
    if before is None:
        conditions.append(found)
    else:
        conditions[conditions.index(before)] = found


def _container(pod: Obj, container: Obj, run: "Run") -> Obj:
    state = _state(pod, str(container["name"]), run)
    running = "running" in state
    found: Obj = {
        "name": container["name"],
        "image": run.image,
        "imageID": _image_id(run.image) if run.started_at else "",
        "ready": running and run.behaviour.ready,
        "started": running,
        "restartCount": run.restarts,
        "state": state,
        "lastState": {"terminated": run.last} if run.last else {},
    }
    if run.started_at:
        found["containerID"] = _container_id(pod, str(container["name"]), run.restarts)
    return found


def _state(pod: Obj, name: str, run: "Run") -> Obj:
    match run.stage.name:
        case "RUNNING":
            return {"running": {"startedAt": run.started_at}}
        case "CRASH_LOOP":
            where = {"pod": name_of(pod), "namespace": namespace_of(pod), "uid": uid_of(pod)}
            return _waiting("CrashLoopBackOff", _BACK_OFF.format(name=name, **where))
        case "PULL_FAILED":
            return _waiting("ErrImagePull", pull_error(run.image))
        case "PULL_BACK_OFF":
            return _waiting("ImagePullBackOff", f'Back-off pulling image "{run.image}"')
        case _:
            return {"waiting": {"reason": "ContainerCreating"}}


def _waiting(reason: str, message: str) -> Obj:
    return {"waiting": {"reason": reason, "message": message}}


def terminated(pod: Obj, name: str, behaviour: Behaviour, restarts: int, started_at: str, finished_at: str) -> Obj:
    """The end of a run, as `lastState.terminated` keeps it."""
    return {
        "exitCode": behaviour.exit_code,
        "reason": behaviour.exit_reason,
        "startedAt": started_at,
        "finishedAt": finished_at,
        "containerID": _container_id(pod, name, restarts),
    }


def _image_id(image: str) -> str:
    return f"{image.rpartition(':')[0] or image}@sha256:{hashlib.sha256(image.encode()).hexdigest()}"


def _container_id(pod: Obj, name: str, restarts: int) -> str:
    text = f"{meta(pod)['uid']}/{name}/{restarts}"
    return f"containerd://{hashlib.sha256(text.encode()).hexdigest()}"
