"""The JSON text of an alert, made once for its signal and for the journal; byte for byte what `canonical` makes of it.

Decides nothing. Thousands of alerts come in a second, and most of what is written of each is this text.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from handrail.adapters.store.journal import Said, said
from handrail.model.alert import Alert
from handrail.model.events import Event
from handrail.model.value import canonical

_FIELDS = tuple(sorted(Alert.model_fields))


def text_of(alert: Alert) -> str:
    """Its fields and its words in order, by the quick writer; what that refuses goes the usual way."""
    fields: dict[str, Any] = {name: getattr(alert, name) for name in _FIELDS}
    fields["labels"] = dict(sorted(alert.labels.items()))
    fields["annotations"] = dict(sorted(alert.annotations.items()))
    try:
        return to_json(fields).decode()
    except PydanticSerializationError:
        return said("alert", alert.model_dump(mode="json")).text


def said_of(event: Event, alert: str) -> Said:
    """What an event says that holds an alert, whose text is known. Of all its fields `alert` comes first."""
    rest = event.model_dump(mode="json", exclude={"alert"})
    return Said(event.kind, f'{{"alert":{alert},{canonical(rest)[1:]}')
