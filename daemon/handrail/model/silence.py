"""What Alertmanager alone knows of alerts: which are silenced, by whom until when, and which are inhibited."""

from __future__ import annotations

from datetime import datetime

from handrail.model.value import Value


class Standing(Value):
    """One alert that fires there. `silences` are ids, `inhibited_by` other alerts' fingerprints, `muted_by` names of
    time intervals."""

    labels: dict[str, str]
    silences: tuple[str, ...] = ()
    inhibited_by: tuple[str, ...] = ()
    muted_by: tuple[str, ...] = ()

    @property
    def suppressed(self) -> bool:
        return bool(self.silences or self.inhibited_by or self.muted_by)


class Silence(Value):
    """`by` and `comment` are what somebody typed: hostile and bounded."""

    id: str
    by: str
    comment: str
    until: datetime
