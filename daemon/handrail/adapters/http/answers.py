"""What a sender of alerts hears: JSON to webhooks, and OTLP's own messages to OTLP, in the encoding that it spoke.

OTLP wants an ExportLogsServiceResponse for what was taken, and google.rpc.Status for what was not (specification,
"OTLP/HTTP Response").
"""

from __future__ import annotations

from aiohttp import web
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsPartialSuccess, ExportLogsServiceResponse

from handrail.model.doors import LOGS, path_of
from handrail.model.reason import Refusal
from handrail.model.record import Received

JSON, PROTOBUF = "application/json", "application/x-protobuf"
CODES = {400: 3, 401: 16, 413: 3, 415: 3, 503: 14}
"""google.rpc.Code: INVALID_ARGUMENT, UNAUTHENTICATED, UNAVAILABLE."""


def accepted(request: web.Request, received: Received) -> web.Response:
    """200: what could be read is durable. What could not is said, and not worth sending again."""
    no = received.refused
    if request.path != path_of(LOGS):
        body = {"ok": True, "alerts": received.alerts, "refused": no.times if no else 0}
        return web.json_response({**body, "reason": str(no.reason), "message": no.detail} if no else body)
    rejected = _rejected(received)
    said = f"{no.reason}: {no.detail}" if no else ""
    if request.content_type == JSON:
        partial = {"partialSuccess": {"rejectedLogRecords": str(rejected), "errorMessage": said}} if no else {}
        return web.json_response(partial)
    answer = ExportLogsServiceResponse()
    if no is not None:
        answer.partial_success.CopyFrom(_two_fields(rejected, said))
    return web.Response(body=answer.SerializeToString(), content_type=PROTOBUF)


def _rejected(received: Received) -> int:
    """Log records, of which one may hold many bad alerts; where an alert was taken, at least one record was of use."""
    worthless = (received.entries or 0) - (received.alerts > 0)
    return max(0, min(received.refused.times, worthless)) if received.refused else 0


def refused(request: web.Request, status: int, no: Refusal) -> web.Response:
    if request.path != path_of(LOGS):
        said = {"ok": False, "reason": str(no.reason), "message": no.detail}
        return web.json_response(said, status=status)
    code, message = CODES[status], f"{no.reason}: {no.detail}"
    if request.content_type != PROTOBUF:
        return web.json_response({"code": code, "message": message}, status=status)
    # Status has on the wire what this has: an integer as field 1, a text as field 2. It saves a library of its own.
    return web.Response(body=_two_fields(code, message).SerializeToString(), status=status, content_type=PROTOBUF)


def _two_fields(number: int, text: str) -> ExportLogsPartialSuccess:
    """Protobuf takes no lone surrogates."""
    clean = text.encode(errors="replace").decode()
    return ExportLogsPartialSuccess(rejected_log_records=number, error_message=clean)
