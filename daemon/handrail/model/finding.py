"""What a detector says: this is wrong, with this object, for this cause, and how sure that is."""

from __future__ import annotations

from enum import StrEnum

from handrail.model.target import LabelledTarget
from handrail.model.value import Value


class Handling(StrEnum):
    """What may follow: a plan with steps, a diagnosis for a person only, or nothing at all."""

    APPROVE = "approve"
    DIAGNOSE = "diagnose"
    IGNORE = "ignore"


class Cause(StrEnum):
    """Closed list: runbooks choose by it, the model cites it, the report counts it."""

    BAD_REVISION_CRASHES = "bad_revision_crashes"
    BAD_REVISION_IMAGE = "bad_revision_image"
    BAD_REVISION_STUCK = "bad_revision_stuck"
    CRASH_LOOP = "crash_loop"
    IMAGE_PULL = "image_pull"
    NOT_READY = "not_ready"
    ROLLOUT_STUCK = "rollout_stuck"
    SCALED_DOWN = "scaled_down"
    OUT_OF_MEMORY = "out_of_memory"
    CAPACITY = "capacity"
    POD_DEADLOCKED = "pod_deadlocked"
    EVICTED_CORPSES = "evicted_corpses"
    ROLLOUT_PAUSED = "rollout_paused"
    NODE_NOT_READY = "node_not_ready"
    NODE_CORDONED = "node_cordoned"
    HPA_AT_MAX = "hpa_at_max"
    HPA_BLIND = "hpa_blind"
    NODE_PRESSURE = "node_pressure"
    CREATION_BLOCKED = "creation_blocked"
    VOLUME_FILLING = "volume_filling"
    VOLUME_PENDING = "volume_pending"
    JOB_FAILED = "job_failed"
    SIGNAL_GONE = "signal_gone"
    MONITORING_GONE = "monitoring_gone"
    CONTROL_PLANE_SICK = "control_plane_sick"
    ALERT_STORM = "alert_storm"
    OTHER = "other"


class Finding(Value):
    """`corroborated` is True only where the Kubernetes API or a metric shows the cause, not text alone.

    `facts` are typed values that the API gave (revision numbers, counts, reasons), never free text of the world.
    """

    detector: str
    cause: Cause
    handling: Handling
    target: LabelledTarget | None
    severity: str = "warning"
    summary: str
    corroborated: bool = False
    facts: dict[str, str | int | bool] = {}
