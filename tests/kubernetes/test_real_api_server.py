"""The adapters against a real API server: writes with their preconditions, rights, rotation and lost answers."""

from __future__ import annotations

import asyncio
import ssl
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.gathering import ClusterGatherer
from handrail.adapters.kubernetes import Cluster, KubernetesEyes, KubernetesHands, KubernetesRights, resolve
from handrail.adapters.kubernetes.credentials import Mounted
from handrail.adapters.kubernetes.hands import carries_key
from handrail.core.fingerprint import fingerprint
from handrail.model.approval import Person
from handrail.model.config import KubernetesConfig
from handrail.model.errors import OutcomeUnknown, Transient
from handrail.model.gathering import Gathering
from handrail.model.hands import Answer, DryRun, Sent
from handrail.model.reason import Reason, Refusal
from handrail.model.step import Rule
from handrail.model.switch import Permit
from handrail.model.target import LabelledTarget, ObjectRef
from handrail.model.value import Raw
from handrail.model.write import Verb, Write
from tests.kubernetes.objects import NOW, alert
from tests.kubernetes.scripted import LosesAnswers, listening
from tests.servers.control_plane import ControlPlane
from tests.servers.process import free_port

pytestmark = pytest.mark.server

PATCH = Rule(api_group="apps", resources=("deployments",), verbs=("patch",))


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
        """A service account with these rules in the namespace; its token."""
        rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{self.namespace}"
        meta = {"name": name, "namespace": self.namespace}
        api = self.plane.api
        api.post(f"/api/v1/namespaces/{self.namespace}/serviceaccounts", {"metadata": meta})
        api.post(f"{rbac}/roles", {"metadata": meta, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
        subject = {"kind": "ServiceAccount", "name": name, "namespace": self.namespace}
        api.post(f"{rbac}/rolebindings", {"metadata": meta, "roleRef": role, "subjects": [subject]})
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


async def test_a_dry_run_changes_nothing_and_shows_what_the_write_then_does(hands: KubernetesHands, shop: Shop) -> None:
    write = shop.scale_to(3)
    dry = await shown(hands, write)
    assert shop.live()["spec"]["replicas"] == 2
    sent = await send_settled(hands, write)
    assert sent.answer is Answer.DONE
    assert sent.object is not None
    assert dry.after is not None
    dry_print, real_print = (fingerprint(one, with_replicas=True) for one in (dry.after, sent.object))
    assert dry_print == real_print
    assert shop.live()["spec"]["replicas"] == 3


async def test_a_write_leaves_its_key_on_the_object_and_not_in_its_pods(hands: KubernetesHands, shop: Shop) -> None:
    write = shop.scale_to(3)
    await send_settled(hands, write)
    live = shop.live()
    assert carries_key(live, write.key)
    assert write.key not in str(live["spec"])
    assert "handrail" in {entry["manager"] for entry in live["metadata"]["managedFields"]}


async def test_an_object_without_annotations_gets_its_key_too(
    cluster: Cluster, hands: KubernetesHands, shop: Shop
) -> None:
    path = f"/api/v1/namespaces/{shop.namespace}/configmaps"
    bare = shop.plane.api.post(path, {"metadata": {"name": "bare"}, "data": {"a": "1"}})
    assert "annotations" not in bare["metadata"]
    ref = ObjectRef.of({**bare, "apiVersion": "v1", "kind": "ConfigMap"})
    ops = ({"op": "replace", "path": "/data/a", "value": "2"},)
    sent = await send_settled(hands, shop.scale_to(1, object=ref, ops=ops, key="k"))
    assert sent.object is not None
    assert carries_key(sent.object, "k")
    assert sent.object["data"] == {"a": "2"}


async def test_a_version_that_somebody_has_moved_past_is_a_conflict(hands: KubernetesHands, shop: Shop) -> None:
    write = shop.scale_to(5)
    version = (await shown(hands, write)).resource_version
    shop.touch()
    sent = await hands.send(permit(write, version))
    assert sent.answer is Answer.CONFLICT
    assert "modified" in sent.detail
    assert shop.live()["spec"]["replicas"] == 2


async def test_the_same_permit_sent_twice_is_done_once(hands: KubernetesHands, shop: Shop) -> None:
    write = shop.scale_to(3)
    for _ in range(50):
        version = (await shown(hands, write)).resource_version
        if (await hands.send(permit(write, version))).answer is Answer.DONE:
            break
    assert (await hands.send(permit(write, version))).answer is Answer.CONFLICT
    live = await hands.read(write.object)
    assert live is not None
    assert carries_key(live, write.key)


async def test_another_object_of_the_same_name_is_never_written_to(hands: KubernetesHands, shop: Shop) -> None:
    write = shop.scale_to(5)
    other = write.model_copy(update={"object": write.object.model_copy(update={"uid": str(uuid.uuid4())})})
    refused = await hands.dry_run(other)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.DRIFTED
    for _ in range(50):
        sent = await hands.send(permit(other, shop.live()["metadata"]["resourceVersion"]))
        if sent.answer is not Answer.CONFLICT:
            break
    assert (sent.answer, sent.reason) == (Answer.REFUSED, Reason.DRIFTED)
    assert shop.live()["spec"]["replicas"] == 2


async def test_an_object_that_is_gone_is_said_to_be_gone(hands: KubernetesHands, shop: Shop) -> None:
    write = shop.scale_to(5)
    shop.plane.api.delete(shop.path)
    refused = await hands.dry_run(write)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.TARGET_GONE
    sent = await hands.send(permit(write, "1"))
    assert (sent.answer, sent.reason) == (Answer.REFUSED, Reason.DRIFTED)
    assert await hands.read(write.object) is None


@pytest.mark.parametrize(
    "ops",
    [
        ({"op": "replace", "path": "/spec/replicas", "value": -1},),
        ({"op": "add", "path": "/spec/noSuchField", "value": 1},),
        ({"op": "remove", "path": "/spec/selector"},),
        ({"op": "replace", "path": "/spec/nothing/here", "value": 1},),
    ],
)
async def test_a_patch_that_the_server_does_not_take_is_refused_before_and_when_sent(
    hands: KubernetesHands, shop: Shop, ops: tuple[dict[str, Any], ...]
) -> None:
    write = shop.scale_to(3, ops=ops)
    refused = await hands.dry_run(write)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.REFUSED_BY_SERVER
    for _ in range(50):
        sent = await hands.send(permit(write, shop.live()["metadata"]["resourceVersion"]))
        if sent.answer is not Answer.CONFLICT:
            break
    assert (sent.answer, sent.reason) == (Answer.REFUSED, Reason.REFUSED_BY_SERVER)


async def test_without_the_right_to_write_a_dry_run_and_a_write_are_denied_in_the_servers_words(shop: Shop) -> None:
    reading = [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}]
    token = shop.account("reader", reading)
    write = shop.scale_to(3)
    async with Cluster(shop.as_token(token)) as cluster:
        hands = KubernetesHands(cluster)
        refused = await hands.dry_run(write)
        sent = await hands.send(permit(write, shop.live()["metadata"]["resourceVersion"]))
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.DENIED
    assert 'cannot patch resource "deployments"' in refused.detail
    assert (sent.answer, sent.reason) == (Answer.REFUSED, Reason.DENIED)


async def test_a_person_is_who_the_server_says(cluster: Cluster, shop: Shop) -> None:
    rights = KubernetesRights(cluster)
    token = shop.account("alice", [])
    name = f"system:serviceaccount:{shop.namespace}:alice"
    person = await rights.token_review(token)
    assert person is not None
    assert (person.via, person.name) == ("kubernetes", name)
    assert f"system:serviceaccounts:{shop.namespace}" in person.groups
    admin = await rights.token_review(shop.plane.admin_token)
    assert admin is not None
    assert admin.name == "admin"
    assert "system:masters" in admin.groups
    assert await rights.token_review("nobody's") is None
    assert await rights.token_review(token[:-3] + "xyz") is None
    assert isinstance(person, Person)


async def test_missing_and_excessive_rights_are_found(cluster: Cluster, shop: Shop) -> None:
    writing = [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "patch"]}]
    token = shop.account("writer", writing)
    async with Cluster(shop.as_token(token)) as narrow:
        rights = KubernetesRights(narrow)
        assert await rights.can_i((PATCH,), (shop.namespace,)) == []
        missing = await rights.can_i((PATCH,), (shop.namespace, "default"))
        assert [str(right) for right in missing] == ["patch deployments.apps in default"]
        assert await rights.too_much((shop.namespace, "")) == []
    found = {str(right) for right in await KubernetesRights(cluster).too_much((shop.namespace,))}
    assert {f"create pods/exec in {shop.namespace}", f"get secrets in {shop.namespace}"} <= found


