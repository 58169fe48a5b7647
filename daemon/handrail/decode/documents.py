"""A parsed JSON document -> alerts, however it came: as a record's value, a log record's body, a CloudEvent's data.

Decides the format by its keys alone. OTLP is not among them: it is never inside of something else but a CloudEvent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from handrail.decode import alertmanager, cloudevents, grafana, kubernetes_objects, plain
from handrail.decode.foreign import foreign
from handrail.decode.parts import Origin, Part, refuse
from handrail.decode.sender import JSON, Said
from handrail.model.reason import Reason, Refusal


class Shape(StrEnum):
    """What a document can be; the words are those of `Alert.wire`."""

    CLOUDEVENTS = "cloudevents"
    GRAFANA = "grafana"
    ALERTMANAGER = "alertmanager"
    KUBERNETES_EVENT = "kubernetes_objects"
    PLAIN = "json"


NAMES = {
    Shape.CLOUDEVENTS: "a CloudEvent",
    Shape.GRAFANA: "a Grafana webhook",
    Shape.ALERTMANAGER: "an Alertmanager webhook",
    Shape.KUBERNETES_EVENT: "a Kubernetes event",
    Shape.PLAIN: "an alert as a JSON object",
}


def shape_of(data: object, origin: Origin) -> Shape | None:
    """None: no decoder of ours reads it. The order matters: a mapping may name keys of any other format."""
    if cloudevents.structured(data):
        return Shape.CLOUDEVENTS
    if grafana.recognised(data):
        return Shape.GRAFANA
    if alertmanager.recognised(data):
        return Shape.ALERTMANAGER
    if kubernetes_objects.recognised(data):
        return Shape.KUBERNETES_EVENT
    return Shape.PLAIN if plain.recognised(data, origin.mapping) else None


def parts_of(data: object, shape: Shape, origin: Origin) -> Iterator[Part]:
    """One part per alert of a document of that shape; `origin` is that of whatever it came in."""
    within = origin.within(shape)
    match shape:
        case Shape.GRAFANA if isinstance(data, Mapping):
            yield from grafana.parts_of(data, within)
        case Shape.ALERTMANAGER:
            yield from alertmanager.parts_of(data, within, origin.cluster)
        case Shape.KUBERNETES_EVENT if isinstance(data, Mapping):
            yield kubernetes_objects.part_of(data, within)
        case Shape.CLOUDEVENTS if isinstance(data, Mapping):
            event = cloudevents.opened(data)
            yield from [event] if isinstance(event, Refusal) else of_event(event, within)
        case _:
            yield from plain.parts_of(data, within, Said(own={}, names=JSON))


def of_event(event: cloudevents.Event, origin: Origin) -> Iterator[Part]:
    """What a CloudEvent holds, as the format that it is. An event within an event is opened by nobody."""
    origin = origin._replace(message=event.message)
    inner = shape_of(event.data, origin)
    if inner is Shape.PLAIN:
        said = Said(
            own={},
            names=JSON,
            around=(event.attributes,),
            event=event.state,
            trace_id=event.trace_id,
        )
        yield from plain.parts_of(event.data, origin.within(inner), said)
    elif inner is None or inner is Shape.CLOUDEVENTS:
        what = "another CloudEvent" if inner else foreign(event.data)
        yield refuse(Reason.UNKNOWN_FORMAT, f"a CloudEvent whose data is {what}")
    else:
        yield from parts_of(event.data, inner, origin)
