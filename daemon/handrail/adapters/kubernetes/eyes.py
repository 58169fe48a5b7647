"""The eyes: everything that is read from the API server. Holds no way to write.

Ownership is by controller UID alone. What the API server says is not there is None or (); what can't be read is an
error, never an empty answer: Transient (away), Permanent (no right to read it, or not served).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from handrail.adapters.kubernetes.client import Cluster
from handrail.adapters.kubernetes.paths import KINDS, collection, is_name, path_of
from handrail.adapters.kubernetes.wire import Reply, Request
from handrail.core.redact import neutral
from handrail.model.autoscaler import Autoscaler
from handrail.model.errors import Permanent, Transient
from handrail.model.node import Node
from handrail.model.step import Eyes, Thing
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.workload import Workload, owned_by

PAGE = 250
MOST_OBJECTS = 5000
MOST_EVENTS = 500
LOG_LINES = 200
LOG_BYTES = 64 * 1024
WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"})
"""Kinds whose pods are counted as ready or not; a Job's pods end, so "ready" says nothing about it."""


LOOKED_AT = WORKLOADS | {"Node", "HorizontalPodAutoscaler"}
"""Kinds of which more is read than the object itself."""


async def look_at(eyes: Eyes, ref: ObjectRef) -> Thing | None:
    """The thing with what belongs to it, by its UID where `ref` has one. Raises Permanent for every other kind."""
    if ref.kind == "Node":
        return await eyes.node(ref)
    if ref.kind == "HorizontalPodAutoscaler":
        return await eyes.autoscaler(ref)
    return await eyes.workload(ref)


def utc_now() -> datetime:
    return datetime.now(UTC)


