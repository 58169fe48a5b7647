"""A Deployment of its own on the real control plane, for tests of the adapters; its fixtures are imported by name."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from handrail.adapters.kubernetes import Cluster, KubernetesEyes, KubernetesHands
from handrail.model.config import KubernetesConfig
from handrail.model.hands import Answer, DryRun, Sent
from handrail.model.switch import Permit
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.write import Verb, Write
from tests.servers.control_plane import ControlPlane


@dataclass
class Shop:
    """A namespace of its own on the control plane, with a Deployment `checkout` of two pods."""

    plane: ControlPlane
    namespace: str
    config: KubernetesConfig

    @property
    def path(self) -> str:
        return f"/apis/apps/v1/namespaces/{self.namespace}/deployments/checkout"

    def live(self) -> Raw:
        found: Raw = self.plane.api.get(self.path)
        return {**found, "apiVersion": "apps/v1", "kind": "Deployment"}

    def ref(self) -> ObjectRef:
        return ObjectRef.of(self.live())

    def scale_to(self, replicas: int, **parts: Any) -> Write:
        ops = ({"op": "replace", "path": "/spec/replicas", "value": replicas},)
        key = f"inc/1/0/do/{self.ref().uid}/patch/{replicas}"
        given = {"verb": Verb.PATCH, "object": self.ref(), "ops": ops, "sets_replicas": True, "key": key}
        return Write(**{**given, "summary": f"scale checkout to {replicas}", **parts})

    def touch(self) -> None:
        """Somebody else's change: the version moves."""
        self.plane.api.patch(self.path, {"metadata": {"labels": {"touched": uuid.uuid4().hex[:8]}}})

    def account(self, name: str, rules: list[Raw]) -> str:
        """A service account with these rules in the namespace, in force by now; its token."""
        rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{self.namespace}"
        meta = {"name": name, "namespace": self.namespace}
        api = self.plane.api
        api.post(f"/api/v1/namespaces/{self.namespace}/serviceaccounts", {"metadata": meta})
        api.post(f"{rbac}/roles", {"metadata": meta, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
        subject = {"kind": "ServiceAccount", "name": name, "namespace": self.namespace}
        api.post(f"{rbac}/rolebindings", {"metadata": meta, "roleRef": role, "subjects": [subject]})
        user = f"system:serviceaccount:{self.namespace}:{name}"
        for rule in rules:
            for group, resource, verb in itertools.product(rule["apiGroups"], rule["resources"], rule["verbs"]):
                self.plane.until_allowed(user, verb, resource, group=group, namespace=self.namespace)
        return self.plane.service_account_token(self.namespace, name)

    def as_token(self, token: str) -> KubernetesConfig:
        path = self.plane.kubeconfig_for(token, uuid.uuid4().hex)
        return KubernetesConfig(mode="kubeconfig", kubeconfig=str(path))


def template(image: str) -> Raw:
    return {
        "metadata": {"labels": {"app": "checkout"}},
        "spec": {"containers": [{"name": "checkout", "image": image}], "terminationGracePeriodSeconds": 0},
    }


@pytest.fixture
def shop(control_plane: ControlPlane) -> Iterator[Shop]:
    namespace = f"shop-{uuid.uuid4().hex[:8]}"
    control_plane.ensure_namespace(namespace)
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "checkout"}}, "template": template("shop/checkout:v1")}
    control_plane.api.post(
        f"/apis/apps/v1/namespaces/{namespace}/deployments", {"metadata": {"name": "checkout"}, "spec": spec}
    )
    yield Shop(control_plane, namespace, KubernetesConfig(mode="kubeconfig", kubeconfig=str(control_plane.kubeconfig)))
    control_plane.api.delete(f"/api/v1/namespaces/{namespace}")


@pytest.fixture
async def cluster(shop: Shop) -> AsyncIterator[Cluster]:
    async with Cluster(shop.config) as opened:
        yield opened


@pytest.fixture
def hands(cluster: Cluster) -> KubernetesHands:
    return KubernetesHands(cluster)


def permit(write: Write, version: str) -> Permit:
    return Permit(incident="inc", write=write, resource_version=version, attempt=1)


async def shown(hands: KubernetesHands, write: Write) -> DryRun:
    dry = await hands.dry_run(write)
    assert isinstance(dry, DryRun), dry
    return dry


async def send_settled(hands: KubernetesHands, write: Write) -> Sent:
    """Controllers move the version of a young object: read and send again until it does not conflict."""
    for _ in range(50):
        sent = await hands.send(permit(write, (await shown(hands, write)).resource_version))
        if sent.answer is not Answer.CONFLICT:
            return sent
    raise AssertionError("it never stood still")


async def until(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    """The controllers work by themselves; ask until they have."""
    for _ in range(300):
        if await holds():
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"never: {what}")


async def healthy(cluster: Cluster, shop: Shop) -> None:
    async def ready() -> bool:
        seen = await KubernetesEyes(cluster).workload(shop.ref())
        return seen is not None and seen.ready == 2 and len(seen.pods) == 2

    await until(ready, "two ready pods")
