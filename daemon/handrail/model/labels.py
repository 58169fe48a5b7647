"""Which Kubernetes object an alert's labels claim is broken. Pure, and only a claim: the API server confirms it.

Decides from labels alone and never by cutting a name apart. An exporter's own
`pod`, `container`, `instance` and `namespace` must never become the target (kubernetes-mixin #728, helm-charts #1368,
prometheus-operator #2963): hence the rules and their order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from handrail.model.alert import Alert
from handrail.model.remembered import Remembered
from handrail.model.target import LabelledTarget
from handrail.model.trusted import trusted

POD_ALERTS = frozenset({"KubePodCrashLooping", "KubePodNotReady", "KubeContainerWaiting"})
"""Alerts whose `pod` label is the sick pod although kube-state-metrics reports it."""

WORKLOAD_LABELS = {
    "deployment": "Deployment",
    "statefulset": "StatefulSet",
    "daemonset": "DaemonSet",
}

NAMESPACED_LABELS = {
    **WORKLOAD_LABELS,
    "job_name": "Job",
    "cronjob": "CronJob",
    "horizontalpodautoscaler": "HorizontalPodAutoscaler",
    "persistentvolumeclaim": "PersistentVolumeClaim",
    "poddisruptionbudget": "PodDisruptionBudget",
    "resourcequota": "ResourceQuota",
}
"""Label -> kind, in the order in which they are believed. `job` is the scrape job and never here."""

_OWNERS = frozenset(NAMESPACED_LABELS)

OBJECT_LABELS = frozenset({*NAMESPACED_LABELS, "pod", "node", "persistentvolume"})
"""Labels that name an object at all."""

KIND_LABELS = {
    **{kind.lower(): label for label, kind in NAMESPACED_LABELS.items()},
    "pod": "pod",
    "node": "node",
    "persistentvolume": "persistentvolume",
}
"""Lower-case kind -> the label that names an object of it."""

STATE_REASON = "grafana_state_reason"
BLIND_NAMES = ("DatasourceNoData", "DatasourceError")
BLIND_REASONS = ("NoData", "Error")
"""Grafana's words for an alert about missing data: what labels it has are those of the rule, not of an object."""

STATE_METRICS = "kube-state-metrics"
NODE_EXPORTER = "node-exporter"
KUBELET, CADVISOR = "kubelet", "cadvisor"
"""Scrape jobs that report on pods, the exporters' own pods among them."""


@dataclass(slots=True, eq=False)
class Claim:
    """What an alert's name and labels claim. While it is remembered, one object for all alerts that say the same:
    `known` is for whoever works out more from the same words, and is forgotten with them."""

    target: LabelledTarget | None
    known: object = None


_last: tuple[Alert | None, Claim] = (None, Claim(None))
"""The alert that was asked about last: every detector asks about the one that has just come. Alerts are frozen."""

_claims: Remembered[tuple[object, ...], Claim] = Remembered(16 * 1024 * 1024)
"""Alerts repeat: by all that a claim is made from."""

_target = trusted(LabelledTarget)

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")
_UID = re.compile(r"[0-9a-fA-F-]{8,64}")
_PORT = re.compile(r":\d{1,5}$")


def labelled_target(alert: Alert) -> LabelledTarget | None:
    """The claimed object, or None: no label names one, or they name several, or a name is no Kubernetes name."""
    return claim(alert).target


def claim(alert: Alert) -> Claim:
    """As `labelled_target`, as one object for all that say the same name and labels."""
    global _last
    known, found = _last
    if known is not alert:
        found = _claim(alert)
        _last = alert, found
    return found


def _claim(alert: Alert) -> Claim:
    labels = alert.labels
    said = (alert.name, alert.annotations.get(STATE_REASON, ""), *labels, *labels.values())
    found = _claims.get(said)
    if found is None:
        found = Claim(_labelled_target(alert))
        if _claims.recurs(said):
            _claims.keep(said, found, 2048 + 8 * (sum(map(len, labels)) + sum(map(len, labels.values()))))
    return found


