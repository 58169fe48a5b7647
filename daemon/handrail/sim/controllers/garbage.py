"""What goes when its owner has gone, and namespaces that are emptied before they go.

It decides by ownerReferences alone: an object whose owners are all gone is deleted. It never deletes an object that
names no owner, but for those of a namespace that is being deleted.
"""

from datetime import datetime

from ..deletes import FOREGROUND, Deletion, delete, finish
from ..kinds import NAMESPACE, Kind
from ..objects import Obj, is_terminating, meta, namespace_of, owners_of, uid_of
from ..registry import Registry


def step(registry: Registry, now: datetime) -> datetime | None:
    """Delete what nobody owns any more; finish what was only waiting for that."""
    living = {uid_of(obj) for _, obj in registry.store.everything()}
    for kind, obj in list(registry.store.everything()):
        if is_terminating(obj):
            continue
        if owners_of(obj) and not any(owner["uid"] in living for owner in owners_of(obj)):
            _delete(registry, kind, obj)
    _foreground(registry)
    _namespaces(registry)
    return None


def _delete(registry: Registry, kind: Kind, obj: Obj) -> None:
    if registry.store.get(kind, namespace_of(obj), str(meta(obj)["name"])) is obj:
        delete(registry, kind, obj, Deletion())


def _foreground(registry: Registry) -> None:
    """An owner that is deleted in the foreground goes after all that it owns."""
    for kind, owner in list(registry.store.everything()):
        if not is_terminating(owner) or FOREGROUND not in (meta(owner).get("finalizers") or []):
            continue
        owned = [
            (k, obj) for k, obj in registry.store.everything() if uid_of(owner) in (o["uid"] for o in owners_of(obj))
        ]
        for owned_kind, obj in owned:
            if not is_terminating(obj):
                delete(registry, owned_kind, obj, Deletion(policy="Foreground"))
        if not owned:
            finish(registry, kind, owner, finalizer=FOREGROUND)


def _namespaces(registry: Registry) -> None:
    for namespace in registry.store.all(NAMESPACE):
        if not is_terminating(namespace):
            continue
        name = str(meta(namespace)["name"])
        content = [(k, obj) for k, obj in registry.store.everything() if namespace_of(obj) == name]
        for kind, obj in content:
            if not is_terminating(obj):
                delete(registry, kind, obj, Deletion())
        if not content:
            finish(registry, NAMESPACE, namespace)
