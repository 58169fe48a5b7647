"""Bodies and paths that the requests share, and the setup."""

from __future__ import annotations

from typing import Any

from tests.sim.asks import Ask

NS = "differential"
CORE = f"/api/v1/namespaces/{NS}"
APPS = f"/apis/apps/v1/namespaces/{NS}"
POLICY = f"/apis/policy/v1/namespaces/{NS}"
MANAGER = {"fieldManager": "handrail"}
DRY = {"dryRun": "All"}

CONTAINER = "sample"
LOG = ["starting", "listening", "GET /cart 200"]
PREVIOUS_LOG = ["starting", "fatal: no configuration"]

GOOD = "registry.example/checkout:1.4.2"
CRASH = "registry.example/checkout:1.5.0-crash"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"of": "test"}}, "data": data}


def template(app: str, image: str = GOOD) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": CONTAINER, "image": image}]}}


def deployment(name: str, replicas: int = 0, image: str = GOOD, **spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": name}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": selector, "template": template(name, image), **spec},
    }


def pod(name: str, image: str = GOOD, **labels: str) -> dict[str, Any]:
    spec = {"containers": [{"name": CONTAINER, "image": image}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def replace(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def condition(body: Any, kind: str) -> dict[str, Any]:
    found = [c for c in body.get("status", {}).get("conditions", ()) if c["type"] == kind]
    return found[0] if found else {}


def observed(body: Any) -> bool:
    return bool(body.get("status", {}).get("observedGeneration") == body["metadata"]["generation"])


def complete(body: Any) -> bool:
    """Rolled out, with nothing left of what was before."""
    status, replicas = body.get("status", {}), body["spec"]["replicas"]
    counts = [status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")]
    gone = not status.get("terminatingReplicas")
    done = condition(body, "Progressing").get("reason") == "NewReplicaSetAvailable"
    return observed(body) and counts == [replicas] * 3 and gone and done


SETUP = [
    Ask("a namespace is created", "POST", "/api/v1/namespaces",
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}}, query=MANAGER, status=201),
]  # fmt: skip


def always(body: Any) -> bool:
    """Poll until the status code is right, whatever the body."""
    return True