def _labelled_target(alert: Alert) -> LabelledTarget | None:
    labels = alert.labels
    if _blind(alert):
        return None
    pod = _pod(alert.name, labels)
    if pod is not None and alert.name in POD_ALERTS:
        return pod
    owners = _OWNERS.intersection(labels)
    if owners and _ambiguous(labels):
        return None
    owned = _owned_kind(labels) if owners else None
    return owned or _node_of_exporter(labels) or pod or _cluster_wide(labels) or _service(alert)


def _blind(alert: Alert) -> bool:
    """grafana #73088, #101936: the object's labels vanish, the rule's own stay."""
    return alert.name in BLIND_NAMES or alert.annotations.get(STATE_REASON, "").startswith(BLIND_REASONS)


def reported_by(labels: Mapping[str, str], exporter: str) -> bool:
    """True where the sample was scraped from that exporter, so `pod`, `instance` and their like may be its own."""
    get = labels.get
    job, container = get("job", ""), get("container", "")
    if KUBELET in job or CADVISOR in job:
        return False
    if exporter in job or exporter in container or exporter in get("pod", "") or exporter in get("service", ""):
        return True
    return exporter == STATE_METRICS and container == "kube-rbac-proxy-main"


def _ambiguous(labels: Mapping[str, str]) -> bool:
    """Two workloads in one alert: no order between them is right."""
    return sum(bool(labels.get(key)) for key in WORKLOAD_LABELS) > 1


def _namespace(labels: Mapping[str, str]) -> str:
    """A scrape without honor_labels moves the metric's own namespace to `exported_namespace`."""
    return labels.get("exported_namespace") or labels.get("namespace", "")


def _pod(alert: str, labels: Mapping[str, str]) -> LabelledTarget | None:
    moved = labels.get("exported_pod", "")
    if moved:
        return _namespaced("Pod", moved, labels, container=labels.get("exported_container", ""))
    if not labels.get("pod") or not _pod_is_the_metrics_own(alert, labels):
        return None
    return _namespaced("Pod", labels["pod"], labels, container=labels.get("container", ""))


def _pod_is_the_metrics_own(alert: str, labels: Mapping[str, str]) -> bool:
    """Not the exporter's: the alert is one of those about pods, or the metric is (only `kube_pod_*` carry `uid`)."""
    if alert in POD_ALERTS:
        return True
    if reported_by(labels, NODE_EXPORTER):
        return False
    if not reported_by(labels, STATE_METRICS):
        return True
    own = (labels["pod"], labels.get("container", ""))
    return "uid" in labels and not any(STATE_METRICS in name for name in own)


def _owned_kind(labels: Mapping[str, str]) -> LabelledTarget | None:
    key = next((key for key in NAMESPACED_LABELS if labels.get(key)), None)
    return _namespaced(NAMESPACED_LABELS[key], labels[key], labels) if key else None


def _node_of_exporter(labels: Mapping[str, str]) -> LabelledTarget | None:
    """node-exporter's `instance` is a node's name or address, with or without a port."""
    if not reported_by(labels, NODE_EXPORTER):
        return None
    return _at_large("Node", labels.get("node") or _PORT.sub("", labels.get("instance", "")).strip("[]"))


def _cluster_wide(labels: Mapping[str, str]) -> LabelledTarget | None:
    volume = labels.get("persistentvolume", "")
    return _at_large("PersistentVolume", volume) if volume else _at_large("Node", labels.get("node", ""))


def _service(alert: Alert) -> LabelledTarget | None:
    """Everywhere else `service` is how the exporter was found."""
    name = alert.labels.get("service", "") if alert.name == "TargetDown" else ""
    return _namespaced("Service", name, alert.labels)


def _namespaced(kind: str, name: str, labels: Mapping[str, str], container: str = "") -> LabelledTarget | None:
    namespace = _namespace(labels)
    if not _is_name(name) or not _is_name(namespace):
        return None
    uid = labels.get("uid", "") if kind == "Pod" else ""
    return _target(
        kind=kind,
        namespace=namespace,
        name=name,
        uid=uid if _UID.fullmatch(uid) else "",
        container=container if _is_name(container) else "",
    )


@lru_cache(maxsize=1024)
def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def _at_large(kind: str, name: str) -> LabelledTarget | None:
    """A kind without a namespace. A node's address (also IPv6) may stand for its name."""
    known = _is_name(name) or re.fullmatch(r"[0-9a-f:]{2,45}", name)
    return _target(kind=kind, namespace="", name=name) if known else None