async def test_a_pods_token_is_read_again_when_it_rotates(shop: Shop, tmp_path: Path) -> None:
    reading = [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}]
    tokens = [shop.account(name, reading) for name in ("one", "two")]
    file = tmp_path / "token"
    file.write_text(tokens[0], encoding="utf-8")
    host, port = shop.plane.url.removeprefix("https://").split(":")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    account = Mounted(str(file), str(shop.plane.ca_file), environ)
    async with Cluster(KubernetesConfig(mode="in-cluster"), account) as cluster:
        eyes = KubernetesEyes(cluster)
        assert await eyes.get(shop.ref()) is not None
        file.write_text("expired", encoding="utf-8")
        with pytest.raises(Transient):
            await eyes.get(shop.ref())
        file.write_text(tokens[1], encoding="utf-8")
        assert await eyes.get(shop.ref()) is not None


async def test_a_write_whose_answer_is_lost_is_unknown_and_its_key_tells_that_it_was_applied(
    shop: Shop, tmp_path: Path
) -> None:
    relay = LosesAnswers(shop.plane.url, ssl.create_default_context(cafile=str(shop.plane.ca_file)))
    async with relayed(shop, relay) as cluster:
        hands = KubernetesHands(cluster)
        write = shop.scale_to(4)
        applied = False
        for _ in range(50):
            relay.passed.clear()
            relay.armed = 1
            with pytest.raises(OutcomeUnknown):
                await hands.send(permit(write, (await shown(hands, write)).resource_version))
            assert len(relay.passed) == 1
            live = await hands.read(write.object)
            applied = live is not None and carries_key(live, write.key)
            if applied:
                break
    assert applied
    assert shop.live()["spec"]["replicas"] == 4


