"""Which objects are refused, and with which causes (422 Invalid).

Pure: an object, complete with its defaults, and what it replaces -> causes. It covers what a remediation can get
wrong about workloads, not all that Kubernetes checks; a body that passes here may still fail on a real cluster.
"""

import re
from collections.abc import Callable
from typing import Any

from .kinds import (
    AUTOSCALER,
    BUDGET,
    DAEMON_SET,
    DEPLOYMENT,
    NAMESPACE,
    POD,
    REPLICA_SET,
    SERVICE,
    STATEFUL_SET,
    WITH_POD_TEMPLATE,
    Kind,
)
from .objects import Obj, at, meta
from .selectors import matches
from .status import Cause, forbidden_change, required, unsupported, wrong

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_DNS_LABELS = (NAMESPACE, SERVICE)
_NOT_NEGATIVE = "must be greater than or equal to 0"
_IMMUTABLE = "field is immutable"
_POD_MAY_CHANGE = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "schedulingGates")
_STATEFUL_SET_MAY_CHANGE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def causes(kind: Kind, obj: Obj, before: Obj | None) -> list[Cause]:
    """What is wrong with this object, in the order of its fields; `before` is what an update would replace."""
    found = _metadata(kind, obj)
    if before is not None:
        found += _same_identity(obj, before)
    for rule in _RULES.get(kind, ()):
        found += rule(obj, before)
    return found


def _metadata(kind: Kind, obj: Obj) -> list[Cause]:
    name = str(meta(obj).get("name", ""))
    found = []
    if not name:
        found.append(required("metadata.name", "name or generateName is required"))
    elif kind in _DNS_LABELS and not (_LABEL.fullmatch(name) and len(name) <= 63):
        found.append(wrong("metadata.name", name, "a lowercase RFC 1123 label must consist of lower case "
                           "alphanumeric characters or '-', and must start and end with one"))  # fmt: skip
    elif not (_SUBDOMAIN.fullmatch(name) and len(name) <= 253):
        found.append(wrong("metadata.name", name, "a lowercase RFC 1123 subdomain must consist of lower case "
                           "alphanumeric characters, '-' or '.', and must start and end with one"))  # fmt: skip
    return found + _labels(meta(obj).get("labels"), "metadata.labels")


def _labels(labels: Any, field: str) -> list[Cause]:
    return [
        wrong(field, value, "a valid label must be an empty string or consist of alphanumeric characters")
        for value in (labels or {}).values()
        if not _LABEL_VALUE.fullmatch(str(value)) or len(str(value)) > 63
    ]


def _same_identity(obj: Obj, before: Obj) -> list[Cause]:
    """A changed UID is told twice, as the real one does."""
    return [
        wrong(f"metadata.{key}", meta(obj).get(key, ""), _IMMUTABLE)
        for key in ("namespace", "uid", "uid", "creationTimestamp")
        if meta(obj).get(key) != meta(before).get(key)
    ]


def _template(obj: Obj, before: Obj | None) -> list[Cause]:
    spec = obj["spec"]
    labels = at(spec, "template", "metadata", "labels", default={})
    found: list[Cause] = []
    if spec.get("selector") is None:
        found.append(required("spec.selector"))
        found.append(wrong("spec.template.metadata.labels", labels, "`selector` does not match template `labels`"))
    elif not matches(spec["selector"], labels):
        detail = "`selector` does not match template `labels`"
        found.append(wrong("spec.template.metadata.labels", labels, detail))
    found += _labels(labels, "spec.template.metadata.labels")
    found += _pod_spec(at(spec, "template", "spec", default={}), "spec.template.spec")
    if at(spec, "template", "spec", "restartPolicy") != "Always":
        value = at(spec, "template", "spec", "restartPolicy")
        found.append(unsupported("spec.template.spec.restartPolicy", value, ("Always",)))
    return found


def _pod_spec(spec: Obj, field: str) -> list[Cause]:
    containers = spec.get("containers") or []
    if not containers:
        return [required(f"{field}.containers")]
    found = []
    seen: set[str] = set()
    for index, container in enumerate(containers):
        found += _container(container, f"{field}.containers[{index}]", seen)
    if (grace := spec.get("terminationGracePeriodSeconds", 0)) < 0:
        found.append(wrong(f"{field}.terminationGracePeriodSeconds", grace, _NOT_NEGATIVE))
    return found


def _container(container: Obj, field: str, seen: set[str]) -> list[Cause]:
    found = []
    name = container.get("name") or ""
    if not name:
        found.append(required(f"{field}.name"))
    elif name in seen:
        found.append(Cause(f"{field}.name", "FieldValueDuplicate", f'Duplicate value: "{name}"'))
    elif not _LABEL.fullmatch(name):
        found.append(wrong(f"{field}.name", name, "a lowercase RFC 1123 label"))
    seen.add(name)
    if not container.get("image"):
        found.append(required(f"{field}.image"))
    return found


