"""A parsed JSON document -> alerts, however it came: as a record's value, a log record's body, a CloudEvent's data.

Decides the format by its keys alone. OTLP is not among them: it is never inside of something else but a CloudEvent.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from handrail.decode import alertmanager, cloudevents, grafana, kubernetes_objects, plain
from handrail.decode.foreign import foreign
from handrail.decode.parts import Origin, Part, passed, refuse
from handrail.decode.sender import JSON, Said
from handrail.model.published import OWN
from handrail.model.reason import Reason, Refusal


class Shape(StrEnum):
    """What a document can be; the words are those of `Alert.wire`."""

    CLOUDEVENTS = "cloudevents"
    GRAFANA = "grafana"
    ALERTMANAGER = "alertmanager"
    KUBERNETES_EVENT = "kubernetes_objects"
    PLAIN = "json"
    OWN = "handrail"


NAMES = {
    Shape.CLOUDEVENTS: "a CloudEvent",
    Shape.GRAFANA: "a Grafana webhook",
    Shape.ALERTMANAGER: "an Alertmanager webhook",
    Shape.KUBERNETES_EVENT: "a Kubernetes event",
    Shape.PLAIN: "an alert as a JSON object",
    Shape.OWN: "an event of Handrail's own",
}


def shape_of(data: object, origin: Origin) -> Shape | None:
    """None: no decoder of ours reads it. The order matters: a mapping may name keys of any other format."""
    if _our_own(data):
        return Shape.OWN
    if cloudevents.structured(data):
        return Shape.CLOUDEVENTS
    if grafana.recognised(data):
        return Shape.GRAFANA
    if alertmanager.recognised(data):
        return Shape.ALERTMANAGER
    if kubernetes_objects.recognised(data):
        return Shape.KUBERNETES_EVENT
    return Shape.PLAIN if plain.recognised(data, origin.mapping) else None


def _our_own(data: object) -> bool:
    """What we published, come back by a way that keeps no headers. Never taken for an alert (keep #5111)."""
    return isinstance(data, dict) and data.get("origin") == OWN and "kind" in data and "seq" in data


def parts_of(data: object, shape: Shape, origin: Origin) -> Iterable[Part]:
    """One part per alert of a document of that shape; `origin` is that of whatever it came in."""
    within = origin.within(shape.value)
    if shape is Shape.OWN:
        return [passed(NAMES[shape])]
    if shape is Shape.ALERTMANAGER:
        return alertmanager.parts_of(data, within, origin.cluster)
    if shape is Shape.PLAIN or not isinstance(data, dict):
        return plain.parts_of(data, within, Said(own={}, names=JSON))
    if shape is Shape.GRAFANA:
        return grafana.parts_of(data, within)
    if shape is Shape.KUBERNETES_EVENT:
        return [kubernetes_objects.part_of(data, within)]
    event = cloudevents.opened(data)
    return [event] if isinstance(event, Refusal) else of_event(event, within)


def of_event(event: cloudevents.Event, origin: Origin) -> Iterable[Part]:
    """What a CloudEvent holds, as the format that it is. An event within an event is opened by nobody."""
    origin = origin._replace(message=event.message)
    inner = shape_of(event.data, origin)
    if inner is None or inner is Shape.CLOUDEVENTS:
        what = "another CloudEvent" if inner else foreign(event.data)
        return [refuse(Reason.UNKNOWN_FORMAT, f"a CloudEvent whose data is {what}")]
    if inner is not Shape.PLAIN:
        return parts_of(event.data, inner, origin)
    around = (event.attributes,)
    said = Said(own={}, names=JSON, around=around, event=event.state, trace_id=event.trace_id)
    return plain.parts_of(event.data, origin.within(inner.value), said)
