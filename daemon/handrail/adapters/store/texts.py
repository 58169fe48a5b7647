"""The JSON text of what intake appends; byte for byte what `canonical` makes of it.

Decides nothing. Thousands of alerts come in a second, and most of what is written of each is this text: the quick
writer does it, given the fields in order.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from handrail.adapters.store.journal import Said, said_event
from handrail.model.events import Event
from handrail.model.value import Value


def said_of(event: Event) -> Said:
    """What an event says; what the quick writer refuses goes the usual way."""
    try:
        return Said(event.kind, to_json(_ordered(event)).decode())
    except PydanticSerializationError:
        return said_event(event)


def _ordered(value: Any) -> Any:
    """Plain data with all keys in order. Texts come first, since nearly all are."""
    kind: Any = type(value)
    if kind is str or value is None:
        return value
    if kind is dict:
        return {key: _ordered(value[key]) for key in sorted(value)}
    if kind is tuple:
        return [_ordered(one) for one in value]
    if isinstance(value, Value):
        fields = value.__dict__
        return {name: _ordered(fields[name]) for name in _names(kind)}
    return value


@cache
def _names(kind: type[Value]) -> tuple[str, ...]:
    return tuple(sorted(kind.model_fields))
