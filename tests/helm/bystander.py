"""Somebody else at the API server, who goes on working while the chart comes, changes and goes.

Two accounts, one of them with the daemon's own name in another namespace: no admission policy of ours may ever mean
them. Decides nothing: it writes, and keeps every answer that was no success.
"""

from __future__ import annotations

import itertools
import threading
from contextlib import suppress
from typing import Any

from tests.servers.api import MERGE, Answer, Api
from tests.servers.cluster import Cluster

ROLE: dict[str, Any] = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}


class Bystander:
    """Use it as a context; `denied` holds what it was refused, `writes` how much it has done."""

    def __init__(self, cluster: Cluster, namespace: str, *names: str) -> None:
        self.denied: list[str] = []
        self.writes = 0
        self._namespace = namespace
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(_account(cluster, namespace, n), n)) for n in names]

    def __enter__(self) -> Bystander:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(timeout=60)

    def _work(self, api: Api, name: str) -> None:
        for number in itertools.count():
            if self._end.is_set():
                return
            for answer in self._round(api, f"{name}-{number}"):
                self.writes += 1
                # 404 and 409 are the world's own races, not a refusal.
                if not answer.ok and answer.status not in (404, 409):
                    self.denied.append(f"{answer.status}: {answer.text[:300]}")

    def _round(self, api: Api, mark: str) -> list[Answer]:
        maps, deployment = f"/api/v1/namespaces/{self._namespace}/configmaps", self._deployment()
        pods = f"/api/v1/namespaces/{self._namespace}/pods"
        pod = {"metadata": {"name": mark}, "spec": {"containers": [{"name": "a", "image": "shop:1"}]}}
        steps: list[tuple[str, str, Any, str]] = [
            ("PATCH", deployment, {"metadata": {"annotations": {"seen": mark}}}, MERGE),
            ("PATCH", deployment, {"spec": {"replicas": 1 + len(mark) % 2}}, MERGE),
            ("POST", maps, {"metadata": {"name": mark}}, "application/json"),
            ("DELETE", f"{maps}/{mark}", None, "application/json"),
            ("POST", pods, {"apiVersion": "v1", "kind": "Pod", **pod}, "application/json"),
            ("DELETE", f"{pods}/{mark}", None, "application/json"),
        ]
        answers: list[Answer] = []
        for method, path, body, kind in steps:
            with suppress(OSError):
                answers.append(api.call(method, path, body, kind))
        return answers

    def _deployment(self) -> str:
        return f"/apis/apps/v1/namespaces/{self._namespace}/deployments/api"


def _account(cluster: Cluster, namespace: str, name: str) -> Api:
    """Its token; it may do in its namespace what the role `admin` may, and may so by now."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}"
    meta = {"name": name, "namespace": namespace}
    cluster.api.apply(path, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": meta,
        "roleRef": ROLE,
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
    cluster.api.apply(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}", binding)
    user = f"system:serviceaccount:{namespace}:{name}"
    for group, resource in (("", "pods"), ("", "configmaps"), ("apps", "deployments")):
        cluster.until_allowed(user, "patch", resource, group=group, namespace=namespace)
    return cluster.as_token(cluster.service_account_token(namespace, name))
