"""What a test may ask of a cluster, be it ours or an existing one.

Decides: when a namespace and a node count as usable. Never starts or stops anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.servers import kwok_logs
from tests.servers.api import Api
from tests.servers.kubeconfig import read_kubeconfig, write_kubeconfig
from tests.servers.pins import Missing
from tests.servers.process import drop_work_dir, new_work_dir, wait_until

PATIENCE = 120.0
"""Seconds for a controller to do its first work; several control planes may be starting on one machine."""


class Cluster:
    """`api` is the administrator's client; `kubeconfig`, `url` and `ca_file` are for other clients."""

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
        metadata = {"name": name, "labels": dict(labels or {})}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        self.api.apply(f"/api/v1/namespaces/{name}", body)
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        wait_until(lambda: self.api.call("GET", account).ok, PATIENCE, f"default service account in {name}")

    def service_account_token(self, namespace: str, name: str, seconds: int = 3600) -> str:
        """A bound token of an existing service account, through TokenRequest; at least 600 seconds."""
        spec = {"expirationSeconds": seconds}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        return str(self.api.post(path, body)["status"]["token"])

    def until_allowed(self, user: str, verb: str, resource: str, *, group: str = "", namespace: str = "") -> None:
        """Wait until a right that was granted is in force: the authorizer follows its objects by watches."""
        asked = {"verb": verb, "group": group, "resource": resource, "namespace": namespace}
        spec = {"user": user, "groups": ["system:authenticated"], "resourceAttributes": asked}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        wait_until(
            lambda: bool(self.api.post(path, body)["status"]["allowed"]), PATIENCE, f"{user} to {verb} {resource}"
        )

    def kubeconfig_for(self, token: str, name: str) -> Path:
        """A kubeconfig file for this token."""
        return write_kubeconfig(self.work / f"{name}.kubeconfig", self.url, self.ca_file, token)

    def add_node(
        self,
        name: str,
        *,
        labels: Mapping[str, str] | None = None,
        room: Mapping[str, str] | None = None,
    ) -> None:
        """Add a node with this `room` (cpu, memory, pods) and wait until pods may go there."""
        capacity = {"cpu": "16", "memory": "64Gi", "pods": "250", **(room or {})}
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
            "status": {"capacity": capacity, "allocatable": capacity},
        }
        self.api.post("/api/v1/nodes", node)
        wait_until(lambda: self._usable(name), PATIENCE, f"node {name} ready")

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

    def _usable(self, node: str) -> bool:
        seen = self.api.get(f"/api/v1/nodes/{node}")
        conditions = {c["type"]: c["status"] for c in seen["status"].get("conditions", ())}
        taints = [taint["key"] for taint in seen["spec"].get("taints", ())]
        return conditions.get("Ready") == "True" and not any("node.kubernetes.io/" in key for key in taints)


class ExistingCluster(Cluster):
    """The cluster that HANDRAIL_TEST_KUBECONFIG names: somebody else's, without audit log or outages."""

    def __init__(self) -> None:
        self.work = new_work_dir("existing-cluster")
        self.kubeconfig = Path(os.environ["HANDRAIL_TEST_KUBECONFIG"])
        self.api, self.ca_file = read_kubeconfig(self.kubeconfig, self.work)
        self.url = self.api.url

    @property
    def admin_token(self) -> str:
        if self.api.token is None:
            raise Missing("this test needs a token: the kubeconfig of HANDRAIL_TEST_KUBECONFIG has a certificate")
        return self.api.token

    def __getattr__(self, name: str) -> object:
        if name in ("audit", "stop_api_server", "start_api_server", "processes"):
            raise Missing(f"an existing cluster has no {name}: unset HANDRAIL_TEST_KUBECONFIG and run `make servers`")
        raise AttributeError(name)

    def close(self) -> None:
        """Only our own files: the cluster is not ours."""
        drop_work_dir(self.work)
