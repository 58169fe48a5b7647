"""The test cluster: it behaves, and misbehaves, as a real one would."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes.aio import client, config

from tests.servers.api import JSON_PATCH, ApiError
from tests.servers.control_plane import ControlPlane
from tests.servers.fixtures import running
from tests.servers.process import exists, wait_until

pytestmark = pytest.mark.server

DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"
Pod = dict[str, Any]


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    name = f"test-{uuid.uuid4().hex[:8]}"
    control_plane.ensure_namespace(name)
    yield name
    control_plane.api.delete(f"/api/v1/namespaces/{name}")


def test_a_plain_pod_becomes_ready_and_goes_when_deleted(control_plane: ControlPlane, namespace: str) -> None:
    _deploy(control_plane, namespace, image="shop:1")
    wait_until(lambda: _ready_replicas(control_plane, namespace) == 2, 30, "both replicas ready")
    old = {pod["metadata"]["uid"] for pod in _pods(control_plane, namespace)}

    for pod in _pods(control_plane, namespace):
        control_plane.api.delete(f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}")

    wait_until(lambda: not old & {p["metadata"]["uid"] for p in _pods(control_plane, namespace)}, 30, "old pods gone")
    wait_until(lambda: _ready_replicas(control_plane, namespace) == 2, 30, "both replaced")


@pytest.mark.parametrize(
    ("image", "command", "code", "reason"),
    [
        ("shop:crash", [], 1, "Error"),
        ("shop:oom", [], 137, "OOMKilled"),
        ("shop:1", ["/bin/notfound"], 127, "Error"),
    ],
)
def test_a_failing_pod_flaps_between_running_and_back_off(
    control_plane: ControlPlane, namespace: str, image: str, command: list[str], code: int, reason: str
) -> None:
    _deploy(control_plane, namespace, image=image, command=command, replicas=1)
    seen: set[tuple[str, int]] = set()

    def flapped() -> bool:
        for pod in _pods(control_plane, namespace):
            for status in pod["status"].get("containerStatuses", ()):
                assert not status["ready"]
                waiting = status["state"].get("waiting", {}).get("reason", "running")
                seen.add((waiting, status["restartCount"]))
        return {("CrashLoopBackOff", 2), ("running", 3)} <= seen

    wait_until(flapped, 60, "running, backing off, running again")
    (pod,) = _pods(control_plane, namespace)
    last = pod["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (code, reason)
    assert {state for state, _ in seen} == {"running", "CrashLoopBackOff"}


def test_an_image_that_cannot_be_pulled_keeps_its_pod_waiting(control_plane: ControlPlane, namespace: str) -> None:
    _deploy(control_plane, namespace, image="shop:missing", replicas=1)
    seen: set[str] = set()

    def both() -> bool:
        for pod in _pods(control_plane, namespace):
            for status in pod["status"].get("containerStatuses", ()):
                seen.add(status["state"]["waiting"]["reason"])
                assert not status["ready"]
                assert pod["status"]["phase"] == "Pending"
        return seen == {"ErrImagePull", "ImagePullBackOff"}

    wait_until(both, 30, "both reasons seen")


def test_readiness_follows_the_annotation_and_the_probe(control_plane: ControlPlane, namespace: str) -> None:
    _deploy(control_plane, namespace, image="shop:1", replicas=1)
    wait_until(lambda: _ready_replicas(control_plane, namespace) == 1, 30, "ready")
    (pod,) = _pods(control_plane, namespace)
    path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}"

    control_plane.api.patch(path, {"metadata": {"annotations": {"handrail.test/never-ready": "yes"}}})
    wait_until(lambda: _ready_replicas(control_plane, namespace) == 0, 30, "no longer ready")
    control_plane.api.patch(path, {"metadata": {"annotations": {"handrail.test/never-ready": None}}})
    wait_until(lambda: _ready_replicas(control_plane, namespace) == 1, 30, "ready again")

    probe: dict[str, Any] = {"readinessProbe": {"httpGet": {"path": "/", "port": 9999}}}
    _deploy(control_plane, namespace, name="other", image="shop:1", replicas=1, **probe)
    wait_until(lambda: _phases(control_plane, namespace, "other") == ["Running"], 30, "running")
    assert _ready_replicas(control_plane, namespace, "other") == 0


def test_a_rollout_to_a_crashing_image_sticks_and_an_undo_heals_it(control_plane: ControlPlane, namespace: str) -> None:
    _deploy(control_plane, namespace, image="shop:1")
    wait_until(lambda: _ready_replicas(control_plane, namespace) == 2, 30, "first revision ready")
    path = f"{DEPLOYMENTS.format(namespace)}/shop"

    def set_image(image: str) -> None:
        change = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image}]
        control_plane.api.patch(path, change, JSON_PATCH)

    set_image("shop:crash")
    wait_until(lambda: _condition(control_plane, path, "Progressing") == "ProgressDeadlineExceeded", 60, "stuck")
    ready = dict(_replica_sets(control_plane, namespace))
    assert ready == {"shop:1": 2, "shop:crash": 0}

    set_image("shop:1")
    wait_until(lambda: _condition(control_plane, path, "Progressing") == "NewReplicaSetAvailable", 60, "healed")


def test_logs_now_and_before_come_through_the_api_server(control_plane: ControlPlane, namespace: str) -> None:
    container = f"c-{uuid.uuid4().hex[:6]}"
    _deploy(control_plane, namespace, image="shop:crash", replicas=1, container=container)
    wait_until(lambda: _phases(control_plane, namespace) == ["Running"], 30, "running")
    control_plane.set_logs(container, ["starting", "listening on 8080"], ["panic: no database"])
    (pod,) = _pods(control_plane, namespace)
    path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}/log"

    wait_until(lambda: control_plane.api.call("GET", path).ok, 30, "logs known")
    assert control_plane.api.call("GET", path).text == "starting\nlistening on 8080\n"
    assert control_plane.api.call("GET", path, previous="true").text == "panic: no database\n"
    assert control_plane.api.call("GET", path, tailLines="1").text == "listening on 8080\n"


def test_the_audit_log_tells_changes_from_dry_runs_refusals_and_no_ops(
    control_plane: ControlPlane, namespace: str
) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "hand"}}
    control_plane.api.post(f"/api/v1/namespaces/{namespace}/serviceaccounts", account)
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "hand"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"kind": "ServiceAccount", "name": "hand", "namespace": namespace}],
    }
    control_plane.api.post(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings", binding)
    user = f"system:serviceaccount:{namespace}:hand"
    api = control_plane.as_token(control_plane.service_account_token(namespace, "hand"))
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "1"}}
    wait_until(lambda: api.call("GET", maps).ok, 30, "rights in force")

    api.post(maps, body, dryRun="All")
    api.post(maps, body)
    api.patch(f"{maps}/m", {"data": {"a": "1"}})
    api.patch(f"{maps}/m", {"data": {"a": "2"}})
    api.delete(f"{maps}/m", {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]})
    api.delete(f"{maps}/m")
    assert api.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node"}).status == 403

    wait_until(lambda: len(control_plane.audit.writes(user)) == 7, 30, "seven writes logged")
    writes = control_plane.audit.writes(user)
    assert [write.dry_run for write in writes] == [True, False, False, False, True, False, False]
    assert [write.code for write in writes] == [201, 201, 200, 200, 200, 200, 403]
    changes = control_plane.audit.changes(user)
    assert [change.verb for change in changes] == ["create", "patch", "delete"]
    assert {change.target for change in changes} == {("", "configmaps", namespace, "m")}


def test_rights_are_enforced_and_tokens_are_those_of_the_account(control_plane: ControlPlane, namespace: str) -> None:
    api = control_plane.as_token(control_plane.service_account_token(namespace, "default"))
    with pytest.raises(ApiError) as refused:
        api.get(f"/api/v1/namespaces/{namespace}/pods")
    assert refused.value.answer.status == 403
    assert f"system:serviceaccount:{namespace}:default" in refused.value.answer.text


def test_a_node_that_goes_down_is_tainted_and_comes_back(control_plane: ControlPlane) -> None:
    name = f"node-{uuid.uuid4().hex[:6]}"
    control_plane.add_node(name, labels={"zone": "b"}, room={"cpu": "2"})
    path = f"/api/v1/nodes/{name}"

    def taints() -> list[str]:
        return [taint["key"] for taint in control_plane.api.get(path)["spec"].get("taints", ())]

    control_plane.api.patch(path, {"metadata": {"annotations": {"handrail.test/node-down": "yes"}}})
    wait_until(lambda: "node.kubernetes.io/not-ready" in taints(), 30, "tainted")
    control_plane.api.patch(path, {"metadata": {"annotations": {"handrail.test/node-down": None}}})
    wait_until(lambda: taints() == [], 30, "free again")
    control_plane.api.delete(path)


def test_the_api_server_comes_back_with_its_data() -> None:
    with running(lambda: ControlPlane(nodes=("only",)).start()) as server:
        server.stop_api_server()
        with pytest.raises(OSError, match="refused"):
            server.api.get("/api/v1/nodes")
        server.start_api_server()
        names = [node["metadata"]["name"] for node in server.api.get("/api/v1/nodes")["items"]]
        pids = [process.pid for process in server.processes.values()]
    assert names == ["only"]
    assert not any(exists(pid) for pid in pids)


async def test_the_kubernetes_client_works_with_the_kubeconfig(control_plane: ControlPlane) -> None:
    settings = client.Configuration()
    await config.load_kube_config(config_file=str(control_plane.kubeconfig), client_configuration=settings)  # type: ignore[no-untyped-call]
    async with client.ApiClient(settings) as api:
        version = await client.VersionApi(api).get_code()
    assert f"{version.major}.{version.minor}" == "1.36"


def _deploy(
    cluster: ControlPlane,
    namespace: str,
    *,
    image: str,
    name: str = "shop",
    replicas: int = 2,
    container: str = "app",
    **more: Any,
) -> None:
    labels = {"app": name}
    spec = {"containers": [{"name": container, "image": image, **more}]}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "progressDeadlineSeconds": 5,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
    cluster.api.post(DEPLOYMENTS.format(namespace), body)


def _pods(cluster: ControlPlane, namespace: str, app: str = "shop") -> list[Pod]:
    found = cluster.api.get(f"/api/v1/namespaces/{namespace}/pods", labelSelector=f"app={app}")["items"]
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def _phases(cluster: ControlPlane, namespace: str, app: str = "shop") -> list[str]:
    return [pod["status"]["phase"] for pod in _pods(cluster, namespace, app)]


def _ready_replicas(cluster: ControlPlane, namespace: str, name: str = "shop") -> int:
    status = cluster.api.get(f"{DEPLOYMENTS.format(namespace)}/{name}")["status"]
    return int(status.get("readyReplicas", 0))


def _condition(cluster: ControlPlane, path: str, kind: str) -> str | None:
    conditions = cluster.api.get(path)["status"].get("conditions", ())
    return next((c["reason"] for c in conditions if c["type"] == kind), None)


def _replica_sets(cluster: ControlPlane, namespace: str) -> list[tuple[str, int]]:
    items = cluster.api.get(f"/apis/apps/v1/namespaces/{namespace}/replicasets")["items"]
    specs = [item["spec"]["template"]["spec"]["containers"][0] for item in items]
    return [(c["image"], item["status"].get("readyReplicas", 0)) for c, item in zip(specs, items, strict=True)]
