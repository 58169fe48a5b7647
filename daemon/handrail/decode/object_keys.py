"""OpenTelemetry's names of Kubernetes objects as labels, where an alert's own labels say nothing about them.

A resource describes whoever sent the record, which may be the collector: keys that contradict the alert's own
labels, or that don't share an object with them, are left alone (all but the cluster).
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.decode.text import text_of
from handrail.model.labels import OBJECT_LABELS

KEYS = {
    "k8s.cluster.name": "cluster",
    "k8s.namespace.name": "namespace",
    "k8s.deployment.name": "deployment",
    "k8s.statefulset.name": "statefulset",
    "k8s.daemonset.name": "daemonset",
    "k8s.pod.name": "pod",
    "k8s.pod.uid": "uid",
    "k8s.container.name": "container",
    "k8s.node.name": "node",
    "k8s.job.name": "job_name",
    "k8s.cronjob.name": "cronjob",
    "k8s.hpa.name": "horizontalpodautoscaler",
}
"""`k8s.job.name` is a Kubernetes Job: `job_name`, since the label `job` is Prometheus's scrape job."""


def with_object_keys(
    labels: dict[str, str], resource: Mapping[str, object], attributes: Mapping[str, object]
) -> dict[str, str]:
    """`labels`, filled up from the record's attributes first, then from the resource's."""
    keys = _keys(resource) | _keys(attributes)
    cluster = labels.get("cluster") or cluster_of(resource, attributes)
    own = {**labels, "cluster": cluster} if cluster else labels
    return {**keys, **own} if _same_object(labels, keys) else own


def cluster_of(resource: Mapping[str, object], attributes: Mapping[str, object]) -> str:
    """`k8s.cluster.name`, or `cluster` as the webhook receiver makes it of its query."""
    for key in ("k8s.cluster.name", "cluster"):
        text = text_of(attributes.get(key, "")) or text_of(resource.get(key, ""))
        if text:
            return text
    return ""


def _keys(holder: Mapping[str, object]) -> dict[str, str]:
    if KEYS.keys().isdisjoint(holder):
        return {}
    return {KEYS[key]: text for key, value in holder.items() if key in KEYS and (text := text_of(value))}


def _same_object(labels: Mapping[str, str], keys: Mapping[str, str]) -> bool:
    shared = [key for key in keys if key in labels and key != "cluster"]
    for key in shared:
        if labels[key] != keys[key]:
            return False
    return OBJECT_LABELS.isdisjoint(labels) or not OBJECT_LABELS.isdisjoint(shared)
