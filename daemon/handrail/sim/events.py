"""Writing Events, as the parts of a cluster tell what they have done.

It decides only when an event is the same as an earlier one (then that one's count goes up).
"""

from dataclasses import dataclass

from .kinds import EVENT
from .objects import Obj, at, clone, meta, name_of, namespace_of, uid_of
from .registry import Registry
from .status import ApiError


@dataclass(frozen=True)
class Recorder:
    """Writes the events of one component."""

    component: str

    def normal(self, registry: Registry, about: Obj, reason: str, message: str) -> None:
        self._write(registry, about, "Normal", reason, message)

    def warning(self, registry: Registry, about: Obj, reason: str, message: str) -> None:
        self._write(registry, about, "Warning", reason, message)

    def _write(self, registry: Registry, about: Obj, severity: str, reason: str, message: str) -> None:
        namespace = namespace_of(about) or "default"
        for earlier in registry.store.all(EVENT, namespace):
            if (_subject(earlier), earlier["reason"], earlier["message"]) == (uid_of(about), reason, message):
                _again(registry, earlier)
                return
        body = {
            "metadata": {"name": f"{name_of(about)}.{registry.ids.suffix(10)}"},
            "involvedObject": _reference(about),
            "reason": reason,
            "message": message,
            "type": severity,
            "source": {"component": self.component},
            "reportingComponent": self.component,
            "count": 1,
            "firstTimestamp": registry.now(),
            "lastTimestamp": registry.now(),
        }
        try:
            registry.create(EVENT, namespace, body)
        except ApiError:
            pass  # a namespace that is being deleted takes no events: they are lost, on a real cluster too


def _subject(event: Obj) -> str:
    return str(at(event, "involvedObject", "uid", default=""))


def _again(registry: Registry, earlier: Obj) -> None:
    repeated = clone(earlier)
    repeated |= {"count": int(earlier.get("count", 1)) + 1, "lastTimestamp": registry.now()}
    registry.store.put(EVENT, repeated)


def _reference(obj: Obj) -> Obj:
    reference = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "uid": uid_of(obj), "name": name_of(obj)}
    if namespace_of(obj):
        reference["namespace"] = namespace_of(obj)
    if version := meta(obj).get("resourceVersion"):
        reference["resourceVersion"] = version
    return reference
