"""What containers print: a table by image, with plausible lines where nobody has set any.

It decides when there is no log to show, as a kubelet would (400), and cuts what was asked for. It streams nothing:
`follow` gets what there is and ends.
"""

from collections.abc import Mapping

from .behaviour import Behaviour, behaviour_of
from .objects import Obj, at, moment, name_of, stamp
from .query import is_set, number
from .status import bad_request

_STARTED = ("starting", "configuration loaded", "listening on :8080", "GET /healthz 200 1ms")
_CRASHED = (
    "starting",
    "configuration loaded",
    'ERROR config: key "payments.endpoint" is required but not set',
    "fatal: could not start: invalid configuration",
)
_KILLED = ("starting", "loading catalogue into memory", "cache: 1.2 GiB of entries read")


class LogBook:
    """Lines by a part of the image's name; the last one that was set wins."""

    def __init__(self) -> None:
        self._tables: list[tuple[str, str, str]] = []

    def set(self, image_substring: str, current: str, previous: str) -> None:
        self._tables.append((image_substring, current, previous))

    def read(self, pod: Obj, query: Mapping[str, str]) -> str:
        """The log of the container that the query names; raises the 400 of a kubelet that has none."""
        container = _container(pod, query.get("container", ""))
        status = _status(pod, container["name"])
        previous = is_set(query, "previous")
        started = _started(pod, container["name"], status, previous=previous)
        text = self._text(str(container["image"]), previous=previous)
        return _cut(text, query, started)

    def _text(self, image: str, *, previous: bool) -> str:
        for part, current, before in reversed(self._tables):
            if part in image:
                return before if previous else current
        return "\n".join(_default(behaviour_of(image), previous=previous)) + "\n"


def _default(behaviour: Behaviour, *, previous: bool) -> tuple[str, ...]:
    if behaviour.exit_reason == "OOMKilled":
        return _KILLED
    if behaviour.exits:
        return _CRASHED
    return _STARTED


def _container(pod: Obj, name: str) -> Obj:
    containers: list[Obj] = pod["spec"]["containers"]
    if not name and len(containers) > 1:
        listed = " ".join(str(c["name"]) for c in containers)
        raise bad_request(f"a container name must be specified for pod {name_of(pod)}, choose one of: [{listed}]")
    found = next((c for c in containers if name in ("", c["name"])), None)
    if found is None:
        raise bad_request(f"container {name} is not valid for pod {name_of(pod)}")
    return found


def _status(pod: Obj, name: str) -> Obj:
    statuses: list[Obj] = at(pod, "status", "containerStatuses", default=[])
    return next((s for s in statuses if s["name"] == name), {})


def _started(pod: Obj, name: str, status: Obj, *, previous: bool) -> str:
    """When the run began whose log this is."""
    ended = at(status, "lastState", "terminated")
    if previous and ended is None:
        raise bad_request(f'previous terminated container "{name}" in pod "{name_of(pod)}" not found')
    if previous:
        return str(ended["startedAt"])
    running = at(status, "state", "running", "startedAt")
    if running is None and ended is None:
        reason = at(status, "state", "waiting", "reason", default="ContainerCreating")
        why = "trying and failing to pull image" if "Pull" in reason else reason
        raise bad_request(f'container "{name}" in pod "{name_of(pod)}" is waiting to start: {why}')
    return str(running or ended["startedAt"])


def _cut(text: str, query: Mapping[str, str], started: str) -> str:
    lines = text.splitlines()
    if (tail := number(query, "tailLines")) is not None:
        lines = lines[-tail:] if tail else []
    if is_set(query, "timestamps"):
        at_start = stamp(moment(started)).replace("Z", ".000000000Z")
        lines = [f"{at_start} {line}" for line in lines]
    cut = "".join(f"{line}\n" for line in lines)
    if limit := number(query, "limitBytes"):
        return cut.encode()[:limit].decode(errors="ignore")
    return cut
