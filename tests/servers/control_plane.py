"""A real control plane without kubelets: etcd, API server, controller manager, scheduler and KWOK.

Decides: identities, and the order of start and stop. Never runs a container: pods do what kwok_stages.py
says. The API server can be stopped and started again on the same data, as in an outage.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from tests.servers import audit, certificates, flags, kwok_logs, kwok_stages, pins
from tests.servers.api import Api
from tests.servers.cluster import PATIENCE, Cluster
from tests.servers.kubeconfig import write_kubeconfig
from tests.servers.process import Process, accepts, drop_work_dir, free_port, new_work_dir, wait_until

PROGRAMS = {
    "etcd": flags.etcd,
    "kube-apiserver": flags.api_server,
    "kube-controller-manager": flags.controller_manager,
    "kube-scheduler": flags.scheduler,
    "kwok": flags.kwok,
}
USERS = {
    "admin": "system:masters",
    "kwok": "system:masters",
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
}


class ControlPlane(Cluster):
    """Our own. `admin_token` is the token of user `admin`, `audit` the audit log, `processes` by program."""

    def __init__(self, nodes: Iterable[str] = ("node-1", "node-2")) -> None:
        programs = {name: str(pins.program(name)) for name in PROGRAMS}
        self.work = new_work_dir("control-plane")
        self._nodes = tuple(nodes)
        authority = certificates.Authority(self.work / "tls")
        certificate, key = authority.server("server")
        self.ca_file = authority.ca_file
        ports = {name: free_port() for name in ("api", "etcd", "peer", "kubelet")}
        self._setup = flags.Setup(self.work, certificate, key, self.ca_file, ports)
        self.url = f"https://127.0.0.1:{ports['api']}"
        self._tokens = {user: secrets.token_hex(16) for user in USERS}
        self.admin_token = self._tokens["admin"]
        self.api = Api(self.url, self.ca_file, self.admin_token)
        self.audit = audit.AuditLog(self.work / "audit")
        self.kubeconfig = self.work / "admin.kubeconfig"
        self._write_files()
        self.processes = {name: self._process(name, program) for name, program in programs.items()}

    def start(self) -> ControlPlane:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def stop_api_server(self) -> None:
        """An outage with notice; `processes["kube-apiserver"].kill()` is one without."""
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

    def _start(self) -> None:
        for name in ("etcd", "kube-apiserver"):
            self.processes[name].start()
        wait_until(lambda: self.api.call("GET", "/api/v1/namespaces/default").ok, PATIENCE, "namespace default")
        # Before KWOK starts: it reads these kinds, and without them it does not come up.
        for definition in kwok_logs.definitions():
            self.api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        wait_until(self._log_kinds_served, PATIENCE, "KWOK's kinds for logs")
        for name in ("kube-controller-manager", "kube-scheduler", "kwok"):
            self.processes[name].start()
        self.ensure_namespace("default")
        for node in self._nodes:
            self.add_node(node)

    def _write_files(self) -> None:
        (self.work / "audit").mkdir()
        (self.work / "audit-policy.yaml").write_text(audit.POLICY, encoding="utf-8")
        (self.work / "stages.yaml").write_text(kwok_stages.documents(), encoding="utf-8")
        lines = [f'{self._tokens[user]},{user},{user},"{groups}"\n' for user, groups in USERS.items()]
        (self.work / "tokens.csv").write_text("".join(lines), encoding="utf-8")
        certificates.signing_key(self.work / "accounts.key", self.work / "accounts.pub")
        for user, token in self._tokens.items():
            path = self.work / f"{user.removeprefix('system:')}.kubeconfig"
            write_kubeconfig(path, self.url, self.ca_file, token)

    def _process(self, name: str, program: str) -> Process:
        ports = self._setup.ports
        ready = {
            "etcd": lambda: accepts(ports["etcd"]),
            "kube-apiserver": lambda: accepts(ports["api"]) and self.api.call("GET", "/readyz").ok,
            "kwok": lambda: accepts(ports["kubelet"]),
        }
        # The other two serve nothing; that they work shows in namespaces and nodes becoming usable.
        command = [program, *PROGRAMS[name](self._setup)]
        return Process(name, command, self.work, ready.get(name, lambda: True))

    def _log_kinds_served(self) -> bool:
        served = f"/apis/{kwok_logs.GROUP}/v1alpha1"
        return all(self.api.call("GET", f"{served}/{plural}").ok for plural, _ in kwok_logs.KINDS.values())
