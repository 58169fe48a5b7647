"""Alerts in OTLP traces: spans that ended in an error with an exception. A hint for a person, never a state.

A span says that something failed once. It has no end that could be told, so nothing here is ever resolved, and its
name is in no table of rules, so that it is diagnosed and never acted on by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from handrail.decode.object_keys import with_object_keys
from handrail.decode.otlp_values import (
    inner,
    items,
    json_attributes,
    known_only,
    number_of,
    proto_attributes,
    trace_id_of,
)
from handrail.decode.parts import Origin, Part, passed, refuse
from handrail.decode.text import clean, text_of, words_of
from handrail.model.alert import made
from handrail.model.reason import Reason

NAME = "Span with exception"
ERROR = 2
"""Status code of a span that failed."""

LAST_FIELD = 16
"""Highest field number of Span (flags)."""

MAX_EVENTS = 128

Attributes = dict[str, object]


class Span(NamedTuple):
    """A failed span; `exception` holds the attributes of its last exception, or None where it has none."""

    name: str
    trace_id: str
    span_id: str
    status: str
    exception: Attributes | None


def from_protobuf(data: TracesData, origin: Origin) -> Iterator[Part]:
    """One part per span."""
    within = origin.within("traces")
    for resource_spans in data.resource_spans:
        resource = proto_attributes(resource_spans.resource.attributes)
        for scope in resource_spans.scope_spans:
            for span in scope.spans:
                if not known_only(span, LAST_FIELD):
                    yield refuse(Reason.WRONG_SIGNAL, "OTLP logs or metrics where traces were expected")
                elif span.status.code != ERROR:
                    yield passed("a span without an error")
                else:
                    events = list(span.events)[:MAX_EVENTS]
                    thrown = [proto_attributes(event.attributes) for event in events if event.name == "exception"]
                    ids = trace_id_of(span.trace_id.hex()), span.span_id.hex()
                    failed = Span(span.name, *ids, span.status.message, thrown[-1] if thrown else None)
                    yield _of_span(failed, resource, within)


def from_json(data: Mapping[str, object], origin: Origin) -> Iterator[Part]:
    """As `from_protobuf`, of parsed OTLP JSON."""
    within = origin.within("traces")
    for resource_spans in items(data, "resourceSpans"):
        if not isinstance(resource_spans, dict):
            yield refuse(Reason.MALFORMED, "an entry of resourceSpans is no object")
            continue
        resource = json_attributes(inner(resource_spans, "resource"))
        for scope in items(resource_spans, "scopeSpans"):
            for span in items(scope, "spans"):
                yield _of_json(span, resource, within)


def _of_json(span: object, resource: Attributes, origin: Origin) -> Part:
    if not isinstance(span, dict):
        return refuse(Reason.MALFORMED, "a span is no object")
    status = inner(span, "status")
    if number_of(status.get("code")) != ERROR:
        return passed("a span without an error")
    events = [event for event in items(span, "events")[:MAX_EVENTS] if isinstance(event, dict)]
    thrown = [json_attributes(event) for event in events if event.get("name") == "exception"]
    failed = Span(
        name=text_of(span.get("name")),
        trace_id=trace_id_of(span.get("traceId")),
        span_id=text_of(span.get("spanId")).lower(),
        status=text_of(status.get("message")),
        exception=thrown[-1] if thrown else None,
    )
    return _of_span(failed, resource, origin)


def _of_span(span: Span, resource: Attributes, origin: Origin) -> Part:
    """The same span delivered twice is one message; another span is another episode of the same identity."""
    if span.exception is None:
        return passed("a failed span without an exception")
    thrown = text_of(span.exception.get("exception.type"))
    labels = words_of({"service": resource.get("service.name"), "span": span.name, "exception_type": thrown})
    labels = with_object_keys(labels, resource, {})
    said = text_of(span.exception.get("exception.message")) or span.status
    return made(
        name=NAME,
        status="firing",
        labels=labels,
        annotations={"summary": clean(f"{clean(span.name)}: {thrown} {said}".strip())},
        seen_at=origin.at,
        cluster=labels.get("cluster", "") or origin.cluster,
        severity="error",
        wire=origin.wire,
        trace_id=span.trace_id,
        message=clean(f"{span.trace_id} {span.span_id}".strip(), 64),
    )
