"""From the alert's claim to the top owner by UID: never by cutting names apart, and never a guess."""

from __future__ import annotations

import pytest

from handrail.adapters.kubernetes import resolve
from handrail.model.errors import Transient
from handrail.model.reason import Reason, Refusal
from handrail.model.target import LabelledTarget, ObjectRef
from handrail.model.value import Raw
from tests.kubernetes.objects import KnownObjects, deployment, pod, raw, reference, replica_set, template


def target(kind: str, name: str, uid: str = "", namespace: str = "shop") -> LabelledTarget:
    return LabelledTarget(kind=kind, namespace=namespace, name=name, uid=uid)


async def resolved(known: list[Raw], asked: LabelledTarget) -> ObjectRef:
    found = await resolve(KnownObjects(*known), asked)
    assert isinstance(found, ObjectRef), found
    return found


async def refused(known: list[Raw], asked: LabelledTarget) -> Refusal:
    found = await resolve(KnownObjects(*known), asked)
    assert isinstance(found, Refusal), found
    return found


def shop() -> list[Raw]:
    top = deployment()
    newest = replica_set(top, 2, template())
    return [top, newest, pod(newest, 1)]


async def test_a_pod_leads_over_its_replica_set_to_its_deployment() -> None:
    top, newest, one = shop()
    for kind, name in (("Pod", one), ("ReplicaSet", newest), ("Deployment", top)):
        found = await resolved([top, newest, one], target(kind, name["metadata"]["name"]))
        assert found == ObjectRef.of(top)


async def test_a_pod_of_a_job_leads_to_its_cron_job() -> None:
    cron = raw("CronJob", "report")
    job = raw("Job", "report-1", owner=cron)
    assert await resolved([cron, job, pod(job, 1)], target("Pod", "report-1-1")) == ObjectRef.of(cron)


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
async def test_pods_of_other_workloads_lead_straight_to_them(kind: str) -> None:
    top = raw(kind, "store")
    assert await resolved([top, pod(top, 0)], target("Pod", "store-0")) == ObjectRef.of(top)


async def test_a_name_that_looks_like_another_workloads_counts_for_nothing() -> None:
    """robusta #1857: `api-v2-…` was taken for a pod of `api`."""
    api, api_v2 = raw("StatefulSet", "api"), raw("StatefulSet", "api-v2")
    named_alike = raw("Pod", "api-v2-0", owner=api, status={})
    assert await resolved([api, api_v2, named_alike], target("Pod", "api-v2-0")) == ObjectRef.of(api)


async def test_an_owner_of_the_same_name_but_another_uid_is_not_the_owner() -> None:
    top, newest, one = shop()
    reborn = {**top, "metadata": {**top["metadata"], "uid": "reborn"}}
    assert (await refused([reborn, newest, one], target("Pod", one["metadata"]["name"]))).reason is Reason.TARGET_GONE


async def test_an_owner_that_does_not_control_is_not_climbed_to() -> None:
    one = pod(None, 1)
    one["metadata"]["ownerReferences"] = [reference(deployment(), controller=False)]
    assert await resolved([one], target("Pod", "bare-1")) == ObjectRef.of(one)


async def test_the_pod_of_the_alert_is_gone_when_another_bears_its_name() -> None:
    top, newest, one = shop()
    name = one["metadata"]["name"]
    assert (await refused([top, newest, one], target("Pod", name, uid="another"))).reason is Reason.TARGET_GONE
    assert await resolved([top, newest, one], target("Pod", name, uid=one["metadata"]["uid"])) == ObjectRef.of(top)


@pytest.mark.parametrize("kind", ["Pod", "Deployment", "StatefulSet", "Node"])
async def test_what_can_not_be_looked_up_is_gone_and_never_guessed(kind: str) -> None:
    asked = target(kind, "checkout-7d9f8b6c5-x2x4z")
    assert (await refused(shop(), asked)).reason is Reason.TARGET_GONE


async def test_owners_of_unknown_kinds_are_named() -> None:
    rollout = {**raw("Rollout", "checkout"), "apiVersion": "argoproj.io/v1alpha1"}
    middle = replica_set(rollout, 1, template())
    refusal = await refused([middle, pod(middle, 1)], target("Pod", "checkout-h1-1"))
    assert refusal.reason is Reason.UNSUPPORTED_KIND
    assert "Rollout checkout (argoproj.io/v1alpha1)" in refusal.detail


async def test_a_kind_of_another_api_group_is_not_ours() -> None:
    top = {**deployment(), "apiVersion": "example.org/v1"}
    middle = replica_set(top, 1, template())
    assert (await refused([top, middle], target("ReplicaSet", "checkout-h1"))).reason is Reason.UNSUPPORTED_KIND


