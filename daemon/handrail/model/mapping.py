"""A sender's own names for what makes an alert. OpenTelemetry has no convention for alerts, so nobody's is guessed.

Says only where to look; what is found there is believed as little as any other text of an alert.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from handrail.model.value import Value

MOST_DOTS = 8
OWN_KEYS = {"alertname": "name", "cluster": "cluster", "namespace": "namespace", "container": "container", "uid": "uid"}
"""Labels that have a key of their own in a mapping."""

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")


def _listed(value: object) -> object:
    """One name may stand for itself, without a list around it."""
    return (value,) if isinstance(value, str) else value


Words = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=256)], ...], BeforeValidator(_listed)]
"""One word, or several of which the first that is there counts."""


class AlertMapping(Value):
    """Ours -> theirs. Each name is an attribute's whole key, or a path with dots into maps ("detail.state.value").

    They are looked up in the log record's attributes, its resource and its body where that is a map; in a CloudEvent's
    data and then its attributes; and in a JSON object as it stands. They come before the names that are known anyway
    (`alert.name`, `alertname`, ...). `kind` and `object` go together: the Kubernetes kind and name of what is broken.
    """

    name: Words = ()
    status: Words = ()
    firing: Words = ("firing",)
    resolved: Words = ("resolved",)
    severity: Words = ()
    starts_at: Words = ()
    ends_at: Words = ()
    summary: Words = ()
    fingerprint: Words = ()
    cluster: Words = ()
    namespace: Words = ()
    kind: Words = ()
    object: Words = ()
    container: Words = ()
    uid: Words = ()
    labels: dict[str, Words] = {}

    @model_validator(mode="after")
    def _can_be_followed(self) -> AlertMapping:
        if bool(self.kind) != bool(self.object):
            raise ValueError("`kind` and `object` go together: the kind of what is broken and its name")
        both = {word.lower() for word in self.firing} & {word.lower() for word in self.resolved}
        if both:
            raise ValueError(f"{sorted(both)[0]!r} can't mean both firing and resolved")
        for label in self.labels:
            _check_label(label)
        deep = next((path for path in self._paths() if path.count(".") > MOST_DOTS), None)
        if deep:
            raise ValueError(f"{deep!r} has more than {MOST_DOTS} dots")
        return self

    def _paths(self) -> tuple[str, ...]:
        fields = set(type(self).model_fields) - {"labels", "firing", "resolved"}
        own = (path for field in fields for path in getattr(self, field))
        return (*own, *(path for paths in self.labels.values() for path in paths))


def _check_label(label: str) -> None:
    if label in OWN_KEYS:
        raise ValueError(f"`labels` can't set {label!r}: use the key `{OWN_KEYS[label]}`")
    if not _LABEL.fullmatch(label):
        raise ValueError(f"{label!r} in `labels` is no label's name: letters, digits and _, not beginning with a digit")


NO_MAPPING = AlertMapping()
