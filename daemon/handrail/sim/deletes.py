"""Deleting: preconditions, grace, finalizers and how owners take what they own with them.

It decides whether an object goes at once or is only marked; what waits for the garbage collector or for the
kubelet is finished by them. It never deletes by selector: the caller names each object.
"""

from dataclasses import dataclass
from typing import Any

from . import fields
from .kinds import NAMESPACE, POD, Kind
from .objects import Obj, at, clone, is_terminating, meta, name_of, owners_of, stamp, uid_of
from .query import number
from .registry import Registry, is_finished
from .status import bad_option, not_deletable, success

FOREGROUND = "foregroundDeletion"
_POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True)
class Deletion:
    """The options of a delete. `grace` is in seconds; None leaves it to the object."""

    uid: str = ""
    version: str = ""
    grace: int | None = None
    policy: str = "Background"
    dry_run: bool = False


def options_of(body: Any, query: dict[str, str]) -> Deletion:
    """Read DeleteOptions from a body or from the query, which count the same."""
    given: Obj = body if isinstance(body, dict) else {}
    policy = given.get("propagationPolicy") or query.get("propagationPolicy") or "Background"
    if given.get("orphanDependents"):
        policy = "Orphan"
    if policy not in _POLICIES:
        raise bad_option("DeleteOptions", "propagationPolicy", policy, _POLICIES)
    grace = given.get("gracePeriodSeconds", number(query, "gracePeriodSeconds"))
    return Deletion(
        uid=str(at(given, "preconditions", "uid", default="")),
        version=str(at(given, "preconditions", "resourceVersion", default="")),
        grace=None if grace is None else max(int(grace), 0),
        policy=policy,
        dry_run=bool(given.get("dryRun") or query.get("dryRun")),
    )


def delete(registry: Registry, kind: Kind, obj: Obj, deletion: Deletion) -> Obj:
    """Delete or mark this object; the answer is what the API server would send."""
    _preconditions(kind, obj, deletion)
    marked = _marked(registry, kind, obj, deletion)
    if deletion.dry_run:
        return marked if kind.returned or not is_finished(marked) else _done(kind, obj)
    if deletion.policy == "Orphan":
        _set_free(registry, obj)
    if not is_finished(marked):
        return registry.store.put(kind, marked) if marked != obj else obj
    registry.store.remove(kind, obj)
    return marked if kind.returned else _done(kind, obj)


def _done(kind: Kind, obj: Obj) -> Obj:
    return success(kind, name_of(obj), uid_of(obj))


def _preconditions(kind: Kind, obj: Obj, deletion: Deletion) -> None:
    for label, wanted, found, perhaps in (
        ("UID", deletion.uid, uid_of(obj), "deleted and then recreated"),
        ("ResourceVersion", deletion.version, meta(obj)["resourceVersion"], "modified"),
    ):
        if wanted and wanted != found:
            why = f"the {label} in the precondition ({wanted}) does not match the {label} in record ({found})"
            raise not_deletable(kind, name_of(obj), f"{why}. The object might have been {perhaps}")


def _marked(registry: Registry, kind: Kind, obj: Obj, deletion: Deletion) -> Obj:
    """The object with its deletion noted: time, grace and the finalizer that foreground deletion needs."""
    grace = _grace(kind, obj, deletion.grace)
    if is_terminating(obj) and grace >= int(meta(obj).get("deletionGracePeriodSeconds") or 0):
        return obj
    marked = clone(obj)
    now = registry.clock.now()
    meta(marked).setdefault("deletionTimestamp", stamp(now))
    meta(marked)["deletionGracePeriodSeconds"] = grace
    if deletion.policy == "Foreground":
        meta(marked)["finalizers"] = [*(meta(marked).get("finalizers") or []), FOREGROUND]
    if "generation" in meta(marked):
        meta(marked)["generation"] += 1
    if kind is NAMESPACE:
        marked["status"]["phase"] = "Terminating"
    return marked


def _grace(kind: Kind, obj: Obj, asked: int | None) -> int:
    if kind is not POD or not at(obj, "spec", "nodeName") or at(obj, "status", "phase") in ("Failed", "Succeeded"):
        return 0
    return asked if asked is not None else int(at(obj, "spec", "terminationGracePeriodSeconds", default=30))


def _set_free(registry: Registry, owner: Obj) -> None:
    """Let what this object owns outlive it."""
    for kind, obj in list(registry.store.everything()):
        others = [o for o in owners_of(obj) if o["uid"] != uid_of(owner)]
        if len(others) != len(owners_of(obj)):
            freed = clone(obj)
            meta(freed)["ownerReferences"] = others
            if not others:
                del meta(freed)["ownerReferences"]
            fields.record(freed, "kube-controller-manager", kind.api_version, "", registry.now())
            registry.store.put(kind, freed)


def finish(registry: Registry, kind: Kind, obj: Obj, *, finalizer: str = "") -> None:
    """Take away what a marked object still waits for: its grace, and this finalizer."""
    done = clone(obj)
    meta(done)["deletionGracePeriodSeconds"] = 0
    meta(done)["finalizers"] = [f for f in meta(done).get("finalizers") or [] if f != finalizer]
    if kind is NAMESPACE:
        at(done, "spec", default={}).pop("finalizers", None)
    if is_finished(done):
        registry.store.remove(kind, obj)
    else:
        registry.store.put(kind, done)
