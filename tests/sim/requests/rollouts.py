"""Requests that follow Deployments through rollouts: revisions, undo, restart, pause, scale and deadlines."""

from __future__ import annotations

from typing import Any

from tests.sim import normal
from tests.sim.asks import JSON_PATCH, MERGE, STRATEGIC, Ask, Seen
from tests.sim.requests.bodies import (
    APPS,
    CORE,
    CRASH,
    GOOD,
    MANAGER,
    complete,
    condition,
    deployment,
    observed,
    replace,
)

DEPLOYMENTS = f"{APPS}/deployments"
CHECKOUT = f"{DEPLOYMENTS}/checkout"
SETS = {"labelSelector": "app=checkout"}
IMAGE = "/spec/template/spec/containers/0/image"
REVISION = "deployment.kubernetes.io/revision"
RESTARTED = "kubectl.kubernetes.io/restartedAt"


def _bare_template(seen: Seen, listed: str, revision: str) -> Any:
    found = [rs for rs in seen[listed]["items"] if rs["metadata"]["annotations"][REVISION] == revision]
    template = found[0]["spec"]["template"]
    labels = {k: v for k, v in template["metadata"]["labels"].items() if k != "pod-template-hash"}
    return template | {"metadata": template["metadata"] | {"labels": labels}}


def _stuck(body: Any) -> bool:
    return condition(body, "Progressing").get("reason") == "ProgressDeadlineExceeded"


def _crashed(body: Any) -> bool:
    statuses = [s for pod in body["items"] for s in pod["status"].get("containerStatuses", ())]
    return any(s["restartCount"] and s.get("lastState", {}).get("terminated") for s in statuses)


def _waits(reason: str) -> Any:
    def holds(body: Any) -> bool:
        statuses = [s for pod in body["items"] for s in pod["status"].get("containerStatuses", ())]
        return any(s["state"].get("waiting", {}).get("reason") == reason for s in statuses)

    return holds


def _ended(body: Any) -> Any:
    """How the containers that have ended ended."""
    ends = [
        s["lastState"]["terminated"]
        for pod in body["items"]
        for s in pod["status"]["containerStatuses"]
        if s.get("lastState", {}).get("terminated")
    ]
    return [(end["exitCode"], end["reason"]) for end in ends]


def _first_pod(listed: str) -> Any:
    return lambda s: f"{CORE}/pods/{s[listed]['items'][0]['metadata']['name']}"


def _crashed_pod(seen: Seen, listed: str) -> str:
    found = [p for p in seen[listed]["items"] if p["status"]["containerStatuses"][0].get("lastState")]
    return f"{CORE}/pods/{found[0]['metadata']['name']}"


def _settled(replicas: int) -> Any:
    return lambda b: complete(b) and b["spec"]["replicas"] == replicas


def _at_rest(ready: int) -> Any:
    return lambda b: (
        observed(b) and b["status"].get("readyReplicas") == ready and not b["status"]["terminatingReplicas"]
    )


SET = normal.each("metadata.annotations", "metadata.labels", "metadata.ownerReferences", "spec", "status")
POD = normal.each("metadata.labels", "metadata.ownerReferences", "status.phase", "status.qosClass")

HEALTHY = [
    Ask("a deployment rolls out", "POST", DEPLOYMENTS,
        deployment("checkout", 3, progressDeadlineSeconds=3), query=MANAGER, status=201),
    Ask("until it is complete", "GET", CHECKOUT, until=complete),
    Ask("it has one ReplicaSet", "GET", f"{APPS}/replicasets", query=SETS, shows=SET),
    Ask("with three pods", "GET", f"{CORE}/pods", query=SETS, shows=POD),
    Ask("a pod of it", "GET", _first_pod("with three pods"),
        shows=normal.parts("kind", "metadata.generateName", "spec.restartPolicy", "spec.tolerations",
                           "spec.schedulerName", "spec.priority", "spec.serviceAccountName", "status.phase")),
    Ask("it tells that it scaled", "GET", f"{CORE}/events",
        query={"fieldSelector": "involvedObject.name=checkout,reason=ScalingReplicaSet"},
        shows=normal.each("message", "type", "reason", "source.component")),
    Ask("pods may not change but for their image", "PATCH", _first_pod("with three pods"),
        {"spec": {"nodeName": "elsewhere"}}, MERGE, MANAGER, 422),
    Ask("pods on a node", "GET", f"{CORE}/pods", query={"fieldSelector": "spec.nodeName=nowhere"}, shows=normal.names),
    Ask("a pod's log of a run that never was", "GET",
        lambda s: _first_pod("with three pods")(s) + "/log", query={"container": "other"}, status=400),
    Ask("the log of a pod", "GET", lambda s: _first_pod("with three pods")(s) + "/log"),
    Ask("its last line", "GET", lambda s: _first_pod("with three pods")(s) + "/log", query={"tailLines": "1"}),
    Ask("the first bytes of it", "GET", lambda s: _first_pod("with three pods")(s) + "/log",
        query={"limitBytes": "12"}),
    Ask("no lines of it", "GET", lambda s: _first_pod("with three pods")(s) + "/log", query={"tailLines": "0"}),
    Ask("any lines of it", "GET", lambda s: _first_pod("with three pods")(s) + "/log", query={"tailLines": "abc"},
        status=400),
    Ask("the log of a pod that is not there", "GET", f"{CORE}/pods/nothing/log", status=404),
]  # fmt: skip

