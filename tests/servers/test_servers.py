"""The test servers themselves: each starts, answers and stops, and the cluster misbehaves as it should."""

from __future__ import annotations

import asyncio
import signal
import ssl
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import aiohttp
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tests.servers import helm
from tests.servers.alertmanager import AlertmanagerServer
from tests.servers.api import JSON_PATCH, ApiError
from tests.servers.collector import OtelCollector
from tests.servers.control_plane import ControlPlane
from tests.servers.fixtures import running
from tests.servers.kafka import KafkaServer
from tests.servers.pins import Missing
from tests.servers.postgres import PostgresServer
from tests.servers.process import Process, StartError, accepts, exists, free_port, wait_until
from tests.servers.prometheus import MetricsPage, PrometheusServer

pytestmark = pytest.mark.server

DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"
Pod = dict[str, Any]


# ---- Processes


def test_a_stopped_process_and_what_it_started_are_gone(tmp_path: Path) -> None:
    script = "sleep 300 & echo $! > child; touch up; wait"
    process = Process("sleeper", ["sh", "-c", script], tmp_path, (tmp_path / "up").exists)
    process.start()
    pid, child = process.pid, int((tmp_path / "child").read_text())
    assert (tmp_path / "sleeper.pid").read_text().strip() == str(pid)

    process.stop()

    assert not exists(pid)
    assert not exists(child)
    assert not (tmp_path / "sleeper.pid").exists()


def test_a_process_that_ends_at_once_says_what_it_wrote(tmp_path: Path) -> None:
    process = Process("broken", ["sh", "-c", "echo no such flag; exit 3"], tmp_path, lambda: False)
    with pytest.raises(StartError, match=r"ended at once.*\n.*no such flag"):
        process.start()


def test_a_process_that_hangs_is_ended_all_the_same(tmp_path: Path) -> None:
    process = Process("hung", ["sleep", "300"], tmp_path, lambda: True)
    process.start()
    pid = process.pid
    process.send(signal.SIGSTOP)
    process.stop()
    assert not exists(pid)


def test_free_ports_are_not_handed_out_twice() -> None:
    ports = [free_port() for _ in range(50)]
    assert len(set(ports)) == 50
    assert not any(accepts(port) for port in ports)


# ---- Kafka


async def test_kafka_takes_a_record_and_gives_it_back(kafka_server: KafkaServer) -> None:
    assert await _there_and_back(kafka_server.bootstrap) == b"hello"


