"""How an incident leaves our hands other than repaired."""

from __future__ import annotations

from typing import Literal

from handrail.model.reason import Reason
from handrail.model.value import Value


class HandedOver(Value):
    kind: Literal["handed_over"] = "handed_over"
    reason: Reason
    detail: str


class Suppressed(Value):
    """Noise. `into` names the incident that goes on with it, where there is one."""

    kind: Literal["suppressed"] = "suppressed"
    reason: Reason
    detail: str
    into: str = ""