BROKEN = [
    Ask("a bad image is rolled out", "PATCH", CHECKOUT, [replace(IMAGE, CRASH)], JSON_PATCH, MANAGER,
        shows=normal.parts("metadata.generation", "spec")),
    Ask("and gets stuck", "GET", CHECKOUT, until=_stuck),
    Ask("with two ReplicaSets", "GET", f"{APPS}/replicasets", query=SETS, shows=SET),
    Ask("its new pod crashes", "GET", f"{CORE}/pods", query=SETS, until=_crashed, shows=_ended),
    Ask("what it said before it crashed", "GET", lambda s: _crashed_pod(s, "its new pod crashes") + "/log",
        query={"previous": "true"}),
    Ask("again and again", "GET", f"{CORE}/pods", query=SETS, until=_waits("CrashLoopBackOff"), shows=normal.nothing),
]  # fmt: skip

UNDONE = [
    Ask("the old template is put back", "PATCH", CHECKOUT,
        lambda s: [replace("/spec/template", _bare_template(s, "with two ReplicaSets", "1"))], JSON_PATCH, MANAGER,
        shows=normal.parts("metadata.generation", "spec")),
    Ask("which heals it", "GET", CHECKOUT, until=complete),
    Ask("its old ReplicaSet is used again", "GET", f"{APPS}/replicasets", query=SETS,
        until=lambda b: sum(rs["status"].get("replicas", 0) for rs in b["items"]) == 3, shows=SET),
    Ask("putting it back again changes nothing", "PATCH", CHECKOUT,
        lambda s: [replace("/spec/template", _bare_template(s, "with two ReplicaSets", "1"))], JSON_PATCH, MANAGER),
]  # fmt: skip

CHANGED = [
    Ask("a restart", "PATCH", CHECKOUT,
        {"spec": {"template": {"metadata": {"annotations": {RESTARTED: "2026-11-29T15:00:00Z"}}}}}, STRATEGIC, MANAGER,
        shows=normal.parts("metadata.generation", "spec")),
    Ask("until it is complete too", "GET", CHECKOUT, until=lambda b: complete(b) and RESTARTED in str(b["spec"])),
    Ask("it has made a third ReplicaSet", "GET", f"{APPS}/replicasets", query=SETS,
        until=lambda b: sum(rs["status"].get("replicas", 0) for rs in b["items"]) == 3, shows=SET),
    Ask("a pause", "PATCH", CHECKOUT, [{"op": "add", "path": "/spec/paused", "value": True}], JSON_PATCH, MANAGER,
        shows=normal.part("spec")),
    Ask("is told", "GET", CHECKOUT,
        until=lambda b: observed(b) and condition(b, "Progressing").get("reason") == "DeploymentPaused"),
    Ask("another image while it is paused", "PATCH", CHECKOUT, [replace(IMAGE, GOOD + "0")], JSON_PATCH, MANAGER,
        shows=normal.parts("metadata.generation", "spec")),
    Ask("is observed and not rolled out", "GET", CHECKOUT,
        until=lambda b: observed(b) and not b["status"].get("updatedReplicas")),
    Ask("scaling works while it is paused", "PATCH", CHECKOUT, [replace("/spec/replicas", 2)], JSON_PATCH, MANAGER,
        shows=normal.parts("metadata.generation", "spec.replicas")),
    Ask("as its status says", "GET", CHECKOUT,
        until=_at_rest(2)),
    Ask("on again", "PATCH", CHECKOUT, [{"op": "remove", "path": "/spec/paused"}], JSON_PATCH, MANAGER,
        shows=normal.part("spec")),
    Ask("and it rolls out", "GET", CHECKOUT, until=_settled(2)),
    Ask("scaled up", "PATCH", CHECKOUT, [replace("/spec/replicas", 4)], JSON_PATCH, MANAGER,
        shows=normal.parts("metadata.generation", "spec.replicas")),
    Ask("to four pods", "GET", CHECKOUT, until=_settled(4)),
    Ask("scaled by the subresource", "PATCH", f"{CHECKOUT}/scale", {"spec": {"replicas": 1}}, MERGE, MANAGER,
        shows=normal.parts("kind", "spec", "apiVersion")),
    Ask("to one pod", "GET", CHECKOUT, until=_settled(1)),
    Ask("scale with a wrong UID", "PATCH", f"{CHECKOUT}/scale",
        {"metadata": {"uid": "00000000-0000-4000-8000-000000000000"}, "spec": {"replicas": 2}}, MERGE, MANAGER, 409),
    Ask("scale to less than nothing", "PATCH", f"{CHECKOUT}/scale", {"spec": {"replicas": -2}}, MERGE, MANAGER, 422),
    Ask("its revisions", "GET", f"{APPS}/replicasets", query=SETS,
        until=lambda b: sum(rs["status"].get("replicas", 0) for rs in b["items"]) == 1, shows=SET),
    Ask("deleted in the foreground", "DELETE", CHECKOUT, {"propagationPolicy": "Foreground"}, shows=normal.nothing),
    Ask("it goes", "GET", CHECKOUT, status=404, until=lambda b: True),
    Ask("and its pods go", "GET", f"{CORE}/pods", query=SETS, until=lambda b: not b["items"], shows=normal.names),
]  # fmt: skip

