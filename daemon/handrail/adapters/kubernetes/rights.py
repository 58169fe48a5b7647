"""What the API server says about people and about our own rights. Grants nothing, and keeps no token.

A person is who TokenReview says; nobody is invented from a token's own words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handrail.adapters.kubernetes.client import Cluster
from handrail.adapters.kubernetes.paths import KINDS, collection
from handrail.adapters.kubernetes.wire import Request
from handrail.model.approval import Person
from handrail.model.errors import Bug, Permanent
from handrail.model.step import Rule
from handrail.model.value import Raw, Value

MOST_TOKEN = 16 * 1024


class Right(Value):
    """One thing that may be done: `resource` may have a part ("pods/exec"); `namespace` "" means all of them."""

    verb: str
    resource: str
    api_group: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        group = f".{self.api_group}" if self.api_group else ""
        return f"{self.verb} {self.resource}{group} in {self.namespace or 'all namespaces'}"


EXCESSIVE = (
    ("*", "*", "*"),
    ("delete", "deployments", "apps"),
    ("deletecollection", "pods", ""),
    ("create", "pods/exec", ""),
    ("get", "secrets", ""),
    ("list", "secrets", ""),
    ("create", "rolebindings", "rbac.authorization.k8s.io"),
    ("impersonate", "users", ""),
)
"""Verb, resource, group: what no step needs."""


class KubernetesRights:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def token_review(self, token: str) -> Person | None:
        """Whose token this is; None for one that the API server does not vouch for. Raises Transient, Permanent."""
        if not token or len(token) > MOST_TOKEN:
            return None
        status = await self._review("TokenReview", {"token": token})
        user = status.get("user") or {}
        name = user.get("username")
        if status.get("authenticated") is not True or not isinstance(name, str) or not name:
            return None
        groups = tuple(group for group in user.get("groups") or () if isinstance(group, str))
        return Person(via="kubernetes", name=name, groups=groups)

    async def can_i(self, rules: Sequence[Rule], namespaces: Sequence[str]) -> list[Right]:
        """The rights that are missing, in order. Raises Transient, Permanent."""
        return [right for right in _rights(rules, namespaces) if not await self._may(right)]

    async def may_any(self, rules: Sequence[Rule], namespace: str) -> bool:
        """Whether anything of it may be done there, "" being the whole cluster. Raises Transient, Permanent."""
        for right in _rights(rules, [namespace]):
            if await self._may(right):
                return True
        return False

    async def too_much(self, namespaces: Sequence[str]) -> list[Right]:
        """Clearly excessive rights that we have all the same, in order."""
        probes = [
            Right(verb=verb, resource=resource, api_group=group, namespace=namespace)
            for namespace in _named(namespaces)
            for verb, resource, group in EXCESSIVE
        ]
        return [right for right in probes if await self._may(right)]

    async def _may(self, right: Right) -> bool:
        resource, _, part = right.resource.partition("/")
        asked = {"verb": right.verb, "group": right.api_group, "resource": resource, "subresource": part}
        attributes = {name: text for name, text in {**asked, "namespace": right.namespace}.items() if text}
        status = await self._review("SelfSubjectAccessReview", {"resourceAttributes": attributes})
        return status.get("allowed") is True

    async def _review(self, kind: str, spec: Raw) -> Raw:
        body = {"apiVersion": KINDS[kind].api_version, "kind": kind, "spec": spec}
        reply = await self._cluster.request(Request("POST", collection(kind), body=body))
        if not reply.ok:
            raise Permanent(f"{kind} is not answered (status {reply.status}): {reply.sentence}")
        status = reply.body.get("status")
        return status if isinstance(status, dict) else {}


def _rights(rules: Sequence[Rule], namespaces: Sequence[str]) -> Iterator[Right]:
    for namespace in _named(namespaces):
        for rule in rules:
            for resource in rule.resources:
                for verb in rule.verbs:
                    yield Right(verb=verb, resource=resource, api_group=rule.api_group, namespace=namespace)


def _named(namespaces: Sequence[str]) -> Sequence[str]:
    """Nothing to ask about would be an easy yes."""
    if not namespaces:
        raise Bug("name the namespaces to ask about; '' asks about all of them")
    return namespaces
