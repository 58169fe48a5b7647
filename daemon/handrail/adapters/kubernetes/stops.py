"""The two stops that the cluster itself holds: a namespace's annotation, and the bindings of the hands.

For people, with their own rights: they work with the daemon and its database dead. The daemon itself never calls this;
what it may write passes through Hands alone.
"""

from __future__ import annotations

from handrail.adapters.kubernetes.client import Cluster
from handrail.adapters.kubernetes.paths import is_namespace
from handrail.adapters.kubernetes.wire import Reply, Request
from handrail.core.admission import STOP_ANNOTATION
from handrail.core.redact import neutral
from handrail.model.errors import BadConfig, NotAllowed, Permanent
from handrail.model.value import Raw, Value

RBAC = "/apis/rbac.authorization.k8s.io/v1"
HANDS = "handrail.dev/part=hands"
POINTER = "/metadata/annotations/" + STOP_ANNOTATION.replace("/", "~1")
LONGEST_REASON = 500
WHAT = {
    "roles": (("clusterroles", "ClusterRole"), ("roles", "Role")),
    "bindings": (("clusterrolebindings", "ClusterRoleBinding"), ("rolebindings", "RoleBinding")),
}


class Standing(Value):
    """Which stops are on. `writes` is False where no binding of the hands is left; `why` as the person wrote it."""

    writes: bool
    why: str = ""
    namespaces: dict[str, str] = {}


class ClusterStops:
    """`name` is the prefix of the roles: "handrail", or the Helm release's full name."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self._name = name

    async def stop_namespace(self, namespace: str, reason: str) -> None:
        """Raises Permanent where the namespace is not there or the caller has no right to mark it."""
        await self._annotate(_namespace(namespace), reason)

    async def start_namespace(self, namespace: str) -> bool:
        """False where it was not stopped."""
        return await self._unmark(_namespace(namespace))

    async def stop_all(self, reason: str) -> tuple[str, ...]:
        """Deletes every binding of the hands, then leaves the reason on the role of the eyes. Returns their names."""
        gone: list[str] = []
        for binding in await self._bindings():
            path = f"{_bindings_of(binding)}/{binding['metadata']['name']}"
            _checked(await self._cluster.request(Request("DELETE", path, writes=True)), "delete", path)
            gone.append(_place(binding))
        await self._annotate(f"{RBAC}/clusterroles/{self._name}-eyes", reason)
        return tuple(gone)

    async def start_all(self) -> tuple[str, ...]:
        """Binds every role of the hands that is bound to nobody, to the account that the eyes are bound to."""
        subjects = await self._subjects()
        bound = {_place(binding) for binding in await self._bindings()}
        made: list[str] = []
        for role in await self._mine("roles"):
            if _place(role) not in bound:
                path = _bindings_of(role)
                body = _binding(role, subjects)
                _checked(await self._cluster.request(Request("POST", path, body=body, writes=True)), "create", path)
                made.append(_place(role))
        await self._unmark(f"{RBAC}/clusterroles/{self._name}-eyes")
        return tuple(made)

    async def standing(self) -> Standing:
        roles, bindings = await self._mine("roles"), await self._bindings()
        eyes = await self._get(f"{RBAC}/clusterroles/{self._name}-eyes")
        found = await self._list("/api/v1/namespaces", ())
        stopped = {one["metadata"]["name"]: _why(one) for one in found if _why(one)}
        return Standing(writes=bool(bindings) or not roles, why=_why(eyes), namespaces=stopped)

    async def _bindings(self) -> list[Raw]:
        return await self._mine("bindings")

    async def _mine(self, what: str) -> list[Raw]:
        """Roles or bindings of the hands: of the whole cluster first, then of the namespaces."""
        found: list[Raw] = []
        for plural, kind in WHAT[what]:
            for one in await self._list(f"{RBAC}/{plural}", (("labelSelector", HANDS),)):
                if one["metadata"]["name"] == f"{self._name}-hands":
                    found.append({**one, "kind": kind})
        return found

    async def _subjects(self) -> list[Raw]:
        binding = await self._get(f"{RBAC}/clusterrolebindings/{self._name}-eyes")
        return list(binding.get("subjects") or ())

    async def _list(self, path: str, query: tuple[tuple[str, str], ...]) -> list[Raw]:
        return list(_checked(await self._cluster.request(Request("GET", path, query)), "list", path).body["items"])

    async def _get(self, path: str) -> Raw:
        return _checked(await self._cluster.request(Request("GET", path)), "read", path).body

    async def _annotate(self, path: str, reason: str) -> None:
        text = neutral(" ".join(reason.split()))[:LONGEST_REASON]
        if not text:
            raise BadConfig("a stop needs a reason: everybody who looks will read it")
        operations: list[Raw] = [{"op": "add", "path": POINTER, "value": text}]
        if (await self._get(path))["metadata"].get("annotations") is None:
            operations.insert(0, {"op": "add", "path": "/metadata/annotations", "value": {}})
        await self._patch(path, operations)

    async def _unmark(self, path: str) -> bool:
        if not _why(await self._get(path)):
            return False
        await self._patch(path, [{"op": "remove", "path": POINTER}])
        return True

    async def _patch(self, path: str, operations: list[Raw]) -> None:
        _checked(await self._cluster.request(Request("PATCH", path, body=operations, writes=True)), "patch", path)


def _namespace(name: str) -> str:
    if not is_namespace(name):
        raise BadConfig(f"{name!r} can be no namespace's name")
    return f"/api/v1/namespaces/{name}"


def _bindings_of(one: Raw) -> str:
    """Where the API server keeps bindings beside this role or binding."""
    namespace = one["metadata"].get("namespace")
    return f"{RBAC}/namespaces/{namespace}/rolebindings" if namespace else f"{RBAC}/clusterrolebindings"


def _place(one: Raw) -> str:
    meta = one["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


def _why(one: Raw) -> str:
    return str((one["metadata"].get("annotations") or {}).get(STOP_ANNOTATION, ""))


def _binding(role: Raw, subjects: list[Raw]) -> Raw:
    """With the role's labels and annotations, so that Helm knows it as its own."""
    meta = role["metadata"]
    kept = {key: meta[key] for key in ("name", "namespace", "labels", "annotations") if meta.get(key)}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": f"{role['kind']}Binding",
        "metadata": kept,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role["kind"], "name": meta["name"]},
        "subjects": subjects,
    }


def _checked(reply: Reply, verb: str, path: str) -> Reply:
    """Raises Permanent with the server's own sentence, NotAllowed where the caller lacks the right."""
    if not reply.ok:
        kind = NotAllowed if reply.status in (401, 403) else Permanent
        raise kind(f"the API server refuses to {verb} {path}: {reply.sentence}")
    return reply
