"""A real control plane without kubelets: etcd, API server, controller manager, scheduler and KWOK.

Decides: flags, identities, order of start and stop. Never schedules a container: pods do what `stages.py`
says. The API server can be stopped and started again on the same data, as in an outage.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.servers import audit, certificates, kwok_logs, pins, stages
from tests.servers.api import Api
from tests.servers.kubeconfig import write_kubeconfig
from tests.servers.process import Process, accepts, drop_work_dir, free_port, new_work_dir, wait_until

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
USERS = {
    "admin": "system:masters",
    "kwok": "system:masters",
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
}


class Cluster:
    """What a test may ask of any cluster, ours or an existing one."""

    api: Api
    url: str
    ca_file: Path
    kubeconfig: Path
    work: Path

    def as_token(self, token: str) -> Api:
        """The API as another identity."""
        return Api(self.url, self.ca_file, token)

    def ensure_namespace(self, name: str, labels: Mapping[str, str] | None = None) -> None:
        """Create the namespace if it is not there, and wait until pods can be created in it."""
        self.api.apply(
            f"/api/v1/namespaces/{name}",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels or {})}},
        )
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        wait_until(lambda: self.api.call("GET", account).ok, 30, f"default service account in {name}")

    def service_account_token(self, namespace: str, name: str, seconds: int = 3600) -> str:
        """A bound token of an existing service account, through TokenRequest."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": seconds}}
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        return str(self.api.post(path, body)["status"]["token"])

    def kubeconfig_for(self, token: str, name: str) -> Path:
        """A kubeconfig file for this token."""
        return write_kubeconfig(self.work / f"{name}.kubeconfig", self.url, self.ca_file, token)

    def add_node(
        self,
        name: str,
        *,
        labels: Mapping[str, str] | None = None,
        taints: Iterable[Mapping[str, str]] = (),
        cpu: str = "16",
        memory: str = "64Gi",
        pods: str = "250",
    ) -> None:
        """Add a node and wait until it is ready and pods may go there."""
        room = {"cpu": cpu, "memory": memory, "pods": pods}
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
            "spec": {"taints": list(taints)},
            "status": {"capacity": room, "allocatable": room},
        }
        self.api.post("/api/v1/nodes", node)

        def usable() -> bool:
            seen = self.api.get(f"/api/v1/nodes/{name}")
            ready = any(c["type"] == "Ready" and c["status"] == "True" for c in seen["status"].get("conditions", ()))
            return ready and not any("node.kubernetes.io" in t["key"] for t in seen["spec"].get("taints", ()))

        wait_until(usable, 30, f"node {name} ready")

    def set_logs(
        self,
        container: str,
        current: Iterable[str],
        previous: Iterable[str] = (),
        *,
        pod: str | None = None,
        namespace: str = "default",
    ) -> None:
        """What containers of this name write (of one pod only, if named); seen within about a second."""
        folder = self.work / "logs"
        kwok_logs.set_logs(self.api, folder, container, current, previous, pod=pod, namespace=namespace)


