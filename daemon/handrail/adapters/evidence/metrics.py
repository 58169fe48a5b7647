"""The last half hour in numbers: how many pods were ready, how often containers restarted. One query, said briefly."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from itertools import groupby

from handrail.adapters.evidence.pieces import Origin, piece
from handrail.adapters.prometheus import Prometheus, Series
from handrail.model.evidence import Piece, Trust
from handrail.model.workload import Workload

WINDOW = timedelta(minutes=30)
STEP = 60
MOST_PODS = 50
READY = {
    "Deployment": ("kube_deployment_status_replicas_ready", "deployment"),
    "StatefulSet": ("kube_statefulset_status_replicas_ready", "statefulset"),
    "DaemonSet": ("kube_daemonset_status_number_ready", "daemonset"),
    "ReplicaSet": ("kube_replicaset_status_ready_replicas", "replicaset"),
}
"""kube-state-metrics' name of the series and of its label, by kind."""


async def metrics(prometheus: Prometheus, workload: Workload, now: datetime) -> Piece | None:
    """None where Prometheus knows nothing of it. Raises Transient, Permanent."""
    query = query_for(workload)
    if not query:
        return None
    found = await prometheus.range(query, now - WINDOW, now, STEP)
    if not found:
        return None
    text = "\n".join((f"one value a minute up to {now:%Y-%m-%d %H:%M} UTC, oldest first", *map(_line, found)))
    title = f"{workload.ref}: ready pods and restarts in the last 30 minutes"
    return piece(Origin("metrics", "prometheus: kube-state-metrics", now, Trust.METRIC), title, text)


def query_for(workload: Workload) -> str:
    """One query for both series; its names come from the API server, not from the alert. "" for other kinds."""
    ref = workload.ref
    if ref.kind not in READY:
        return ""
    name, label = READY[ref.kind]
    ready = f"max({name}{{namespace={_quoted(ref.namespace)},{label}={_quoted(ref.name)}}})"
    parts = [f'label_replace({ready}, "what", "ready pods", "", "")']
    pods = "|".join(_exact(p["metadata"]["name"]) for p in workload.pods[:MOST_PODS])
    if pods:
        selector = f"namespace={_quoted(ref.namespace)},pod=~{_quoted(pods)}"
        each = f"max by (pod, container) (kube_pod_container_status_restarts_total{{{selector}}})"
        parts.append(f'label_replace(sum({each}), "what", "restarts of its present pods", "", "")')
    return " or ".join(parts)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _exact(name: str) -> str:
    """A Kubernetes name as a regular expression: of its characters only the dot means something."""
    return name.replace(".", "\\.")


def _line(series: Series) -> str:
    shown = []
    for value, same in groupby(_number(value) for _, value in series.points):
        times = len(list(same))
        shown.append(value if times == 1 else f"{value} ({times} times)")
    return f"{series.labels.get('what', 'value')}: {', '.join(shown)}"


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "none"
    return f"{value:.0f}" if value == round(value) else f"{value:.3g}"
