"""A small client of the Kubernetes API over plain HTTPS, for tests that want to see the real answer.

Decides nothing: it sends what it is given and hands back status and body. Never retries.
"""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


class ApiError(Exception):
    """An answer other than 2xx where the caller wanted success; carries `answer`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"{answer.status}: {answer.text[:500]}")
        self.answer = answer


@dataclass(frozen=True)
class Answer:
    status: int
    text: str

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def body(self) -> Any:
        return json.loads(self.text) if self.text else None


class Api:
    """One identity at one API server; a bearer token or a client certificate."""

    def __init__(
        self,
        url: str,
        ca_file: Path,
        token: str | None = None,
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        self.url = url
        self.token = token
        self._address = urlsplit(url)
        self._tls = ssl.create_default_context(cafile=str(ca_file))
        if certificate is not None:
            self._tls.load_cert_chain(*certificate)

    def call(self, method: str, path: str, body: object = None, content_type: str = JSON, **query: str) -> Answer:
        """One request; `query` are URL parameters (dryRun="All"). A refused connection raises OSError."""
        connection = http.client.HTTPSConnection(
            self._address.hostname or "", self._address.port, timeout=30, context=self._tls
        )
        headers = {"Accept": JSON, "User-Agent": "handrail-tests"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        payload = None
        if body is not None:
            headers["Content-Type"] = content_type
            payload = body if isinstance(body, str) else json.dumps(body)
        target = self._address.path.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")
        try:
            connection.request(method, target, payload, headers)
            response = connection.getresponse()
            return Answer(response.status, response.read().decode(errors="replace"))
        finally:
            connection.close()

    def get(self, path: str, **query: str) -> Any:
        return self._wanted(self.call("GET", path, **query))

    def post(self, path: str, body: object, **query: str) -> Any:
        return self._wanted(self.call("POST", path, body, **query))

    def put(self, path: str, body: object, **query: str) -> Any:
        return self._wanted(self.call("PUT", path, body, **query))

    def patch(self, path: str, body: object, content_type: str = MERGE, **query: str) -> Any:
        return self._wanted(self.call("PATCH", path, body, content_type, **query))

    def delete(self, path: str, body: object = None, **query: str) -> Any:
        return self._wanted(self.call("DELETE", path, body, **query))

    def apply(self, path: str, body: dict[str, Any]) -> Any:
        """Create or replace by server-side apply as `handrail-tests`."""
        return self.patch(path, body, APPLY, fieldManager="handrail-tests", force="true")

    @staticmethod
    def _wanted(answer: Answer) -> Any:
        if not answer.ok:
            raise ApiError(answer)
        return answer.body
