"""Creating and changing objects by the rules of the API server.

It decides defaults, identity, generation, preconditions, dry-run and what is a change at all. Everybody writes
through it, controllers too. It never knows who asks or whether they may; removing objects is in `deletes`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from . import defaults, fields, validate
from .clock import Clock
from .ids import Ids
from .kinds import DEPLOYMENT, NAMESPACE, Kind
from .objects import Obj, annotations_of, at, clone, is_terminating, meta, name_of, namespace_of, stamp, uid_of
from .status import ApiError, already_exists, bad_request, forbidden, invalid, not_found, other_uid, stale
from .store import Store

# What a client may send and the server sets all the same.
_SERVERS_OWN = ("generation", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink")


@dataclass(frozen=True)
class How:
    """In which way a write is meant. `part` is "" for the object itself, else the subresource."""

    manager: str = "kube-controller-manager"
    dry_run: bool = False
    part: str = ""


CONTROLLER = How()
CONTROLLER_STATUS = How(part="status")


class Registry:
    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        self.store = store
        self.clock = clock
        self.ids = ids

    def now(self) -> str:
        return stamp(self.clock.now())

    def get(self, kind: Kind, namespace: str, name: str) -> Obj:
        """The object as it is stored; raises the 404."""
        obj = self.store.get(kind, namespace, name)
        if obj is None:
            raise not_found(kind, name)
        return obj

    def create(self, kind: Kind, namespace: str, body: Obj, how: How = CONTROLLER) -> Obj:
        """Make this object; raises 404 and 403 for its namespace, 422 and 409."""
        if kind.namespaced:
            self._namespace_takes(kind, namespace, body)
        obj = self._born(kind, namespace, body, how)
        if found := validate.causes(kind, obj, None):
            raise invalid(kind, str(meta(obj).get("name", "")), found)
        if self.store.get(kind, namespace, name_of(obj)) is not None:
            raise already_exists(kind, name_of(obj))
        return obj if how.dry_run else self.store.put(kind, obj)

    def update(self, kind: Kind, before: Obj, wanted: Obj, how: How = CONTROLLER, *, whole: bool = False) -> Obj:
        """Turn an object into what is wanted of it. What changes nothing is no write.

        `whole` is a PUT, whose UID is a precondition; a patch that alters the UID is invalid.
        """
        _preconditions(kind, before, wanted, whole=whole)
        after = _allowed(kind, before, wanted, how.part)
        defaults.fill(kind, after)
        if found := validate.causes(kind, after, before):
            raise invalid(kind, name_of(before), found)
        if after == before:
            return before
        return self._commit(kind, before, after, how)

    def change(self, kind: Kind, before: Obj, edit: Callable[[Obj], None], how: How = CONTROLLER) -> Obj:
        """Update an object by editing a copy of it, as controllers do."""
        wanted = clone(before)
        edit(wanted)
        if wanted == before:
            return before
        return self.update(kind, before, wanted, how)

    def _commit(self, kind: Kind, before: Obj, after: Obj, how: How) -> Obj:
        if kind.counts and _is_another(kind, before, after, how.part):
            meta(after)["generation"] = int(meta(before).get("generation", 0)) + 1
        fields.record(after, how.manager, kind.api_version, how.part, self.now())
        if how.dry_run:
            return after
        if is_finished(after):
            self.store.remove(kind, before)
            return after
        return self.store.put(kind, after)

    def _born(self, kind: Kind, namespace: str, body: Obj, how: How) -> Obj:
        obj: Obj = {"apiVersion": kind.api_version, "kind": kind.name} | clone(body)
        given = meta(obj)
        if given.get("resourceVersion"):
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
        for key in (*_SERVERS_OWN, "resourceVersion"):
            given.pop(key, None)
        if not given.get("name") and given.get("generateName"):
            given["name"] = f"{given['generateName']}{self.ids.suffix()}"
        if kind.namespaced:
            given["namespace"] = namespace
        given |= {"uid": self.ids.uid(), "creationTimestamp": self.now()}
        if kind.counts:
            given["generation"] = 1
        if kind.status:
            obj.pop("status", None)
        defaults.fill(kind, obj)
        fields.record(obj, how.manager, kind.api_version, "", self.now())
        _drop_empty(given)
        return obj

    def _namespace_takes(self, kind: Kind, namespace: str, body: Obj) -> None:
        home = self.store.get(NAMESPACE, "", namespace)
        if home is None:
            raise not_found(NAMESPACE, namespace)
        if not is_terminating(home):
            return
        name = str(at(body, "metadata", "name", default=""))
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        error = forbidden(kind, name, f'{kind.qualified} "{name}" is forbidden: {why}')
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise ApiError(403, error.reason, error.message, (error.details or {}) | {"causes": [cause]})


def is_finished(obj: Obj) -> bool:
    """Is this object being deleted, with nothing left to wait for?"""
    waits = meta(obj).get("finalizers") or meta(obj).get("deletionGracePeriodSeconds")
    return is_terminating(obj) and not waits and not at(obj, "spec", "finalizers", default=[])


def _preconditions(kind: Kind, before: Obj, wanted: Obj, *, whole: bool) -> None:
    name, uid = meta(wanted).get("name"), meta(wanted).get("uid")
    if name != name_of(before):
        message = f"the name of the object ({name}) does not match the name on the URL ({name_of(before)})"
        raise bad_request(message)
    if (meta(wanted).get("namespace") or namespace_of(before)) != namespace_of(before):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if whole and uid and uid != uid_of(before):
        raise other_uid(kind, name_of(before), uid, uid_of(before))
    version = meta(wanted).get("resourceVersion")
    if version and version != meta(before)["resourceVersion"]:
        raise stale(kind, name_of(before))


def _allowed(kind: Kind, before: Obj, wanted: Obj, part: str) -> Obj:
    """What is left of the wanted object once the server's own fields are put back."""
    after = clone(wanted)
    for key in ("namespace", "uid", "creationTimestamp"):
        if key in meta(before) and not meta(after).get(key):
            meta(after)[key] = meta(before)[key]
    for key in (*_SERVERS_OWN, "resourceVersion"):
        meta(after).pop(key, None)
        if key in meta(before):
            meta(after)[key] = meta(before)[key]
    _drop_empty(meta(after))
    if part == "status":
        return _status_only(before, after)
    if kind.status:
        after.pop("status", None)
        if "status" in before:
            after["status"] = clone(before["status"])
    return after


def _drop_empty(metadata: Obj) -> None:
    """Empty labels, owners and so on are not kept: they are the same as none."""
    for key in [key for key, value in metadata.items() if value in ({}, [])]:
        del metadata[key]


def _status_only(before: Obj, after: Obj) -> Obj:
    """A write of the status leaves the spec alone, but takes annotations (controllers keep the revision there)."""
    kept = clone(before)
    kept["status"] = after.get("status", {})
    if "conditions" in kept["status"]:
        kept["status"]["conditions"] = [{"type": "", "status": ""} | c for c in kept["status"]["conditions"]]
    if annotations_of(after):
        meta(kept)["annotations"] = meta(after)["annotations"]
    return kept


def _is_another(kind: Kind, before: Obj, after: Obj, part: str) -> bool:
    """Does this write raise the generation? A Deployment counts its annotations as part of what is desired."""
    if part == "status":
        return False
    if kind is DEPLOYMENT and annotations_of(before) != annotations_of(after):
        return True
    return bool(before.get("spec") != after.get("spec"))