OTHER_WAYS = [
    Ask("an image that is not there", "POST", DEPLOYMENTS,
        deployment("cart", 1, "registry.example/cart:missing"), query=MANAGER, status=201, shows=normal.nothing),
    Ask("can't be pulled", "GET", f"{CORE}/pods", query={"labelSelector": "app=cart"}, until=_waits("ErrImagePull"),
        shows=POD),
    Ask("nor later", "GET", f"{CORE}/pods", query={"labelSelector": "app=cart"}, until=_waits("ImagePullBackOff"),
        shows=POD),
    Ask("its status without any ready pod", "GET", f"{DEPLOYMENTS}/cart", until=observed),
    Ask("one whose pods stay", "POST", DEPLOYMENTS, deployment("left", 1), query=MANAGER, status=201,
        shows=normal.nothing),
    Ask("until it has one", "GET", f"{DEPLOYMENTS}/left", until=complete, shows=normal.nothing),
    Ask("is deleted alone", "DELETE", f"{DEPLOYMENTS}/left", {"propagationPolicy": "Orphan"}, shows=normal.nothing),
    Ask("until it is gone alone", "GET", f"{DEPLOYMENTS}/left", status=404, until=lambda b: True),
    Ask("and leaves a ReplicaSet", "GET", f"{APPS}/replicasets", query={"labelSelector": "app=left"}, shows=SET),
    Ask("with its pod", "GET", f"{CORE}/pods", query={"labelSelector": "app=left"}, shows=POD),
    Ask("recreated", "POST", DEPLOYMENTS, deployment("single", 2, strategy={"type": "Recreate"}), query=MANAGER,
        status=201),
    Ask("until it is there", "GET", f"{DEPLOYMENTS}/single", until=complete),
    Ask("another image for it", "PATCH", f"{DEPLOYMENTS}/single", [replace(IMAGE, GOOD + "1")], JSON_PATCH, MANAGER,
        shows=normal.parts("metadata.generation", "spec")),
    Ask("until that is there", "GET", f"{DEPLOYMENTS}/single", until=complete),
    Ask("short of memory", "POST", DEPLOYMENTS,
        deployment("brief", 1, revisionHistoryLimit=0), query=MANAGER, status=201, shows=normal.nothing),
    Ask("until it is complete as well", "GET", f"{DEPLOYMENTS}/brief", until=complete, shows=normal.nothing),
    Ask("its next image", "PATCH", f"{DEPLOYMENTS}/brief", [replace(IMAGE, GOOD + "2")], JSON_PATCH, MANAGER,
        shows=normal.nothing),
    Ask("leaves no old ReplicaSet", "GET", f"{APPS}/replicasets", query={"labelSelector": "app=brief"},
        until=lambda b: [rs["metadata"]["annotations"][REVISION] for rs in b["items"]] == ["2"], shows=SET),
]  # fmt: skip

ASKS = [*HEALTHY, *BROKEN, *UNDONE, *CHANGED, *OTHER_WAYS]
