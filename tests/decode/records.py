"""Records for the decoder's tests: example files, and small alerts built in place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from handrail.decode import decode
from handrail.model.alert import Alert
from handrail.model.record import Decoded, Record

EXAMPLES = Path(__file__).parent / "examples"
AT = datetime(2026, 3, 2, 9, 45, tzinfo=UTC)


def record(value: bytes | None, headers: tuple[tuple[str, bytes], ...] = (), at: datetime = AT) -> Record:
    return Record(topic="alerts", partition=0, offset=7, value=value, headers=headers, at=at)


def decoded(value: object, **how: Any) -> Decoded:
    """The decoding of bytes, or of anything JSON can say."""
    return decode(record(value if isinstance(value, bytes) else json.dumps(value).encode()), **how)


def example(name: str) -> bytes:
    return (EXAMPLES / name).read_bytes()


def webhook(*alerts: object, **over: object) -> dict[str, Any]:
    """An Alertmanager webhook of version 4."""
    return {
        "version": "4",
        "groupKey": "{}:{}",
        "status": "firing",
        "receiver": "handrail",
        "alerts": [*alerts],
        **over,
    }


def fired(labels: dict[str, Any] | None = None, **over: object) -> dict[str, Any]:
    """One alert of a webhook, firing."""
    return {
        "status": "firing",
        "labels": {"alertname": "KubeDeploymentReplicasMismatch", "namespace": "shop", "deployment": "checkout"}
        if labels is None
        else labels,
        "annotations": {},
        "startsAt": "2026-03-02T09:30:30.123Z",
        "endsAt": "0001-01-01T00:00:00Z",
        **over,
    }


def attributes(pairs: Mapping[str, object]) -> list[dict[str, object]]:
    """OTLP JSON attributes of plain values."""
    return [{"key": key, "value": any_value(value)} for key, value in pairs.items()]


def any_value(value: object) -> dict[str, object]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case dict():
            return {"kvlistValue": {"values": attributes(value)}}
        case list():
            return {"arrayValue": {"values": [any_value(item) for item in value]}}
        case None:
            return {}
        case _:
            return {"stringValue": value}


def log(pairs: Mapping[str, object], **over: object) -> dict[str, object]:
    """One OTLP log record."""
    return {"observedTimeUnixNano": "1772443860123456789", "attributes": attributes(pairs), **over}


def logs(*records: object, resource: Mapping[str, object] | None = None) -> dict[str, object]:
    """An OTLP JSON batch."""
    scope = {"scope": {"name": "alert-gateway"}, "logRecords": list(records)}
    return {"resourceLogs": [{"resource": {"attributes": attributes(resource or {})}, "scopeLogs": [scope]}]}


def alert(labels: dict[str, str], name: str = "", **over: Any) -> Alert:
    """An alert as the decoder would make it."""
    fields = {"name": name or labels.get("alertname", "Something"), "status": "firing", "wire": "alertmanager"}
    return Alert(labels=labels, seen_at=AT, cluster=labels.get("cluster", ""), **{**fields, **over})
