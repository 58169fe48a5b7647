"""Who an arriving alert is: its claimed target, its identity and its episode. Pure, and the same on every path.

An identity is never made from the name alone (keep #5370), nor from the sender's fingerprint, which changes with the
exporter's address (kubernetes-mixin #843). Pods of one workload stay apart here: only the API server knows their
owner, so merging is for gathering. An episode is one firing of one identity: one run, however often it is repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime

from handrail.model.alert import Alert
from handrail.model.arrival import Arrival
from handrail.model.detector import Detector, Watches, Window
from handrail.model.finding import Finding
from handrail.model.labels import STATE_METRICS, labelled_target, reported_by
from handrail.model.target import LabelledTarget

__all__ = ["arrival", "episode", "findings_of", "identity", "labelled_target"]

PIPELINE = frozenset(
    {
        "__replica__",
        "alertname",
        "cluster",
        "endpoint",
        "metrics_path",
        "prometheus",
        "prometheus_replica",
        "receive",
        "replica",
        "scheme",
        "thanos_replica",
    }
)
"""Labels that say how the sample came here, not what it is about (name and cluster are hashed by themselves)."""

EXPORTER = frozenset({"container", "instance", "job", "node", "pod", "sender_fingerprint", "service", "uid"})
"""Labels that may be the exporter's own, or are made of such; what they say about the object is in the target."""

GRADE = frozenset({"severity"})
"""A warning that becomes critical is the same thing, in another episode."""


def identity(alert: Alert, target: LabelledTarget | None, cluster: str) -> str:
    """SHA-256 of name, cluster and target; without a target, of the labels that do not churn.

    `cluster` stands in where the alert names none. The pod's UID and the container count: what is said about an
    older pod of the same name, or about its neighbour, is another story.
    """
    about = _words(target) if target else _stable(alert, target, GRADE)
    return _seal("identity", alert.name, alert.cluster or cluster, *about)


def episode(alert: Alert) -> str:
    """SHA-256 of name, target, stable labels and the start to the whole second (without one the message, or when it
    was seen)."""
    target = labelled_target(alert)
    return _episode(alert, target)


def findings_of(alert: Alert, detectors: Iterable[Detector], now: datetime) -> tuple[Finding, ...]:
    """What the detectors that alerts wake say of this one alone; the store's windows are not there yet."""
    window = Window(alerts=(alert,))
    woken = (detector for detector in detectors if Watches.ALERTS in detector.watches)
    return tuple(finding for detector in woken for finding in detector.detect(window, now, detector.Params()))


def arrival(alert: Alert, cluster: str, findings: tuple[Finding, ...]) -> Arrival:
    """What intake hands to the store. `cluster` is this daemon's own."""
    target = labelled_target(alert)
    return Arrival(
        alert=alert,
        target=target,
        findings=findings,
        identity=identity(alert, target, cluster),
        episode=_episode(alert, target),
    )


def _episode(alert: Alert, target: LabelledTarget | None) -> str:
    labels = _stable(alert, target, frozenset())
    return _seal("episode", alert.name, _since(alert), *_words(target), *labels)


def _since(alert: Alert) -> str:
    """Without a start, what is delivered twice is known by its message's own name, where it has one."""
    if alert.starts_at is None and alert.message:
        return alert.message
    return str(_whole_second(alert.starts_at or alert.seen_at))


def _seal(*words: str) -> str:
    """Each word with its length before it, so that no two lists of words are sealed alike."""
    return hashlib.sha256("".join(f"{len(word)}:{word}" for word in words).encode("utf-8", "surrogatepass")).hexdigest()


def _words(target: LabelledTarget | None) -> tuple[str, ...]:
    return (target.kind, target.namespace, target.name, target.uid, target.container) if target else ()


def _stable(alert: Alert, target: LabelledTarget | None, less: frozenset[str]) -> tuple[str, ...]:
    """Names and values, sorted by name. Without a target the exporter's labels are all that tells two things apart,
    unless they are known to churn."""
    churning = PIPELINE | less
    if target is not None or reported_by(alert.labels, STATE_METRICS):
        churning = churning | EXPORTER
    kept = sorted(item for item in alert.labels.items() if item[0] not in churning)
    return tuple(word for item in kept for word in item)


def _whole_second(at: datetime) -> int:
    """`timestamp()` of an aware time is right for any year; the sub-second part differs between replicas."""
    return int(at.timestamp() // 1)
