"""Reads the API server's audit log: who asked for what, and which of it changed something.

Decides: what counts as a write, as a dry run and as a change. Never writes. Snapshots of the cluster miss a
write that was taken back; this log does not. An event is written just after its answer, so poll for it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})

# They answer with an object but store none.
ASKS_ONLY = frozenset(
    {"tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews",
     "localsubjectaccessreviews", "selfsubjectreviews"}
)  # fmt: skip


@dataclass(frozen=True)
class Request:
    """One request as the API server saw it. `object` is what was sent, `answer` what came back (for writes)."""

    id: str
    at: str
    user: str
    agent: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    uri: str
    code: int
    message: str
    object: dict[str, Any] | list[Any] | None
    answer: dict[str, Any] | None

    @property
    def is_write(self) -> bool:
        return self.verb in WRITES

    @property
    def ok(self) -> bool:
        return 200 <= self.code < 300

    @property
    def dry_run(self) -> bool:
        if parse_qs(urlsplit(self.uri).query).get("dryRun"):
            return True
        sent = self.object if isinstance(self.object, dict) else {}
        return bool(sent.get("dryRun") or (sent.get("deleteOptions") or {}).get("dryRun"))

    @property
    def is_accepted(self) -> bool:
        return self.is_write and self.ok and not self.dry_run

    @property
    def target(self) -> tuple[str, str, str, str]:
        """Group, resource, namespace and name: the same for an object and its subresources."""
        # A create is asked of the collection; the name is in the body (or made up by the server).
        name = self.name or _metadata(self.answer).get("name", "")
        return self.group, self.resource, self.namespace, name

    @property
    def place(self) -> str:
        """A word that is in the line of every request to the same object."""
        return self.namespace or self.target[-1]

    @property
    def resource_version(self) -> str | None:
        return _metadata(self.answer).get("resourceVersion")


class AuditLog:
    """The audit log of one API server, across its rotations."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def files(self) -> list[Path]:
        """Oldest first: the rotated ones have their time in the name, the current one has none."""
        rotated = sorted(self.folder.glob("audit-*.log"))
        return [*rotated, *(p for p in [self.folder / "audit.log"] if p.exists())]

    def requests(self, user: str | None = None) -> Iterator[Request]:
        """Every finished request, in the order in which the answers went out; of one user if named."""
        for request in self._with(() if user is None else (user,)):
            if user is None or request.user == user:
                yield request

    def _with(self, words: Collection[str]) -> Iterator[Request]:
        """Those in whose line one of the words stands, or all. The log of a long run takes seconds to read whole, in
        which a test's loop would answer nobody."""
        for path in self.files:
            with path.open(encoding="utf-8") as lines:
                for line in lines:
                    # The last line may be half written; it is whole at the next look.
                    if line.endswith("\n") and (not words or any(word in line for word in words)):
                        yield _parse(json.loads(line))

    def writes(self, user: str | None = None) -> list[Request]:
        """Requests for a write, whatever came of them, dry runs included."""
        return [request for request in self.requests(user) if request.is_write]

    def changes(self, user: str | None = None) -> list[Request]:
        """Writes that were accepted, were no dry run and changed an object (see `_changed`)."""
        where = {""} if user is None else {one.place for one in self.requests(user) if one.is_accepted}
        if not where:
            return []
        seen: dict[tuple[str, str, str, str], set[str]] = {}
        found = []
        # All users' writes there are looked at: a patch that changes nothing is known by a version seen before.
        for request in self._with(() if "" in where else where):
            if not request.is_accepted:
                continue
            versions = seen.setdefault(request.target, set())
            if _changed(request, versions) and user in (None, request.user):
                found.append(request)
            if request.resource_version:
                versions.add(request.resource_version)
        return found


def _changed(request: Request, versions: set[str]) -> bool:
    if request.resource in ASKS_ONLY or request.subresource == "token":
        return False
    if request.resource_version is None or request.verb == "deletecollection":
        # A bare status answers for deletes, evictions and bindings: accepted means done.
        return (request.answer or {}).get("kind") == "Status" or request.verb in ("delete", "deletecollection")
    return request.resource_version not in versions


def _metadata(answer: dict[str, Any] | None) -> dict[str, Any]:
    metadata = (answer or {}).get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _parse(event: dict[str, Any]) -> Request:
    target = event.get("objectRef") or {}
    status = event.get("responseStatus") or {}
    return Request(
        id=event["auditID"],
        at=event["requestReceivedTimestamp"],
        user=event["user"]["username"],
        agent=event.get("userAgent", ""),
        verb=event["verb"],
        group=target.get("apiGroup", ""),
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        uri=event["requestURI"],
        code=int(status.get("code", 0)),
        message=status.get("message", ""),
        object=event.get("requestObject"),
        answer=event.get("responseObject"),
    )


POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
- level: None
  nonResourceURLs: ["/*"]
- level: None
  users: ["system:apiserver", "kwok", "system:kube-scheduler", "system:kube-controller-manager"]
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: Metadata
  resources: [{group: "", resources: [events]}, {group: events.k8s.io, resources: [events]}]
- level: RequestResponse
  verbs: [create, update, patch, delete, deletecollection]
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
"""
