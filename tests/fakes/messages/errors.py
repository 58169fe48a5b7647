"""The Messages API's refusals: status, error type and the body that the real client turns into its exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
WORDS: Mapping[int, str] = {
    401: "invalid x-api-key",
    429: "This request would exceed your account's rate limit. Please try again later.",
    500: "Internal server error",
    504: "Request timed out",
    529: "Overloaded",
}


@dataclass
class Refused(Exception):
    status: int
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self, request_id: str) -> Json:
        return error_body(self.status, self.message, request_id)


def error_body(status: int, message: str, request_id: str, code: str | None = None) -> Json:
    """`code` is the stable error code that some errors carry in their details."""
    error: Json = {"type": TYPES.get(status, "api_error"), "message": message}
    if code is not None:
        error["details"] = {"error_code": code}
    return {"type": "error", "error": error, "request_id": request_id}


def bad(message: str) -> Refused:
    return Refused(400, message)