async def test_a_delete_whose_answer_is_lost_is_not_sent_again(shop: Shop) -> None:
    """aiohttp would, and the second answer (404) would say that nothing was done."""
    created = shop.plane.api.post(
        f"/api/v1/namespaces/{shop.namespace}/configmaps", {"metadata": {"name": "gone"}, "data": {}}
    )
    ref = ObjectRef.of({**created, "apiVersion": "v1", "kind": "ConfigMap"})
    write = Write(verb=Verb.DELETE, object=ref, summary="delete it", key="k")
    relay = LosesAnswers(shop.plane.url, ssl.create_default_context(cafile=str(shop.plane.ca_file)))
    async with relayed(shop, relay) as cluster:
        relay.armed = 1
        with pytest.raises(OutcomeUnknown):
            await KubernetesHands(cluster).send(permit(write, created["metadata"]["resourceVersion"]))
        assert len(relay.passed) == 1
        assert await KubernetesHands(cluster).read(ref) is None


def relayed(shop: Shop, relay: LosesAnswers) -> Any:
    return _Relayed(shop, relay)


class _Relayed:
    """A client that reaches the API server over the relay."""

    def __init__(self, shop: Shop, relay: LosesAnswers) -> None:
        self._shop = shop
        self._listening = listening(relay)

    async def __aenter__(self) -> Cluster:
        url = await self._listening.__aenter__()
        path = self._shop.plane.work / f"{uuid.uuid4().hex}.kubeconfig"
        text = self._shop.plane.kubeconfig.read_text(encoding="utf-8")
        path.write_text(text.replace(self._shop.plane.url, url), encoding="utf-8")
        self._cluster = Cluster(KubernetesConfig(mode="kubeconfig", kubeconfig=str(path)))
        return self._cluster

    async def __aexit__(self, *error: Any) -> None:
        await self._cluster.close()
        await self._listening.__aexit__(*error)


