"""What the simulated cluster says it is and has: /version, /api, /apis and the resources of each group."""

from collections.abc import Callable

from .kinds import KINDS, POD, REVIEWS, Kind
from .objects import Obj

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_PART_VERBS = ["get", "patch", "update"]
VERSION: Obj = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0-handrail.simulated",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}


def answer(path: str) -> Obj | None:
    """The document at this path, if it is one of discovery's."""
    make = _documents().get(path.rstrip("/"))
    return make() if make else None


def _documents() -> dict[str, Callable[[], Obj]]:
    found: dict[str, Callable[[], Obj]] = {
        "/version": lambda: VERSION,
        "/api": lambda: {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
        "/apis": lambda: {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(*g) for g in _groups()]},
        "/api/v1": lambda: _resources("", "v1"),
    }
    for group, version in _groups():
        found[f"/apis/{group}"] = lambda g=group, v=version: {  # type: ignore[misc]
            "kind": "APIGroup", "apiVersion": "v1", **_group(g, v)
        }  # fmt: skip
        found[f"/apis/{group}/{version}"] = lambda g=group, v=version: _resources(g, v)  # type: ignore[misc]
    return found


def _groups() -> list[tuple[str, str]]:
    return sorted({(k.group, k.version) for k in KINDS if k.group} | set(REVIEWS))


def _group(group: str, version: str) -> Obj:
    only = {"groupVersion": f"{group}/{version}", "version": version}
    return {"name": group, "versions": [only], "preferredVersion": only}


def _resources(group: str, version: str) -> Obj:
    found = [entry for kind in KINDS if (kind.group, kind.version) == (group, version) for entry in _entries(kind)]
    for plural, name in REVIEWS.get((group, version), {}).items():
        found.append({"name": plural, "singularName": "", "namespaced": False, "kind": name, "verbs": ["create"]})
    full = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": full, "resources": found}


def _entries(kind: Kind) -> list[Obj]:
    base: Obj = {
        "name": kind.plural,
        "singularName": kind.name.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.name,
        "verbs": _VERBS,
        "shortNames": list(kind.short),
    }
    parts = {"status": _PART_VERBS} if kind.status else {}
    if kind.scale:
        parts["scale"] = _PART_VERBS
    if kind is POD:
        parts |= {"log": ["get"], "eviction": ["create"]}
    part: Obj = {"singularName": "", "namespaced": kind.namespaced, "kind": kind.name}
    return [base, *(part | {"name": f"{kind.plural}/{name}", "verbs": verbs} for name, verbs in parts.items())]
