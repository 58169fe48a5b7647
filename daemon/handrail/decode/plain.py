"""One alert as a JSON object of its sender's own making: `alertname`, or the name that the configuration maps.

This is what templated webhooks and the data of CloudEvents look like. Decides only whether an object names an alert.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from handrail.decode.parts import Origin, Part, refuse
from handrail.decode.sender import JSON, Said, alert_of, find
from handrail.decode.text import text_of
from handrail.model.mapping import AlertMapping
from handrail.model.reason import Reason

Context = Mapping[str, object]
NO_CONTEXT: Context = {}


def recognised(data: object, mapping: AlertMapping) -> bool:
    """An object that names an alert, or a list with one in it."""
    if isinstance(data, list):
        return any(isinstance(item, dict) and recognised(item, mapping) for item in data)
    if not isinstance(data, dict):
        return False
    labels = data.get(JSON.labels)
    named = isinstance(labels, dict) and labels.get("alertname")
    return bool(named) or any(isinstance(data.get(key), str) for key in JSON.name) or _mapped(data, mapping)


def parts_of(data: object, origin: Origin, said: Said) -> Iterator[Part]:
    """One part per object of what was `recognised`; `said` has what stands around it."""
    for item in data if isinstance(data, list) else [data]:
        if isinstance(item, dict):
            part = alert_of(said._replace(own=item), origin)
            yield part or refuse(Reason.NO_ALERT_NAME, "names no alert")
        else:
            yield refuse(Reason.MALFORMED, f"an alert is a JSON object, not {type(item).__name__}")


def _mapped(data: Context, mapping: AlertMapping) -> bool:
    return any(text_of(find(data, path)) for path in mapping.name)