async def test_nobody_listening_means_that_nothing_was_sent(shop: Shop) -> None:
    path = shop.plane.work / f"{uuid.uuid4().hex}.kubeconfig"
    text = shop.plane.kubeconfig.read_text(encoding="utf-8")
    path.write_text(text.replace(shop.plane.url, f"https://127.0.0.1:{free_port()}"), encoding="utf-8")
    async with Cluster(KubernetesConfig(mode="kubeconfig", kubeconfig=str(path))) as cluster:
        with pytest.raises(Transient):
            await KubernetesHands(cluster).send(permit(shop.scale_to(3), "1"))


async def test_a_delete_names_its_object_and_its_version(hands: KubernetesHands, shop: Shop) -> None:
    path = f"/api/v1/namespaces/{shop.namespace}/configmaps"
    created = shop.plane.api.post(path, {"metadata": {"name": "old"}, "data": {}})
    ref = ObjectRef.of({**created, "apiVersion": "v1", "kind": "ConfigMap"})
    write = Write(verb=Verb.DELETE, object=ref, summary="delete it", key="k")
    dry = await shown(hands, write)
    assert dry.after is None
    assert await hands.read(ref) is not None
    stale = await hands.send(permit(write, "1"))
    assert stale.answer is Answer.CONFLICT
    other = write.model_copy(update={"object": ref.model_copy(update={"uid": str(uuid.uuid4())})})
    gone = await hands.send(permit(other, dry.resource_version))
    assert (gone.answer, "nothing was sent" in gone.detail) == (Answer.DONE, True), "another object has its name by now"
    assert await hands.read(ref) is not None
    assert (await hands.send(permit(write, dry.resource_version))).answer is Answer.DONE
    assert await hands.read(ref) is None


async def test_a_create_has_a_fixed_name_and_conflicts_with_what_is_there(hands: KubernetesHands, shop: Shop) -> None:
    name = {"namespace": shop.namespace, "name": "guard"}
    ref = ObjectRef(api_version="policy/v1", kind="PodDisruptionBudget", **name)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "checkout"}}}
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": name, "spec": spec}
    write = Write(verb=Verb.CREATE, object=ref, body=body, summary="guard", key="k")
    dry = await shown(hands, write)
    assert (dry.before, dry.resource_version) == ({}, "")
    assert await hands.read(ref) is None
    sent = await hands.send(permit(write, ""))
    assert sent.answer is Answer.DONE
    assert sent.object is not None
    assert carries_key(sent.object, "k")
    assert (await hands.send(permit(write, ""))).answer is Answer.CONFLICT
    again = await hands.dry_run(write)
    assert isinstance(again, Refusal)
    assert again.reason is Reason.DRIFTED


async def test_an_eviction_that_a_budget_forbids_is_refused_with_the_budgets_words(
    cluster: Cluster, hands: KubernetesHands, shop: Shop
) -> None:
    await healthy(cluster, shop)
    budgets = f"/apis/policy/v1/namespaces/{shop.namespace}/poddisruptionbudgets"
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "checkout"}}}
    shop.plane.api.post(budgets, {"metadata": {"name": "all"}, "spec": spec})

    async def counted() -> bool:
        status = shop.plane.api.get(f"{budgets}/all").get("status") or {}
        return status.get("currentHealthy") == 2 and status.get("observedGeneration") == 1

    await until(counted, "the budget is counted")
    seen = await KubernetesEyes(cluster).workload(shop.ref())
    assert seen is not None
    ref = ObjectRef.of(seen.pods[0])
    write = Write(verb=Verb.EVICT, object=ref, summary="evict a pod", key="k")
    refused = await hands.dry_run(write)
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.DISRUPTION_BUDGET
    sent = await hands.send(permit(write, seen.pods[0]["metadata"]["resourceVersion"]))
    assert (sent.answer, sent.reason) == (Answer.REFUSED, Reason.DISRUPTION_BUDGET)
    assert "disruption budget" in sent.detail
    shop.plane.api.delete(f"{budgets}/all")
    assert (await shown(hands, write)).after is None
    other = write.model_copy(update={"object": ref.model_copy(update={"uid": str(uuid.uuid4())})})
    gone = await hands.send(permit(other, "1"))
    assert (gone.answer, "nothing was sent" in gone.detail) == (Answer.DONE, True), "another pod has its name by now"
    assert await hands.read(ref) is not None
    assert (await hands.send(permit(write, "1"))).answer is Answer.DONE


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
