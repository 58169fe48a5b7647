"""The JSON text of what intake appends; byte for byte what `canonical` makes of it.

Decides nothing. Thousands of alerts come in a second, and most of what is written of each is this text: the quick
writer does it, given the fields in order.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from handrail.adapters.store.journal import Said, said_event
from handrail.model.events import Event
from handrail.model.finding import Cause, Handling
from handrail.model.value import Value


def said_of(event: Event) -> Said:
    """What an event says; what the quick writer refuses goes the usual way."""
    try:
        return Said(event.kind, to_json(_ordered(event)).decode())
    except PydanticSerializationError:
        return said_event(event)


def _ordered(value: Any) -> Any:
    """Plain data with all keys in order. Most of it is texts, and maps of nothing else, which need no further look."""
    kind: Any = type(value)
    if kind is str or value is None:
        return value
    if kind is dict:
        in_order = dict(sorted(value.items()))
        if _TEXT.issuperset(map(type, in_order.values())):
            return in_order
        return {key: _ordered(said) for key, said in in_order.items()}
    if kind is tuple:
        return [_ordered(one) for one in value]
    if kind not in _NAMES:
        if not isinstance(value, Value):
            return value
        _NAMES[kind] = tuple(sorted(kind.model_fields))
    fields = value.__dict__
    return {name: said if type(said := fields[name]) in _WHOLE else _ordered(said) for name in _NAMES[kind]}


_TEXT = frozenset({str})
_WHOLE = frozenset({str, type(None), int, datetime, Cause, Handling})
"""Nothing is in them that could be out of order."""

_NAMES: dict[type[Value], tuple[str, ...]] = {}
