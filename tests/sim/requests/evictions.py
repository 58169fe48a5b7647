"""Requests about pods that are to go: deletes with grace, evictions, budgets, and a namespace at last."""

from __future__ import annotations

from typing import Any

from tests.sim import normal
from tests.sim.asks import JSON_PATCH, MERGE, STRATEGIC, Ask, Seen
from tests.sim.requests.bodies import APPS, CONTAINER, CORE, DRY, MANAGER, NS, POLICY, always, complete, deployment, pod

WRONG_UID = "00000000-0000-4000-8000-000000000000"
OF_API = {"labelSelector": "app=api"}
BUDGET = f"{POLICY}/poddisruptionbudgets/api"


def _eviction(seen: Seen, index: int, **options: Any) -> dict[str, Any]:
    name = seen["its pods"]["items"][index]["metadata"]["name"]
    body: dict[str, Any] = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": NS}}
    return body | ({"deleteOptions": options} if options else {})


def _path(index: int) -> Any:
    return lambda s: f"{CORE}/pods/{s['its pods']['items'][index]['metadata']['name']}/eviction"


def _ready(body: Any) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in body["status"].get("conditions", ()))


def _allowed(count: int) -> Any:
    return lambda b: (
        b.get("status", {}).get("disruptionsAllowed") == count
        and b["status"].get("observedGeneration") == b["metadata"]["generation"]
    )


ASKS = [
    Ask("a pod of its own", "POST", f"{CORE}/pods", pod("alone", app="alone"), query=MANAGER, status=201, until=always,
        shows=normal.parts("kind", "metadata.labels", "metadata.generation", "status.phase", "status.qosClass")),
    Ask("runs", "GET", f"{CORE}/pods/alone", until=_ready,
        shows=normal.parts("metadata.generation", "status.phase", "spec.terminationGracePeriodSeconds")),
    Ask("its image may change", "PATCH", f"{CORE}/pods/alone",
        {"spec": {"containers": [{"name": CONTAINER, "image": "other:1"}]}}, STRATEGIC, {**MANAGER, **DRY},
        shows=lambda b: (b["metadata"]["generation"], [c["image"] for c in b["spec"]["containers"]])),
    Ask("its labels may change", "PATCH", f"{CORE}/pods/alone", {"metadata": {"labels": {"app": None}}}, MERGE,
        {**MANAGER, **DRY}, shows=normal.parts("metadata.generation", "metadata.labels")),
    Ask("its container's name may not", "PATCH", f"{CORE}/pods/alone",
        [{"op": "replace", "path": "/spec/containers/0/name", "value": "other"}], JSON_PATCH, MANAGER, 422),
    Ask("a pod with a wrong UID is not deleted", "DELETE", f"{CORE}/pods/alone", {"preconditions": {"uid": WRONG_UID}},
        status=409),
    Ask("a pod is not deleted in a dry run", "DELETE", f"{CORE}/pods/alone", query=DRY,
        shows=normal.parts("kind", "metadata.name", "metadata.generation", "metadata.deletionGracePeriodSeconds")),
    Ask("a pod is deleted with its grace", "DELETE", f"{CORE}/pods/alone",
        shows=normal.parts("kind", "metadata.name", "metadata.generation", "metadata.deletionGracePeriodSeconds")),
    Ask("and goes", "GET", f"{CORE}/pods/alone", status=404, until=always),
    Ask("a pod for a quick end", "POST", f"{CORE}/pods", pod("quick", app="quick"), query=MANAGER, status=201,
        shows=normal.nothing),
    Ask("is deleted without grace", "DELETE", f"{CORE}/pods/quick", {"gracePeriodSeconds": 0},
        shows=normal.parts("kind", "metadata.name")),
    Ask("and is gone", "GET", f"{CORE}/pods/quick", status=404),
    Ask("three pods of a deployment", "POST", f"{APPS}/deployments", deployment("api", 3), query=MANAGER, status=201,
        shows=normal.nothing),
    Ask("are there", "GET", f"{APPS}/deployments/api", until=complete, shows=normal.nothing),
    Ask("its pods", "GET", f"{CORE}/pods", query=OF_API, shows=normal.names),
    Ask("a budget for them", "POST", f"{POLICY}/poddisruptionbudgets",
        {"metadata": {"name": "api"}, "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "api"}}}},
        query=MANAGER, status=201),
    Ask("allows nothing", "GET", BUDGET, until=_allowed(0)),
    Ask("an eviction against it", "POST", _path(0), lambda s: _eviction(s, 0), status=429),
    Ask("a dry run of an eviction against it", "POST", _path(0), lambda s: _eviction(s, 0, dryRun=["All"]), status=429),
    Ask("a smaller budget", "PATCH", BUDGET, {"spec": {"minAvailable": 1}}, MERGE, MANAGER,
        shows=normal.parts("metadata.generation", "spec")),
    Ask("allows two", "GET", BUDGET, until=_allowed(2)),
    Ask("an eviction with a wrong UID", "POST", _path(2),
        lambda s: _eviction(s, 2, preconditions={"uid": WRONG_UID}), status=409),
    Ask("has spent a part of the budget", "GET", BUDGET,
        until=lambda b: _allowed(1)(b) and b["status"]["currentHealthy"] == 2),
    Ask("a dry run of an eviction", "POST", _path(0), lambda s: _eviction(s, 0, dryRun=["All"]), status=201),
    Ask("evicts nobody", "GET", lambda s: _path(0)(s).removesuffix("/eviction"),
        shows=normal.part("metadata", "deletionTimestamp")),
    Ask("an eviction", "POST", _path(0), lambda s: _eviction(s, 0), status=201),
    Ask("an eviction of nobody", "POST", f"{CORE}/pods/nobody/eviction",
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "nobody"}}, status=404),
    Ask("an eviction can't be read", "GET", _path(1), status=405),
    Ask("another pod takes the place", "GET", f"{APPS}/deployments/api", until=complete, shows=normal.nothing),
    Ask("a budget by share", "PATCH", BUDGET, {"spec": {"minAvailable": None, "maxUnavailable": "50%"}},
        MERGE, MANAGER, shows=normal.parts("metadata.generation", "spec")),
    Ask("allows its share", "GET", BUDGET, until=_allowed(1), shows=normal.part("status")),
    Ask("something holds the namespace", "POST", f"{CORE}/configmaps",
        {"metadata": {"name": "held", "finalizers": ["handrail.dev/held"]}}, query=MANAGER, status=201),
    Ask("the namespace is deleted", "DELETE", f"/api/v1/namespaces/{NS}",
        shows=normal.parts("kind", "metadata.name", "spec", "status.phase")),
    Ask("nothing new may come in", "POST", f"{CORE}/configmaps", {"metadata": {"name": "late"}}, status=403),
    Ask("what held it lets go", "PATCH", f"{CORE}/configmaps/held", {"metadata": {"finalizers": None}},
        MERGE, MANAGER, shows=normal.nothing),
    Ask("until it is gone", "GET", f"/api/v1/namespaces/{NS}", status=404, until=always),
]  # fmt: skip