class ControlPlane(Cluster):
    """Our own. `api` is the administrator's client, `admin_token` its token, `audit` the audit log."""

    def __init__(self, nodes: Iterable[str] = ("node-1", "node-2")) -> None:
        programs = {name: str(pins.program(name)) for name in PROGRAMS}
        self.work = new_work_dir("control-plane")
        self._nodes = tuple(nodes)
        self._ports = {name: free_port() for name in ("api", "etcd", "peer", "kubelet")}
        self.url = f"https://127.0.0.1:{self._ports['api']}"
        authority = certificates.Authority(self.work / "tls")
        self._tls = authority.server("server")
        self.ca_file = authority.ca_file
        self._tokens = {user: secrets.token_hex(16) for user in USERS}
        self.admin_token = self._tokens["admin"]
        self.api = Api(self.url, self.ca_file, self.admin_token)
        self.audit = audit.AuditLog(self.work / "audit")
        self._write_files()
        self.processes = {name: self._process(name, programs[name]) for name in PROGRAMS}

    def start(self) -> ControlPlane:
        for name in ("etcd", "kube-apiserver"):
            self.processes[name].start()
        wait_until(lambda: self.api.call("GET", "/api/v1/namespaces/default").ok, 30, "namespace default")
        for definition in kwok_logs.definitions():
            self.api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        for plural in ("clusterlogs", "logs"):
            served = f"/apis/{kwok_logs.GROUP}/v1alpha1/{plural}"
            wait_until(lambda path=served: self.api.call("GET", path).ok, 30, plural)  # type: ignore[misc]
        for name in ("kube-controller-manager", "kube-scheduler", "kwok"):
            self.processes[name].start()
        self.ensure_namespace("default")
        for node in self._nodes:
            self.add_node(node)
        return self

    def stop_api_server(self) -> None:
        self.processes["kube-apiserver"].stop()

    def start_api_server(self) -> None:
        """Again, on the same data and address; the other programs find it by themselves."""
        self.processes["kube-apiserver"].start()

    def stop(self) -> None:
        """Stop everything, clients first; the data stays until `close`."""
        for name in reversed(PROGRAMS):
            self.processes[name].stop()

    def close(self) -> None:
        self.stop()
        drop_work_dir(self.work)

    def _write_files(self) -> None:
        (self.work / "audit").mkdir()
        (self.work / "audit-policy.yaml").write_text(audit.POLICY, encoding="utf-8")
        (self.work / "stages.yaml").write_text(stages.documents(), encoding="utf-8")
        lines = [f'{self._tokens[user]},{user},{user},"{groups}"\n' for user, groups in USERS.items()]
        (self.work / "tokens.csv").write_text("".join(lines), encoding="utf-8")
        certificates.signing_key(self.work / "accounts.key", self.work / "accounts.pub")
        for user, token in self._tokens.items():
            path = self.work / f"{user.removeprefix('system:')}.kubeconfig"
            write_kubeconfig(path, self.url, self.ca_file, token)
        self.kubeconfig = self.work / "admin.kubeconfig"

    def _process(self, name: str, program: str) -> Process:
        ready = {"etcd": self._etcd_up, "kube-apiserver": self._api_up, "kwok": self._kwok_up}
        return Process(name, [program, *self._flags(name)], self.work, ready.get(name, lambda: True))

    def _etcd_up(self) -> bool:
        return accepts(self._ports["etcd"])

    def _api_up(self) -> bool:
        return accepts(self._ports["api"]) and self.api.call("GET", "/readyz").ok

    def _kwok_up(self) -> bool:
        return accepts(self._ports["kubelet"])

    def _flags(self, name: str) -> list[str]:
        work, (certificate, key) = self.work, self._tls
        etcd, peer = (f"http://127.0.0.1:{self._ports[port]}" for port in ("etcd", "peer"))
        config = f"--kubeconfig={work / name}.kubeconfig"
        if name == "etcd":
            return [
                f"--data-dir={work / 'etcd'}",
                f"--listen-client-urls={etcd}",
                f"--advertise-client-urls={etcd}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
                "--unsafe-no-fsync",
                "--log-level=warn",
            ]
        if name == "kube-apiserver":
            return [
                f"--etcd-servers={etcd}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                f"--secure-port={self._ports['api']}",
                f"--tls-cert-file={certificate}",
                f"--tls-private-key-file={key}",
                "--service-cluster-ip-range=10.0.0.0/24",
                # The address is loopback, which an endpoint of the service `kubernetes` may not be.
                "--endpoint-reconciler-type=none",
                f"--token-auth-file={work / 'tokens.csv'}",
                "--authorization-mode=RBAC",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={work / 'accounts.pub'}",
                f"--service-account-signing-key-file={work / 'accounts.key'}",
                f"--audit-policy-file={work / 'audit-policy.yaml'}",
                f"--audit-log-path={work / 'audit' / 'audit.log'}",
                "--audit-log-maxsize=1000",
                "--kubelet-preferred-address-types=InternalIP",
                # Without it a webhook whose Service has no endpoints hangs instead of failing at once.
                "--enable-aggregator-routing=true",
                # Ends open watches after two seconds at a stop; otherwise it waits a minute for them.
                "--shutdown-send-retry-after=true",
                "--profiling=false",
            ]
        if name == "kube-controller-manager":
            return [
                config,
                "--use-service-account-credentials=true",
                # Without kubelets there are no pod networks to give out; the rest stays, so that nodes get untainted.
                "--controllers=*,-node-ipam-controller",
                f"--service-account-private-key-file={work / 'accounts.key'}",
                f"--root-ca-file={self.ca_file}",
                "--leader-elect=false",
                "--secure-port=0",
                "--kube-api-qps=300",
                "--kube-api-burst=600",
            ]
        if name == "kube-scheduler":
            return [config, "--leader-elect=false", "--secure-port=0"]
        address = f"127.0.0.1:{self._ports['kubelet']}"
        return [
            config,
            f"--config={work / 'stages.yaml'}",
            "--enable-crds=ClusterLogs,Logs",
            "--manage-all-nodes=true",
            "--node-lease-duration-seconds=40",
            "--node-ip=127.0.0.1",
            "--cidr=10.244.0.1/16",
            f"--node-port={self._ports['kubelet']}",
            f"--server-address={address}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
        ]