async def test_a_deployment_that_an_operator_owns_is_still_the_target() -> None:
    """What it means is the step's to say (OPERATOR_MANAGED)."""
    top = deployment()
    top["metadata"]["ownerReferences"] = [
        reference({**raw("Prometheus", "p"), "apiVersion": "monitoring.coreos.com/v1"})
    ]
    assert await resolved([top], target("Deployment", "checkout")) == ObjectRef.of(top)


def a_node(name: str, *addresses: str) -> Raw:
    said = [{"type": "InternalIP", "address": address} for address in addresses]
    return raw("Node", name, status={"addresses": [{"type": "Hostname", "address": name}, *said]})


def static_pod(node: Raw) -> Raw:
    found = pod(node, 1)
    found["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "abc"}
    return found


async def test_a_static_pod_leads_to_the_node_that_makes_it_from_a_file() -> None:
    node = a_node("node-1")
    assert await resolved([node, static_pod(node)], target("Pod", "node-1-1")) == ObjectRef.of(node)


async def test_a_static_pod_of_a_node_that_was_made_anew_is_gone() -> None:
    node = a_node("node-1")
    reborn = {**node, "metadata": {**node["metadata"], "uid": "reborn"}}
    assert (await refused([reborn, static_pod(node)], target("Pod", "node-1-1"))).reason is Reason.TARGET_GONE


async def test_a_pod_that_nobody_controls_is_itself_the_object() -> None:
    """Every step refuses it (tests/remediations/test_guards.py): what is deleted comes back from nowhere."""
    one = pod(None, 1)
    assert await resolved([one], target("Pod", "bare-1")) == ObjectRef.of(one)


@pytest.mark.parametrize("named", ["10.0.3.17", "fd00::17", "FD00:0:0::17"])
async def test_a_node_is_found_by_its_internal_address(named: str) -> None:
    right, other = a_node("worker-1", "10.0.3.17", "fd00::17"), a_node("worker-2", "10.0.3.18")
    assert await resolved([right, other], target("Node", named, namespace="")) == ObjectRef.of(right)


async def test_a_node_that_is_named_after_an_address_is_found_by_its_name() -> None:
    named, other = a_node("10.0.3.17", "10.9.9.9"), a_node("worker-2", "10.0.3.17")
    assert await resolved([named, other], target("Node", "10.0.3.17", namespace="")) == ObjectRef.of(named)


async def test_an_address_of_no_node_or_of_two_is_refused_and_an_external_one_counts_for_nothing() -> None:
    twins = [a_node("worker-1", "10.0.3.17"), a_node("worker-2", "10.0.3.17")]
    refusal = await refused(twins, target("Node", "10.0.3.17", namespace=""))
    assert refusal.reason is Reason.TARGET_AMBIGUOUS
    assert "worker-1, worker-2" in refusal.detail
    outside = raw("Node", "edge", status={"addresses": [{"type": "ExternalIP", "address": "10.0.3.9"}, {}]})
    assert (await refused([outside], target("Node", "10.0.3.9", namespace=""))).reason is Reason.TARGET_GONE


async def test_a_namespaced_object_without_a_namespace_is_no_target() -> None:
    assert (await refused(shop(), target("Deployment", "checkout", namespace=""))).reason is Reason.NO_TARGET


async def test_a_node_needs_no_namespace() -> None:
    node = raw("Node", "node-1")
    assert await resolved([node], target("Node", "node-1", namespace="monitoring")) == ObjectRef.of(node)


@pytest.mark.parametrize("kind", ["Secret", "PersistentVolume", "Rollout", "TokenReview", "", "pod\u202e"])
async def test_kinds_that_are_not_looked_at_are_refused(kind: str) -> None:
    assert (await refused(shop(), target(kind, "x"))).reason is Reason.UNSUPPORTED_KIND


@pytest.mark.parametrize("name", ["../../secrets/x", "", "A", "a b"])
async def test_a_name_that_kubernetes_does_not_give_is_no_target(name: str) -> None:
    assert (await refused(shop(), target("Pod", name))).reason is Reason.NO_TARGET


async def test_owners_in_a_ring_come_to_an_end() -> None:
    one, other = raw("ReplicaSet", "a"), raw("ReplicaSet", "b")
    one["metadata"]["ownerReferences"] = [reference(other)]
    other["metadata"]["ownerReferences"] = [reference(one)]
    assert (await refused([one, other], target("ReplicaSet", "a"))).reason is Reason.TARGET_AMBIGUOUS


async def test_an_api_server_that_is_away_is_no_answer() -> None:
    eyes = KnownObjects(*shop())
    eyes.away.add("get")
    with pytest.raises(Transient):
        await resolve(eyes, target("Deployment", "checkout"))
