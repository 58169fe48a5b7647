"""What names, label values and shares may look like."""

import re
from typing import Any

from .objects import Obj
from .status import Cause, wrong

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_PERCENT = re.compile(r"\d+%")
_ALPHANUMERIC = "must consist of lower case alphanumeric characters or '-', and must start and end with one"
NOT_NEGATIVE = "must be greater than or equal to 0"


def label(field: str, name: str) -> list[Cause]:
    """A name that may stand in one part of a DNS name."""
    if _LABEL.fullmatch(name) and len(name) <= 63:
        return []
    return [wrong(field, name, f"a lowercase RFC 1123 label {_ALPHANUMERIC}")]


def subdomain(field: str, name: str) -> list[Cause]:
    if _SUBDOMAIN.fullmatch(name) and len(name) <= 253:
        return []
    return [wrong(field, name, f"a lowercase RFC 1123 subdomain {_ALPHANUMERIC}")]


def values(field: str, labels: Obj | None) -> list[Cause]:
    """The values of labels, or of what selects by them."""
    return [
        wrong(field, value, "a valid label must be an empty string or consist of alphanumeric characters")
        for value in (labels or {}).values()
        if not _LABEL_VALUE.fullmatch(str(value)) or len(str(value)) > 63
    ]


def share(field: str, value: Any) -> list[Cause]:
    """A number of pods or a percentage of them."""
    if isinstance(value, str) and not _PERCENT.fullmatch(value):
        return [wrong(field, value, "a valid percent string must be a numeric string followed by an ending '%'")]
    if isinstance(value, int) and value < 0:
        return [wrong(field, value, NOT_NEGATIVE)]
    return []