@pytest.mark.parametrize("protocol", ["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
async def test_secured_kafka_takes_a_record_on_each_listener(kafka_secure_server: KafkaServer, protocol: str) -> None:
    assert (
        await _there_and_back(kafka_secure_server.listeners[protocol], **_secured(kafka_secure_server, protocol))
        == b"hello"
    )


async def test_secured_kafka_refuses_a_wrong_password(
    kafka_secure_server: KafkaServer, caplog: pytest.LogCaptureFixture
) -> None:
    settings = _secured(kafka_secure_server, "SASL_SSL") | {"sasl_plain_password": "wrong"}
    producer = AIOKafkaProducer(bootstrap_servers=kafka_secure_server.listeners["SASL_SSL"], **settings)
    try:
        # The client raises the same as for a broker that is down; only its log says why.
        with pytest.raises(KafkaConnectionError):
            await producer.start()
    finally:
        await producer.stop()
    assert "SaslAuthenticationFailed" in caplog.text


async def test_a_record_outlives_a_restart_of_kafka() -> None:
    with running(lambda: KafkaServer().start()) as server:
        await _send(server.bootstrap, "kept", b"before")
        server.stop()
        assert not accepts(int(server.bootstrap.rpartition(":")[2]))
        server.start()
        assert await _read_one(server.bootstrap, "kept") == b"before"


# ---- Control plane


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
    tls = ssl.create_default_context(cafile=str(control_plane.ca_file))
    headers = {"Authorization": f"Bearer {control_plane.admin_token}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.get(f"{control_plane.url}/version", ssl=tls) as answer,
    ):
        assert (await answer.json())["minor"] == "36"


# ---- The others


def test_postgres_gives_each_test_a_database_of_its_own(postgres_server: PostgresServer) -> None:
    one, two = postgres_server.create_database(), postgres_server.create_database()
    postgres_server.psql("CREATE TABLE t (n int); INSERT INTO t VALUES (7)", one)
    assert postgres_server.psql("SELECT n FROM t", one) == "7"
    with pytest.raises(RuntimeError, match='relation "t" does not exist'):
        postgres_server.psql("SELECT n FROM t", two)
    postgres_server.drop_database(one)
    with pytest.raises(ValueError, match="not created here"):
        postgres_server.drop_database(one)


def test_what_postgres_committed_outlives_its_death() -> None:
    with running(lambda: PostgresServer().start()) as server:
        url = server.create_database()
        server.psql("CREATE TABLE t (n int); INSERT INTO t VALUES (7)", url)
        server.process.kill()
        server.start()
        assert server.psql("SELECT n FROM t", url) == "7"


def test_an_alert_goes_from_a_scraped_page_to_the_webhook(
    prometheus_server: PrometheusServer, alertmanager_server: AlertmanagerServer
) -> None:
    page = MetricsPage("queue_depth 42\n")
    inbox = _Webhook()
    rule = {"alert": "QueueDeep", "expr": "queue_depth > 10", "labels": {"severity": "page"}}
    try:
        alertmanager_server.notify(inbox.url)
        prometheus_server.configure({"shop": page.address}, [rule], [alertmanager_server.address])
        wait_until(lambda: _values(prometheus_server, "queue_depth") == ["42"], 30, "scraped")
        wait_until(lambda: b'"firing"' in b"".join(inbox.bodies), 60, "told of the alert")
        page.text = "queue_depth 1\n"
        wait_until(lambda: b'"resolved"' in b"".join(inbox.bodies), 60, "told of its end")
    finally:
        prometheus_server.configure({})
        alertmanager_server.notify("http://127.0.0.1:9/")
        inbox.close()
        page.close()


async def test_the_collector_writes_logs_to_kafka(
    kafka_server: KafkaServer, otel_collector: Callable[..., OtelCollector]
) -> None:
    topic = f"logs-{uuid.uuid4().hex[:8]}"
    collector = otel_collector(topics={"logs": topic})
    sent = ExportLogsServiceRequest()
    sent.resource_logs.add().scope_logs.add().log_records.add().body.string_value = "disk full"
    headers = {"Content-Type": "application/x-protobuf"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{collector.http}/v1/logs", data=sent.SerializeToString(), headers=headers) as answer,
    ):
        assert answer.status == 200

    got = ExportLogsServiceRequest.FromString(await _read_one(kafka_server.bootstrap, topic))

    assert got.resource_logs[0].scope_logs[0].log_records[0].body.string_value == "disk full"


def test_helm_says_its_pinned_version(tmp_path: Path) -> None:
    try:
        done = helm.run("version", "--short", home=tmp_path)
    except Missing as missing:
        pytest.skip(str(missing))
    assert done.stdout.startswith("v4."), done.stderr


# ---- Help for these tests


class _Webhook:
    """Keeps what is posted to it."""

    def __init__(self) -> None:
        bodies: list[bytes] = []

        class Answer(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self.bodies = bodies
        self._server = HTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _secured(server: KafkaServer, protocol: str) -> dict[str, Any]:
    settings: dict[str, Any] = {"security_protocol": protocol}
    if "SSL" in protocol:
        settings["ssl_context"] = ssl.create_default_context(cafile=str(server.ca_file))
    if "SASL" in protocol:
        settings |= {
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_plain_username": server.user,
            "sasl_plain_password": server.password,
        }
    return settings


async def _there_and_back(bootstrap: str, **settings: Any) -> bytes:
    topic = f"t-{uuid.uuid4().hex[:8]}"
    await _send(bootstrap, topic, b"hello", **settings)
    return await _read_one(bootstrap, topic, **settings)


async def _send(bootstrap: str, topic: str, value: bytes, **settings: Any) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, **settings) as producer:
        await producer.send_and_wait(topic, value)


async def _read_one(bootstrap: str, topic: str, **settings: Any) -> bytes:
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=f"g-{topic}", auto_offset_reset="earliest", **settings
    )
    async with consumer:
        record = await asyncio.wait_for(consumer.getone(), 60)
    assert record.value is not None
    return bytes(record.value)


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


def _values(server: PrometheusServer, expression: str) -> list[str]:
    return [result["value"][1] for result in server.query(expression)]
