"""From a request to an answer: what each verb does to each kind of target.

It decides nothing that another module decides: it reads the request, checks the rights, calls and wraps up. It knows
no sockets; `server` is the one that does.
"""

from collections.abc import Callable
from dataclasses import dataclass

from . import decode, discovery, fields, listing, scale
from .deletes import delete, options_of
from .evict import evict
from .kinds import NAMESPACE, Kind
from .logs import LogBook
from .objects import Obj, meta, namespace_of
from .patch import patched
from .paths import Review, Target, target_of
from .query import is_set
from .registry import How, Registry
from .rights import Asked, Rights, User
from .status import bad_option, bad_request, not_allowed

_SCALE = Kind("autoscaling", "v1", "Scale", "scales")


@dataclass(frozen=True)
class Request:
    """A request as it came, without its socket."""

    method: str
    path: str
    query: dict[str, str]
    body: bytes
    content_type: str
    authorization: str
    user_agent: str

    @property
    def watches(self) -> bool:
        return self.method == "GET" and is_set(self.query, "watch")


@dataclass(frozen=True)
class Reply:
    """An answer; a body that is text is sent as text. `warnings` go into headers."""

    code: int
    body: Obj | str
    warnings: tuple[str, ...] = ()


class Api:
    def __init__(self, registry: Registry, rights: Rights, logs: LogBook) -> None:
        self.registry = registry
        self.rights = rights
        self.logs = logs

    def answer(self, request: Request) -> Reply:
        """Do what is asked; every refusal is raised as ApiError."""
        user = self.rights.who(request.authorization)
        if request.path in ("/healthz", "/livez", "/readyz"):
            return Reply(200, "ok")
        if (document := discovery.answer(request.path)) is not None:
            self.rights.check(user, Asked(request.method.lower(), path=request.path))
            return Reply(200, document)
        target = self.admitted(request, user)
        if isinstance(target, Review):
            return Reply(201, self._review(target, user, request))
        return _handler(target, request.method)(self, target, request)

    def admitted(self, request: Request, user: User) -> Target | Review:
        """The target of this request, if this user may do that to it."""
        target = target_of(request.path)
        self.rights.check(user, _asked(target, request))
        return target

    def _review(self, review: Review, user: User, request: Request) -> Obj:
        if request.method != "POST":
            raise not_allowed()
        body = decode.parse(request.body)
        if not isinstance(body, dict):
            raise bad_request("the object provided is unrecognized")
        return self.rights.review(review.plural, user, {"metadata": {}} | body)

    def _found(self, target: Target) -> Obj:
        return self.registry.get(target.kind, target.namespace, target.name)

    def get(self, target: Target, request: Request) -> Reply:
        return Reply(200, self._found(target))

    def list(self, target: Target, request: Request) -> Reply:
        return Reply(200, listing.listed(self.registry.store, target, request.query))

    def create(self, target: Target, request: Request) -> Reply:
        obj, warnings = _sent(target, request)
        if target.kind.namespaced and not target.namespace:
            raise not_allowed()
        made = self.registry.create(target.kind, target.namespace, obj, _how(target, request))
        return Reply(201, made, warnings)

    def replace(self, target: Target, request: Request) -> Reply:
        before = self._found(target)
        wanted, warnings = _sent(target, request)
        meta(wanted).setdefault("name", target.name)
        if target.kind.namespaced:
            meta(wanted).setdefault("namespace", target.namespace)
        how = _how(target, request)
        return Reply(200, self.registry.update(target.kind, before, wanted, how, whole=True), warnings)

    def patch(self, target: Target, request: Request) -> Reply:
        before = self._found(target)
        made = patched(target.kind, request.content_type, before, decode.parse(request.body))
        wanted = decode.result_of_patch(target.kind, made, request.query.get("fieldValidation", ""))
        return Reply(200, self.registry.update(target.kind, before, wanted, _how(target, request)))

    def delete(self, target: Target, request: Request) -> Reply:
        obj = self._found(target)
        deletion = options_of(decode.parse(request.body) if request.body else None, request.query)
        return Reply(200, delete(self.registry, target.kind, obj, deletion))

    def delete_all(self, target: Target, request: Request) -> Reply:
        deletion = options_of(decode.parse(request.body) if request.body else None, request.query)
        selects = listing.selector_of(target, request.query)
        gone = [obj for obj in self.registry.store.all(target.kind) if selects(obj)]
        for obj in gone:
            delete(self.registry, target.kind, obj, deletion)
        version = {"resourceVersion": str(self.registry.store.version)}
        return Reply(200, listing.body_of(target.kind, gone, version))

    def log(self, target: Target, request: Request) -> Reply:
        return Reply(200, self.logs.read(self._found(target), request.query))

    def evict(self, target: Target, request: Request) -> Reply:
        pod = self._found(target)
        return Reply(201, evict(self.registry, pod, decode.parse(request.body), request.query))

    def get_scale(self, target: Target, request: Request) -> Reply:
        return Reply(200, scale.view(self._found(target)))

    def put_scale(self, target: Target, request: Request) -> Reply:
        return self._scale(target, request, decode.parse(request.body))

    def patch_scale(self, target: Target, request: Request) -> Reply:
        seen = scale.view(self._found(target))
        return self._scale(target, request, patched(_SCALE, request.content_type, seen, decode.parse(request.body)))

    def _scale(self, target: Target, request: Request, wanted: Obj) -> Reply:
        before = self._found(target)
        after = scale.applied(target.kind, before, {"metadata": {}} | wanted)
        how = _how(target, request)
        return Reply(200, scale.view(self.registry.update(target.kind, before, after, how)))


