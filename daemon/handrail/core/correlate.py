"""Who an arriving alert is: its claimed target, its identity and its episode. Pure, and the same on every path.

An identity is never made from the name alone (keep #5370), nor from the sender's fingerprint, which changes with the
exporter's address (kubernetes-mixin #843). Pods of one workload stay apart here: only the API server knows their
owner, so merging is for gathering. An episode is one firing of one identity: one run, however often it is repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from pydantic import BaseModel

from handrail.model.alert import Alert
from handrail.model.arrival import Arrival
from handrail.model.detector import Detector, Watches, Window
from handrail.model.finding import Finding
from handrail.model.labels import STATE_METRICS, claim, labelled_target, reported_by
from handrail.model.occurrence import is_event, occurrence
from handrail.model.target import LabelledTarget
from handrail.model.trusted import trusted

__all__ = ["arrival", "episode", "findings_of", "identity", "labelled_target", "woken"]

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

_BETWEEN = "\x1f"

_ALL_CHURNING = PIPELINE | EXPORTER

_window, _arrival = trusted(Window), trusted(Arrival)


def identity(alert: Alert, target: LabelledTarget | None, cluster: str) -> str:
    """SHA-256 of name, cluster and target; without a target, of the labels that do not churn.

    `cluster` stands in where the alert names none. The pod's UID and the container count: what is said about an
    older pod of the same name, or about its neighbour, is another story.
    """
    return _identity(alert, target, cluster, _stable(alert, target))


def episode(alert: Alert) -> str:
    """SHA-256 of name, target, stable labels and the start to the whole second (without one the message, or when it
    was seen)."""
    target = labelled_target(alert)
    return _episode(alert, target, _stable(alert, target))


class Woken(NamedTuple):
    """A detector that alerts wake, with its parameters."""

    detect: Callable[[Window, datetime, BaseModel], tuple[Finding, ...]]
    params: BaseModel


def woken(detectors: Iterable[Detector]) -> tuple[Woken, ...]:
    """Those that an alert wakes."""
    return tuple(Woken(each.detect, each.Params()) for each in detectors if Watches.ALERTS in each.watches)


def findings_of(alert: Alert, awake: Iterable[Woken], now: datetime) -> tuple[Finding, ...]:
    """What the detectors that are `woken` say of this alert alone."""
    window = _window(alerts=(alert,))
    found: list[Finding] = []
    for detect, params in awake:
        found += detect(window, now, params)
    return tuple(found)


def arrival(alert: Alert, cluster: str, findings: tuple[Finding, ...]) -> Arrival:
    """What intake hands to the store. `cluster` is this daemon's own."""
    who, since = _who(alert, cluster), _since(alert)
    if who.since != since:
        who.since, who.episode = since, _seal(["episode", alert.name, since, *who.lasting])
    return _arrival(alert=alert, target=who.target, findings=findings, identity=who.identity, episode=who.episode)


class _Who:
    """What alerts of one name and one set of labels have in common, and the episode of the last of them."""

    __slots__ = ("cluster", "episode", "identity", "lasting", "since", "target")

    def __init__(self, alert: Alert, target: LabelledTarget | None, cluster: str) -> None:
        stable = _stable(alert, target)
        self.target, self.cluster = target, cluster
        self.identity, self.lasting = _identity(alert, target, cluster, stable), _lasting(target, stable)
        self.since = self.episode = ""


def _who(alert: Alert, cluster: str) -> _Who:
    """Remembered with the claim, whose words are all that it is made of but for the cluster."""
    claimed, named = claim(alert), alert.cluster or cluster
    known = claimed.known
    if type(known) is _Who and known.cluster == named:
        return known
    who = claimed.known = _Who(alert, claimed.target, named)
    return who


Labels = list[tuple[str, str]]
"""Names and values, sorted by name."""


def _identity(alert: Alert, target: LabelledTarget | None, cluster: str, stable: Labels) -> str:
    about = _words(target) if target else [word for item in stable if item[0] not in GRADE for word in item]
    return _seal(["identity", alert.name, alert.cluster or cluster, *about])


def _episode(alert: Alert, target: LabelledTarget | None, stable: Labels) -> str:
    return _seal(["episode", alert.name, _since(alert), *_lasting(target, stable)])


def _lasting(target: LabelledTarget | None, stable: Labels) -> list[str]:
    """What an episode is known by, beside its name and its start."""
    about = _words(target) if target else ()
    return [*about, *chain.from_iterable(stable)]


def _since(alert: Alert) -> str:
    """Without a start, what is delivered twice is known by its message's own name, where it has one. A Kubernetes event
    that occurs again is the same episode with a higher count."""
    if alert.starts_at is None and alert.message:
        return occurrence(alert).uid if is_event(alert) else alert.message
    return str(_whole_second(alert.starts_at or alert.seen_at))


def _seal(words: list[str]) -> str:
    """No two lists of words are sealed alike: where a word holds what stands between them, their lengths come first
    (told by the mark before them, since the first word is never empty)."""
    joined = _BETWEEN.join(words)
    if joined.count(_BETWEEN) >= len(words):
        joined = f"{_BETWEEN}{','.join(map(str, map(len, words)))}:{joined}"
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()


def _words(target: LabelledTarget) -> tuple[str, ...]:
    return (target.kind, target.namespace, target.name, target.uid, target.container)


def _stable(alert: Alert, target: LabelledTarget | None) -> Labels:
    """Without a target the exporter's labels are all that tells two things apart, unless they are known to churn."""
    exporters = target is not None or reported_by(alert.labels, STATE_METRICS)
    churning = _ALL_CHURNING if exporters else PIPELINE
    return sorted([item for item in alert.labels.items() if item[0] not in churning])


def _whole_second(at: datetime) -> int:
    """`timestamp()` of an aware time is right for any year; the sub-second part differs between replicas."""
    return int(at.timestamp() // 1)
