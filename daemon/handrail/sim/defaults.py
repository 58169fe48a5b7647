"""What a real API server fills in where a body is silent.

Pure, and only for what shows: two templates are equal only when both have their defaults, and a rehearsed diff would
be wrong without them. Never overwrites what somebody wrote.
"""

from collections.abc import Callable
from typing import Any

from .kinds import (
    AUTOSCALER,
    BUDGET,
    DAEMON_SET,
    DEPLOYMENT,
    EVENT,
    NAMESPACE,
    POD,
    REPLICA_SET,
    SERVICE,
    SLICE,
    STATEFUL_SET,
    Kind,
)
from .objects import Obj, at, labels_of, name_of

_POD_SPEC: Obj = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_CONTAINER: Obj = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE: Obj = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_ROLLING: Obj = {"maxUnavailable": "25%", "maxSurge": "25%"}
_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def fill(kind: Kind, obj: Obj) -> None:
    """Complete this object in place."""
    for rule in _RULES.get(kind, ()):
        rule(obj)


def _missing(obj: Obj, values: Obj) -> None:
    for key, value in values.items():
        if obj.get(key) in (None, ""):
            obj[key] = dict(value) if isinstance(value, dict) else value


def _spec(obj: Obj) -> Obj:
    if not isinstance(obj.get("spec"), dict):
        obj["spec"] = {}
    spec: Obj = obj["spec"]
    return spec


def pod_spec(spec: Obj) -> None:
    """Complete the spec of a pod or of a pod template."""
    _missing(spec, _POD_SPEC)
    for container in _dicts(spec.get("containers")) + _dicts(spec.get("initContainers")):
        _container(container)
    if spec.get("serviceAccountName"):
        _missing(spec, {"serviceAccount": spec["serviceAccountName"]})
    for volume in _dicts(spec.get("volumes")):
        for source in ("configMap", "secret", "projected", "downwardAPI"):
            if isinstance(volume.get(source), dict):
                _missing(volume[source], {"defaultMode": 420})
        if volume.keys() <= {"name"}:
            volume["emptyDir"] = {}


def _dicts(value: Any) -> list[Obj]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _container(container: Obj) -> None:
    _missing(container, _CONTAINER | {"imagePullPolicy": _pull_policy(str(container.get("image") or ""))})
    for port in _dicts(container.get("ports")):
        _missing(port, {"protocol": "TCP"})
    for probe in (container[name] for name in _PROBES if isinstance(container.get(name), dict)):
        _missing(probe, _PROBE)
        if isinstance(probe.get("httpGet"), dict):
            _missing(probe["httpGet"], {"scheme": "HTTP", "path": "/"})
    for variable in _dicts(container.get("env")):
        if field := at(variable, "valueFrom", "fieldRef"):
            _missing(field, {"apiVersion": "v1"})


def _pull_policy(image: str) -> str:
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") and "@" not in image else "IfNotPresent"


def _template(obj: Obj) -> None:
    template = _spec(obj).setdefault("template", {})
    if isinstance(template, dict):
        template.setdefault("metadata", {})
        if isinstance(template.setdefault("spec", {}), dict):
            pod_spec(template["spec"])


def _pod(obj: Obj) -> None:
    spec = _spec(obj)
    pod_spec(spec)
    _missing(spec, {"enableServiceLinks": True, "priority": 0, "preemptionPolicy": "PreemptLowerPriority"})
    _missing(spec, {"serviceAccountName": "default", "serviceAccount": "default"})
    for resources in (container["resources"] for container in _dicts(spec.get("containers"))):
        if resources.get("limits"):  # of pods only: a template keeps what was written
            resources["requests"] = dict(resources["limits"]) | (resources.get("requests") or {})
    if not spec.get("tolerations"):
        spec["tolerations"] = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for key in _TOLERATED
        ]
    obj.setdefault("status", {}).setdefault("phase", "Pending")
    obj["status"].setdefault("qosClass", _quality(spec))