Handler = Callable[[Api, Target, Request], Reply]

# (part, has a name, method) -> what is done
_HANDLERS: dict[tuple[str, bool, str], Handler] = {
    ("", False, "GET"): Api.list,
    ("", False, "POST"): Api.create,
    ("", False, "DELETE"): Api.delete_all,
    ("", True, "GET"): Api.get,
    ("", True, "PUT"): Api.replace,
    ("", True, "PATCH"): Api.patch,
    ("", True, "DELETE"): Api.delete,
    ("status", True, "GET"): Api.get,
    ("status", True, "PUT"): Api.replace,
    ("status", True, "PATCH"): Api.patch,
    ("scale", True, "GET"): Api.get_scale,
    ("scale", True, "PUT"): Api.put_scale,
    ("scale", True, "PATCH"): Api.patch_scale,
    ("log", True, "GET"): Api.log,
    ("eviction", True, "POST"): Api.evict,
}

_OPTIONS = {"PATCH": "PatchOptions", "PUT": "UpdateOptions"}

_VERBS = {
    (True, "GET"): "get",
    (True, "PUT"): "update",
    (True, "PATCH"): "patch",
    (True, "DELETE"): "delete",
    (True, "POST"): "create",
    (False, "GET"): "list",
    (False, "POST"): "create",
    (False, "DELETE"): "deletecollection",
}


def _handler(target: Target, method: str) -> Handler:
    found = _HANDLERS.get((target.part, bool(target.name), method))
    if found is None:
        raise not_allowed()
    return found


def _asked(target: Target | Review, request: Request) -> Asked:
    if isinstance(target, Review):
        # Everybody who is known may ask what they may; a token review is for those who check others.
        if target.plural == "selfsubjectaccessreviews":
            return Asked("post", path=request.path)
        return Asked("create", target.group, target.plural)
    verb = _VERBS.get((bool(target.name), request.method), request.method.lower())
    kind = target.kind
    namespace = target.name if kind is NAMESPACE else target.namespace
    verb = "watch" if request.watches else verb
    return Asked(verb, kind.group, kind.plural, target.part, namespace, target.name)


def _sent(target: Target, request: Request) -> tuple[Obj, tuple[str, ...]]:
    """The object in the body, and what its sender is to be warned of."""
    body = decode.parse(request.body)
    strictness = request.query.get("fieldValidation", "")
    obj = decode.whole(target.kind, body, strictness)
    if target.kind.namespaced and namespace_of(obj) not in ("", target.namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    unknown = [] if strictness == "Ignore" else decode.unknown_fields(target.kind, body)
    return obj, tuple(f'unknown field "{field}"' for field in unknown)


def _how(target: Target, request: Request) -> How:
    dry_run = request.query.get("dryRun", "")
    if dry_run not in ("", "All"):
        raise bad_option(_OPTIONS.get(request.method, "CreateOptions"), "dryRun", dry_run, ("All",))
    manager = fields.manager_of(request.query.get("fieldManager", ""), request.user_agent)
    return How(manager, dry_run == "All", target.part)
