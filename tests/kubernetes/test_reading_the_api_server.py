"""What the eyes read of a real API server, whole and as it is."""

from __future__ import annotations

import pytest

from handrail.adapters.gathering import ClusterGatherer
from handrail.adapters.kubernetes import Cluster, KubernetesEyes, resolve
from handrail.model.gathering import Gathering
from handrail.model.target import LabelledTarget, ObjectRef
from handrail.model.value import Raw
from tests.kubernetes.objects import NOW, alert
from tests.kubernetes.real_shop import Shop, cluster, hands, healthy, shop, template, until

__all__ = ["cluster", "hands", "shop"]

pytestmark = pytest.mark.server


async def test_a_bad_rollout_is_resolved_from_its_pod_and_gathered(cluster: Cluster, shop: Shop) -> None:
    await healthy(cluster, shop)
    shop.plane.api.patch(shop.path, {"spec": {"template": template("shop/checkout:crash")}})
    shop.plane.set_logs(
        "checkout", ["starting"], ["cannot connect, password=hunter2", "exit"], namespace=shop.namespace
    )
    eyes = KubernetesEyes(cluster)
    failing: list[Raw] = []

    async def crashing() -> bool:
        seen = await eyes.workload(shop.ref())
        assert seen is not None
        failing[:] = [p for p in seen.pods if "CrashLoopBackOff" in str(p["status"].get("containerStatuses"))]
        return bool(failing)

    await until(crashing, "a pod in a crash loop")
    name = failing[0]["metadata"]["name"]
    target = LabelledTarget(kind="Pod", namespace=shop.namespace, name=name, uid=failing[0]["metadata"]["uid"])
    assert await resolve(eyes, target) == shop.ref()

    async def logged() -> bool:
        found = await ClusterGatherer(eyes).gather(target, alert(), NOW)
        assert isinstance(found, Gathering)
        return any(piece.kind == "previous_logs" for piece in found.pieces)

    await until(logged, "logs")
    found = await ClusterGatherer(eyes).gather(target, alert(), NOW)
    assert isinstance(found, Gathering)
    texts = {piece.kind: piece.text for piece in found.pieces}
    assert "before: ended (" in texts["pods"]
    assert "image: shop/checkout:crash" in texts["template_diff"]
    assert "ScalingReplicaSet" in texts["events"]
    assert "cannot connect, password=[redacted]" in texts["previous_logs"]
    assert "hunter2" not in str(texts)
    assert found.away == ()


async def test_what_the_server_says_is_not_there_is_none_and_an_unserved_kind_is_not(
    cluster: Cluster, shop: Shop
) -> None:
    eyes = KubernetesEyes(cluster)
    for kind, version in (("Deployment", "apps/v1"), ("Pod", "v1"), ("Job", "batch/v1"), ("StatefulSet", "apps/v1")):
        nothing = ObjectRef(api_version=version, kind=kind, namespace=shop.namespace, name="nothing")
        assert await eyes.get(nothing) is None
    assert await eyes.get(ObjectRef(api_version="v1", kind="Node", namespace="", name="nothing")) is None
    assert await eyes.get(shop.ref().model_copy(update={"namespace": "no-such-namespace"})) is None


async def test_every_page_of_a_long_list_is_read(cluster: Cluster, shop: Shop) -> None:
    path = f"/api/v1/namespaces/{shop.namespace}/configmaps"
    for number in range(260):
        shop.plane.api.post(path, {"metadata": {"name": f"page-{number}", "labels": {"p": "1"}}})
    found = await KubernetesEyes(cluster).list("ConfigMap", shop.namespace, labels="p=1")
    assert len(found) == 260
    assert {one["kind"] for one in found} == {"ConfigMap"}