def _quality(spec: Obj) -> str:
    resources = [c.get("resources") or {} for c in _dicts(spec.get("containers"))]
    if not any(r.get("requests") or r.get("limits") for r in resources):
        return "BestEffort"
    whole = all(
        {"cpu", "memory"} <= set(r.get("limits") or {}) and r.get("limits") == r.get("requests") for r in resources
    )
    return "Guaranteed" if whole else "Burstable"


def _replicas(obj: Obj) -> None:
    _missing(_spec(obj), {"replicas": 1})


def _deployment(obj: Obj) -> None:
    spec = _spec(obj)
    _missing(spec, {"revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "strategy": {}})
    _missing(spec["strategy"], {"type": "RollingUpdate"})
    if spec["strategy"]["type"] == "RollingUpdate":
        _missing(spec["strategy"], {"rollingUpdate": {}})
        _missing(spec["strategy"]["rollingUpdate"], _ROLLING)


def _stateful_set(obj: Obj) -> None:
    spec = _spec(obj)
    _missing(spec, {"podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10, "updateStrategy": {}})
    _missing(spec["updateStrategy"], {"type": "RollingUpdate"})
    if spec["updateStrategy"]["type"] == "RollingUpdate":
        _missing(spec["updateStrategy"], {"rollingUpdate": {"partition": 0}})
    _missing(spec, {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"}})


def _daemon_set(obj: Obj) -> None:
    spec = _spec(obj)
    _missing(spec, {"revisionHistoryLimit": 10, "updateStrategy": {}})
    _missing(spec["updateStrategy"], {"type": "RollingUpdate"})
    if spec["updateStrategy"]["type"] == "RollingUpdate":
        _missing(spec["updateStrategy"], {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}})


def _namespace(obj: Obj) -> None:
    _missing(_spec(obj), {"finalizers": ["kubernetes"]})
    obj["metadata"]["labels"] = labels_of(obj) | {"kubernetes.io/metadata.name": name_of(obj)}
    obj.setdefault("status", {}).setdefault("phase", "Active")


def _service(obj: Obj) -> None:
    spec = _spec(obj)
    _missing(spec, {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"})
    for port in _dicts(spec.get("ports")):
        _missing(port, {"protocol": "TCP", "targetPort": port.get("port")})
    obj.setdefault("status", {}).setdefault("loadBalancer", {})


def _autoscaler(obj: Obj) -> None:
    _missing(_spec(obj), {"minReplicas": 1})
    obj.setdefault("status", {"desiredReplicas": 0, "currentMetrics": None})


def _budget(obj: Obj) -> None:
    _spec(obj)


def _slice(obj: Obj) -> None:
    for endpoint in _dicts(obj.get("endpoints")):
        _missing(endpoint, {"conditions": {}})


def _status(**zeros: int) -> Callable[[Obj], None]:
    """A status that is there from the start, with these counts at zero."""

    def rule(obj: Obj) -> None:
        obj.setdefault("status", dict(zeros))

    return rule


def _counted_template(obj: Obj) -> None:
    annotations = obj["metadata"].setdefault("annotations", {})
    annotations.setdefault("deprecated.daemonset.template.generation", "1")


def _event(obj: Obj) -> None:
    _missing(obj, {"source": {}, "reportingComponent": "", "reportingInstance": ""})
    for key in ("eventTime", "firstTimestamp", "lastTimestamp"):
        obj.setdefault(key, None)


_RULES = {
    NAMESPACE: (_namespace,),
    POD: (_pod,),
    SERVICE: (_service,),
    EVENT: (_event,),
    DEPLOYMENT: (_replicas, _template, _deployment, _status()),
    REPLICA_SET: (_replicas, _template, _status(replicas=0)),
    STATEFUL_SET: (_replicas, _template, _stateful_set, _status(replicas=0, availableReplicas=0)),
    DAEMON_SET: (
        _template,
        _daemon_set,
        _counted_template,
        _status(currentNumberScheduled=0, numberMisscheduled=0, desiredNumberScheduled=0, numberReady=0),
    ),
    AUTOSCALER: (_autoscaler,),
    BUDGET: (_budget, _status(currentHealthy=0, desiredHealthy=0, disruptionsAllowed=0, expectedPods=0)),
    SLICE: (_slice,),
}