def _empty_selector(obj: Obj, before: Obj | None) -> list[Cause]:
    selector = obj["spec"].get("selector")
    if selector is None or selector.get("matchLabels") or selector.get("matchExpressions"):
        return []
    return [wrong("spec.selector", selector, "empty selector is invalid for deployment")]


def _of_stateful_set(obj: Obj, before: Obj | None) -> list[Cause]:
    def pinned(spec: Obj) -> Obj:
        return {key: value for key, value in spec.items() if key not in _STATEFUL_SET_MAY_CHANGE}

    if before is None or pinned(obj["spec"]) == pinned(before["spec"]):
        return []
    named = ", ".join(f"'{key}'" for key in _STATEFUL_SET_MAY_CHANGE)
    return [forbidden_change("spec", f"updates to statefulset spec for fields other than {named} are forbidden")]


def _counts(*fields: str) -> Callable[[Obj, Obj | None], list[Cause]]:
    def rule(obj: Obj, before: Obj | None) -> list[Cause]:
        values = ((field, at(obj, "spec", field, default=0)) for field in fields)
        return [wrong(f"spec.{field}", value, _NOT_NEGATIVE) for field, value in values if value < 0]

    return rule


def _fixed(*fields: str) -> Callable[[Obj, Obj | None], list[Cause]]:
    def rule(obj: Obj, before: Obj | None) -> list[Cause]:
        if before is None:
            return []
        return [
            wrong(f"spec.{field}", obj["spec"].get(field), _IMMUTABLE)
            for field in fields
            if obj["spec"].get(field) != before["spec"].get(field)
        ]

    return rule


def _strategy(obj: Obj, before: Obj | None) -> list[Cause]:
    strategy = obj["spec"]["strategy"]
    if strategy["type"] not in ("Recreate", "RollingUpdate"):
        return [unsupported("spec.strategy", strategy["type"], ("Recreate", "RollingUpdate"))]
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == "Recreate" and rolling:
        detail = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden_change("spec.strategy.rollingUpdate", detail)]
    if rolling and {str(value) for value in rolling.values()} <= {"0", "0%"}:
        detail = "may not be 0 when `maxSurge` is 0"
        return [wrong("spec.strategy.rollingUpdate.maxUnavailable", rolling["maxUnavailable"], detail)]
    return []


def _deadline(obj: Obj, before: Obj | None) -> list[Cause]:
    deadline, ready = obj["spec"]["progressDeadlineSeconds"], obj["spec"].get("minReadySeconds", 0)
    if deadline > ready:
        return []
    return [wrong("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")]


def _pod(obj: Obj, before: Obj | None) -> list[Cause]:
    found = _pod_spec(obj["spec"], "spec")
    if before is not None and _pinned(obj["spec"]) != _pinned(before["spec"]):
        detail = "pod updates may not change fields other than `spec.containers[*].image` and a few others"
        found.append(forbidden_change("spec", detail))
    return found


def _pinned(spec: Obj) -> Obj:
    pinned = {key: value for key, value in spec.items() if key not in _POD_MAY_CHANGE}
    pinned["containers"] = [{k: v for k, v in c.items() if k != "image"} for c in spec.get("containers") or []]
    return pinned


def _budget(obj: Obj, before: Obj | None) -> list[Cause]:
    spec = obj["spec"]
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        return [wrong("spec", spec, "minAvailable and maxUnavailable cannot be both set")]
    return []


def _autoscaler(obj: Obj, before: Obj | None) -> list[Cause]:
    low, high = obj["spec"]["minReplicas"], obj["spec"].get("maxReplicas", 0)
    found = []
    if high < 1:
        found.append(wrong("spec.maxReplicas", high, "must be greater than 0"))
    if low < 1:
        found.append(wrong("spec.minReplicas", low, "must be greater than or equal to 1"))
    if high < low:
        found.append(wrong("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`"))
    return found


def _service(obj: Obj, before: Obj | None) -> list[Cause]:
    spec = obj["spec"]
    if not spec.get("ports") and spec.get("clusterIP") != "None" and spec["type"] != "ExternalName":
        return [required("spec.ports")]
    return []


_Rule = Callable[[Obj, Obj | None], list[Cause]]
_RULES: dict[Kind, tuple[_Rule, ...]] = {
    POD: (_pod,),
    SERVICE: (_service,),
    DEPLOYMENT: (
        _counts("replicas", "minReadySeconds", "revisionHistoryLimit"),
        _empty_selector,
        _template,
        _fixed("selector"),
        _strategy,
        _deadline,
    ),
    REPLICA_SET: (_counts("replicas", "minReadySeconds"), _template, _fixed("selector")),
    STATEFUL_SET: (_counts("replicas", "minReadySeconds"), _template, _of_stateful_set),
    DAEMON_SET: (_counts("minReadySeconds"), _template, _fixed("selector")),
    BUDGET: (_budget,),
    AUTOSCALER: (_autoscaler,),
}
assert all(kind in _RULES for kind in WITH_POD_TEMPLATE)
