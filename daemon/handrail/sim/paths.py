"""What a URL path means: which resource, which object, which part of it.

It decides between 404 (no such path in Kubernetes either) and 501 (real, but not simulated). It looks at no object.
"""

from dataclasses import dataclass

from .kinds import KINDS, NOT_SIMULATED, REVIEWS, Kind, by_path
from .status import no_such_path, no_such_resource, not_implemented

_PARTS = {
    "Pod": ("status", "log", "eviction"),
    "Namespace": ("status",),
}
_REAL_PARTS = ("resize", "exec", "attach", "portforward", "binding", "ephemeralcontainers", "proxy", "finalize")


@dataclass(frozen=True)
class Target:
    """An object, a collection (no name) or a part of an object. An empty namespace means all of them."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    part: str = ""


@dataclass(frozen=True)
class Review:
    """One of the reviews that are posted and kept nowhere."""

    group: str
    version: str
    plural: str


def target_of(path: str) -> Target | Review:
    """Read `/api/v1/...` and `/apis/GROUP/VERSION/...`; raises 404 or 501 for anything else."""
    segments = [segment for segment in path.split("/") if segment]
    if segments[:1] == ["api"] and len(segments) > 2:
        return _within("", segments[1], segments[2:])
    if segments[:1] == ["apis"] and len(segments) > 3:
        return _within(segments[1], segments[2], segments[3:])
    raise no_such_path()


def _within(group: str, version: str, rest: list[str]) -> Target | Review:
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    if rest[0] in REVIEWS.get((group, version), ()):
        return Review(group, version, rest[0])
    kind = by_path(group, version, rest[0])
    if kind is None:
        raise _unknown(group, version, rest[0])
    if len(rest) > 3 or (kind.namespaced is False and namespace):
        raise no_such_resource()
    name, part = [*rest[1:], "", ""][:2]
    _check_part(kind, part)
    return Target(kind, namespace, name, part)


def _unknown(group: str, version: str, plural: str) -> Exception:
    if plural in NOT_SIMULATED.get(group, ()):
        return not_implemented(f"{plural} of {group or 'core'}/{version}")
    real = group in NOT_SIMULATED or any(kind.group == group for kind in KINDS)
    return no_such_resource() if real else no_such_path()


def _check_part(kind: Kind, part: str) -> None:
    known = _PARTS.get(kind.name, ()) + ("status",) * kind.status + ("scale",) * kind.scale
    if part in _REAL_PARTS:
        raise not_implemented(f"{kind.plural}/{part}")
    if part and part not in known:
        raise no_such_resource()
