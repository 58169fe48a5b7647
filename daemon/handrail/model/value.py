"""The base of every journalled value: frozen, closed to unknown fields, with one canonical JSON form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

Raw = dict[str, Any]
"""A Kubernetes object as the API server sent it. Never mutated: typed reads drop unknown fields."""


class Value(BaseModel):
    """An immutable value; an unknown field is an error, since a build must not act on what it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


quoted: Callable[[str], str] = json.encoder.encode_basestring
"""As `canonical`, of a text alone."""


def canonical(data: object) -> str:
    """One JSON text for equal data: sorted keys, no spaces, UTF-8 kept."""
    return _encode(data)


def digest(data: object) -> str:
    """SHA-256 (hex) of the canonical JSON of plain data, or of a Value's."""
    plain = data.model_dump(mode="json") if isinstance(data, BaseModel) else data
    return hashlib.sha256(canonical(plain).encode()).hexdigest()


def moment(text: object) -> datetime | None:
    """A Kubernetes timestamp (RFC 3339, UTC); None where there is none or it is unreadable."""
    try:
        time = datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time