class KubernetesEyes:
    """`now` stamps when a workload was observed."""

    def __init__(self, cluster: Cluster, now: Callable[[], datetime] = utc_now) -> None:
        self._cluster = cluster
        self._now = now

    async def get(self, ref: ObjectRef) -> Raw | None:
        """The live object by name, whatever its UID; None when there is none (or can be none of that name)."""
        if not is_name(ref.name):
            return None
        reply = await self._cluster.request(Request("GET", path_of(ref)))
        if reply.is_missing(ref.name):
            return None
        return _read(reply, f"{ref}")

    async def workload(self, ref: ObjectRef) -> Workload | None:
        """The workload with all that it owns. None when it is gone, or when `ref.uid` names another object."""
        if ref.kind not in WORKLOADS:
            raise Permanent(f"{ref} is no workload")
        found = await self.get(ref)
        if found is None or (ref.uid and found["metadata"]["uid"] != ref.uid):
            return None
        selector = selector_of(found)
        sets = await self._owned("ReplicaSet", found, selector, ()) if ref.kind == "Deployment" else ()
        revised = ref.kind in ("StatefulSet", "DaemonSet")
        revisions = await self._owned("ControllerRevision", found, selector, ()) if revised else ()
        pods = await self._owned("Pod", found, selector, sets)
        scalers = await self.list("HorizontalPodAutoscaler", ref.namespace)
        return Workload(
            object=found,
            replica_sets=sets,
            revisions=revisions,
            pods=pods,
            autoscalers=tuple(sorted(s["metadata"]["name"] for s in scalers if _scales(s, found))),
            observed_at=self._now(),
        )

    async def node(self, ref: ObjectRef) -> Node | None:
        """The node with the pods on it and the other nodes. None when it is gone, or is another of that name."""
        if ref.kind != "Node":
            raise Permanent(f"{ref} is no node")
        nodes = await self.list("Node")
        found = next((one for one in nodes if one["metadata"]["name"] == ref.name), None)
        if found is None or (ref.uid and found["metadata"]["uid"] != ref.uid):
            return None
        pods = await self.list("Pod", fields=f"spec.nodeName={ref.name}")
        others = tuple(one for one in nodes if one is not found)
        return Node(object=found, pods=pods, others=others, observed_at=self._now())

    async def autoscaler(self, ref: ObjectRef) -> Autoscaler | None:
        """The autoscaler with what it scales. None when it is gone, or is another of that name."""
        if ref.kind != "HorizontalPodAutoscaler":
            raise Permanent(f"{ref} is no autoscaler")
        found = await self.get(ref)
        if found is None or (ref.uid and found["metadata"]["uid"] != ref.uid):
            return None
        scaled = scaled_by(found)
        workload = await self.workload(scaled) if scaled and is_name(scaled.name) else None
        return Autoscaler(object=found, workload=workload, observed_at=self._now())

    async def list(self, kind: str, namespace: str = "", *, labels: str = "", fields: str = "") -> tuple[Raw, ...]:
        """All objects of a kind, with apiVersion and kind set; from the beginning again when a page has expired."""
        for _ in range(3):
            found = await self._pages(kind, namespace, {"labelSelector": labels, "fieldSelector": fields})
            if found is not None:
                return found
        raise Transient(f"the list of {KINDS[kind].plural} expired three times while it was read")

    async def events(self, namespace: str, uid: str) -> tuple[Raw, ...]:
        """Events about one object, at most 500, in no order."""
        query = {"fieldSelector": f"involvedObject.uid={uid}", "limit": str(MOST_EVENTS)}
        reply = await self._cluster.request(Request("GET", collection("Event", namespace), _query(query)))
        return _items(_read(reply, f"events in {namespace}"), "Event")

    async def logs(self, pod: ObjectRef, container: str, *, previous: bool = False) -> str | None:
        """The last 200 lines, at most 64 KiB of them; None when there is no such container, or no earlier run of it.

        The server cuts at the end, where the newest lines are: it is asked for more than is kept, and for fewer
        lines where they are that long.
        """
        for lines in (LOG_LINES, LOG_LINES // 20):
            text = await self._log(pod, container, previous, lines)
            if text is None or len(text.encode()) < 4 * LOG_BYTES - 3:
                break
        return None if text is None else _end(text)

    async def _log(self, pod: ObjectRef, container: str, previous: bool, lines: int) -> str | None:
        most = 4 * LOG_BYTES
        query = {"container": container, "tailLines": str(lines), "limitBytes": str(most)}
        if previous:
            query["previous"] = "true"
        request = Request("GET", path_of(pod, "log"), _query(query), accept="text/plain, */*", most=most)
        reply = await self._cluster.request(request)
        if reply.status in (400, 404):
            return None
        _read(reply, f"logs of {pod}")
        return reply.text

    async def _pages(self, kind: str, namespace: str, query: Mapping[str, str]) -> tuple[Raw, ...] | None:
        """None when the list expired between two pages (410)."""
        found: list[Raw] = []
        page = ""
        while True:
            asked = {**query, "limit": str(PAGE), "continue": page}
            reply = await self._cluster.request(Request("GET", collection(kind, namespace), _query(asked)))
            if reply.status == 410:
                return None
            body = _read(reply, f"{KINDS[kind].plural} in {namespace or 'all namespaces'}")
            found.extend(_items(body, kind))
            page = (body.get("metadata") or {}).get("continue") or ""
            if not page:
                return tuple(found)
            if len(found) >= MOST_OBJECTS:
                raise Permanent(f"more than {MOST_OBJECTS} {KINDS[kind].plural} match in {namespace}: not read further")

    async def _owned(self, kind: str, owner: Raw, selector: str, sets: tuple[Raw, ...]) -> tuple[Raw, ...]:
        """Objects of a kind that the owner, or one of its ReplicaSets, controls; by name, so the order is fixed."""
        uids = {owner["metadata"]["uid"], *(one["metadata"]["uid"] for one in sets)}
        found = await self.list(kind, owner["metadata"]["namespace"], labels=selector)
        owned = [one for one in found if any(owned_by(one, uid) for uid in uids)]
        return tuple(sorted(owned, key=lambda one: str(one["metadata"]["name"])))


def _end(text: str) -> str:
    """The last 64 KiB in whole lines: half a line could be half a secret, which nobody would recognise."""
    raw = text.encode()
    return text if len(raw) <= LOG_BYTES else raw[-LOG_BYTES:].decode(errors="ignore").split("\n", 1)[-1]


def selector_of(workload: Raw) -> str:
    """`spec.selector` as a query. Raises Permanent for an empty one: it would select everything."""
    selector = (workload.get("spec") or {}).get("selector") or {}
    terms = [f"{key}={text}" for key, text in sorted((selector.get("matchLabels") or {}).items())]
    for term in selector.get("matchExpressions") or ():
        terms.append(_expression(str(term["key"]), str(term["operator"]), tuple(term.get("values") or ())))
    if not terms:
        raise Permanent(f"{ObjectRef.of(workload)} selects no pods by label")
    return ",".join(terms)


def _expression(key: str, operator: str, values: tuple[str, ...]) -> str:
    match operator:
        case "In":
            return f"{key} in ({','.join(values)})"
        case "NotIn":
            return f"{key} notin ({','.join(values)})"
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
    raise Permanent(f"a selector has the unknown operator {operator[:40]!r}")


def _scales(autoscaler: Raw, workload: Raw) -> bool:
    """Kind, name and API group; the version in the reference is only how somebody wrote it."""
    target = (autoscaler.get("spec") or {}).get("scaleTargetRef") or {}
    group = str(target.get("apiVersion", "")).rpartition("/")[0]
    return (
        target.get("kind") == workload["kind"]
        and target.get("name") == workload["metadata"]["name"]
        and group == str(workload["apiVersion"]).rpartition("/")[0]
    )


def scaled_by(autoscaler: Raw) -> ObjectRef | None:
    """What it scales, where that is a workload that Handrail knows: by group and kind, in its own namespace."""
    target = (autoscaler.get("spec") or {}).get("scaleTargetRef") or {}
    kind, group = str(target.get("kind")), str(target.get("apiVersion", "")).rpartition("/")[0]
    if kind not in WORKLOADS or group != "apps":
        return None
    namespace = autoscaler["metadata"]["namespace"]
    return ObjectRef(api_version="apps/v1", kind=kind, namespace=namespace, name=str(target.get("name")))


def _query(asked: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, text) for name, text in asked.items() if text)


def _read(reply: Reply, what: str) -> Raw:
    if not reply.ok:
        raise Permanent(f"{neutral(what)[:300]}: can't be read (status {reply.status}): {reply.sentence}")
    return reply.body


def _items(body: Raw, kind: str) -> tuple[Raw, ...]:
    """List items carry neither apiVersion nor kind."""
    row = KINDS[kind]
    return tuple({**item, "apiVersion": row.api_version, "kind": row.kind} for item in body.get("items") or ())
