"""From what labels claim to the object, on the real API server: nodes by address, static pods, pods of nobody."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from handrail.adapters.gathering import ClusterGatherer
from handrail.adapters.kubernetes import Cluster, KubernetesEyes, resolve
from handrail.model.config import KubernetesConfig
from handrail.model.gathering import Gathering
from handrail.model.reason import Reason, Refusal
from handrail.model.target import LabelledTarget, ObjectRef
from handrail.model.value import Raw
from tests.kubernetes.objects import NOW, alert
from tests.servers.control_plane import ControlPlane
from tests.servers.process import wait_until

pytestmark = pytest.mark.server

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def node(control_plane: ControlPlane) -> Iterator[Raw]:
    """A machine with an address of its own."""
    name = f"worker-{uuid.uuid4().hex[:8]}"
    api = control_plane.api
    api.post("/api/v1/nodes", {"metadata": {"name": name}})
    wait_until(lambda: "addresses" in api.get(f"/api/v1/nodes/{name}")["status"], 30, f"{name} to say its addresses")
    addresses = [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": "198.51.100.17"}]
    yield api.patch(f"/api/v1/nodes/{name}/status", {"status": {"addresses": addresses}})
    api.delete(f"/api/v1/nodes/{name}")


def config(control_plane: ControlPlane) -> KubernetesConfig:
    return KubernetesConfig(mode="kubeconfig", kubeconfig=str(control_plane.kubeconfig))


def a_pod(control_plane: ControlPlane, on: str, **meta: object) -> LabelledTarget:
    name = f"lone-{uuid.uuid4().hex[:8]}"
    spec = {"nodeName": on, "containers": [{"name": "app", "image": "shop/checkout:v1"}]}
    control_plane.api.post(PODS, {"metadata": {"name": name, **meta}, "spec": spec})
    return LabelledTarget(kind="Pod", namespace="default", name=name)


async def test_a_node_is_found_by_the_address_that_an_exporter_names(control_plane: ControlPlane, node: Raw) -> None:
    async with Cluster(config(control_plane)) as cluster:
        eyes = KubernetesEyes(cluster)
        found = await resolve(eyes, LabelledTarget(kind="Node", namespace="", name="198.51.100.17"))
        assert isinstance(found, ObjectRef)
        assert (found.name, found.uid) == (node["metadata"]["name"], node["metadata"]["uid"])
        nobody = await resolve(eyes, LabelledTarget(kind="Node", namespace="", name="198.51.100.99"))
        assert isinstance(nobody, Refusal)
        assert nobody.reason is Reason.TARGET_GONE


async def test_a_static_pod_is_shown_as_a_part_of_its_node(control_plane: ControlPlane, node: Raw) -> None:
    name, uid = node["metadata"]["name"], node["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid, "controller": True}
    static = a_pod(control_plane, name, annotations={"kubernetes.io/config.mirror": "abc"}, ownerReferences=[owner])
    async with Cluster(config(control_plane)) as cluster:
        found = await ClusterGatherer(KubernetesEyes(cluster)).gather(static, alert(), NOW)
    assert isinstance(found, Gathering), found
    assert (found.ref.kind, found.ref.uid) == ("Node", uid)
    assert any("is a static pod of" in piece.text for piece in found.pieces)


async def test_a_pod_that_nobody_controls_is_itself_the_object(control_plane: ControlPlane, node: Raw) -> None:
    bare = a_pod(control_plane, node["metadata"]["name"])
    async with Cluster(config(control_plane)) as cluster:
        found = await resolve(KubernetesEyes(cluster), bare)
    assert isinstance(found, ObjectRef)
    assert (found.kind, found.name) == ("Pod", bare.name)
