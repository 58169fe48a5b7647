"""Which objects are refused, and with which causes (422 Invalid).

Pure: an object, complete with its defaults, and what it replaces -> causes. It covers what a remediation can get
wrong about workloads, not all that Kubernetes checks; a body that passes here may still fail on a real cluster.
"""

from collections.abc import Callable

from . import names, validate_pods
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

_DNS_LABELS = (NAMESPACE, SERVICE)
_IMMUTABLE = "field is immutable"
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
    if not name:
        found = [required("metadata.name", "name or generateName is required")]
    else:
        found = (names.label if kind in _DNS_LABELS else names.subdomain)("metadata.name", name)
    return found + names.values("metadata.labels", meta(obj).get("labels"))


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
    found += names.values("spec.template.labels", labels)
    found += validate_pods.of_spec(at(spec, "template", "spec", default={}), "spec.template.spec")
    if at(spec, "template", "spec", "restartPolicy") != "Always":
        value = at(spec, "template", "spec", "restartPolicy")
        found.append(unsupported("spec.template.spec.restartPolicy", value, ("Always",)))
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
        return [wrong(f"spec.{field}", value, names.NOT_NEGATIVE) for field, value in values if value < 0]

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
    rolling = strategy.get("rollingUpdate") or {}
    if strategy["type"] == "Recreate" and rolling:
        detail = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden_change("spec.strategy.rollingUpdate", detail)]
    field = "spec.strategy.rollingUpdate"
    if found := [cause for key, value in rolling.items() for cause in names.share(f"{field}.{key}", value)]:
        return found
    if rolling and {str(value) for value in rolling.values()} <= {"0", "0%"}:
        detail = "may not be 0 when `maxSurge` is 0"
        return [wrong(f"{field}.maxUnavailable", rolling["maxUnavailable"], detail)]
    return []


def _deadline(obj: Obj, before: Obj | None) -> list[Cause]:
    deadline, ready = obj["spec"]["progressDeadlineSeconds"], obj["spec"].get("minReadySeconds", 0)
    if deadline > ready:
        return []
    return [wrong("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")]


def _pod(obj: Obj, before: Obj | None) -> list[Cause]:
    found = validate_pods.of_spec(obj["spec"], "spec")
    return found if before is None else found + validate_pods.of_update(obj["spec"], before["spec"])


def _budget(obj: Obj, before: Obj | None) -> list[Cause]:
    spec = obj["spec"]
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        return [wrong("spec", spec, "minAvailable and maxUnavailable cannot be both set")]
    shares = (names.share(f"spec.{key}", spec.get(key)) for key in ("minAvailable", "maxUnavailable"))
    return [cause for found in shares for cause in found]


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
