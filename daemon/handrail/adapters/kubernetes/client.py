"""The one client of the API server: raw JSON over the Kubernetes client's own connection layer.

Decides what an answer, or its absence, says about whether a request took effect. Never sends anything twice,
with one exception: after a 401, which surely did nothing, it reads the credentials again and asks once more.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from types import TracebackType

import aiohttp
from kubernetes.aio.client import ApiClient
from kubernetes.aio.client.rest import RESTClientObject

from handrail.adapters.kubernetes.connections import FreshConnections, KeptConnections, once
from handrail.adapters.kubernetes.credentials import Access, Mounted, Refresh, access
from handrail.adapters.kubernetes.wire import JSON, PATCH, Reply, Request, decided
from handrail.model.config import KubernetesConfig
from handrail.model.errors import BadConfig, Bug, HandrailError, OutcomeUnknown, Permanent, Transient
from handrail.model.value import Raw

_NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ServerFingerprintMismatch,
    aiohttp.InvalidURL,
)
"""Refused, not resolved, not trusted, or not connected in time: the request itself never left."""


@dataclass(frozen=True, slots=True)
class _Link:
    api: ApiClient
    reads: RESTClientObject
    writes: RESTClientObject
    refresh: Refresh


def _link(granted: Access) -> _Link:
    configuration = granted.configuration
    configuration.retries = None
    configuration.disable_strict_ssl_verification = True  # Python 3.13 refuses CAs that many clusters still have
    configuration.client_session_kwargs = {"middlewares": (once,)}
    try:
        api = ApiClient(configuration)
        reads, writes = KeptConnections(configuration), FreshConnections(configuration)
    except (OSError, ValueError) as error:
        raise BadConfig(f"kubernetes: CA or client certificate can't be loaded: {error}") from error
    api.user_agent = "handrail"
    return _Link(api, reads, writes, granted.refresh)


class Cluster:
    """Connects at the first request; close it, or use it as an async context manager."""

    def __init__(self, config: KubernetesConfig, mounted: Mounted | None = None) -> None:
        self._config = config
        self._mounted = mounted
        self._timeout = aiohttp.ClientTimeout(total=config.request_seconds, connect=config.request_seconds / 2)
        self._opening = asyncio.Lock()
        self._link: _Link | None = None

    async def open(self) -> None:
        """Reads the credentials and sends nothing: for finding out at start. Raises BadConfig."""
        await self._linked()

    async def _linked(self) -> _Link:
        async with self._opening:
            if self._link is None:
                self._link = _link(await access(self._config, self._mounted))
            return self._link

    async def close(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.reads.close()
            await link.writes.close()

    async def __aenter__(self) -> Cluster:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def request(self, request: Request) -> Reply:
        """Every answer that is a decision of the server's, whatever its status.

        Raises Transient (away, busy, or not accepting our credentials: surely nothing was applied), OutcomeUnknown
        (a write whose answer was lost, is no answer, or is 5xx), Permanent (an answer larger than `most`), and Bug
        for a write where the configuration has switched the hands off.
        """
        if request.writes and not self._config.hands_enabled:
            raise Bug(f"{request}: the hands are switched off (kubernetes.hands_enabled), so this was never to be sent")
        reply = await self._send(request)
        if reply.status == 401:
            await self._renew()
            reply = await self._send(request)
        return decided(request, reply)

    async def _renew(self) -> None:
        try:
            await (await self._linked()).refresh()
        except OSError as error:
            raise Transient(f"the credentials could not be read again: {error!s:.300}") from error

    async def _send(self, request: Request) -> Reply:
        link = await self._linked()
        connections = link.writes if request.writes else link.reads
        try:
            method, url, headers, body, _ = await link.api.param_serialize(
                method=request.method,
                resource_path=request.path,
                query_params=list(request.query),
                header_params=_headers(request),
                body=request.body,
                auth_settings=["BearerToken"],
            )
            answer = await connections.request(  # type: ignore[no-untyped-call]
                method, url, headers=headers, body=body, _request_timeout=self._timeout
            )
            return await _reply(request, answer.response)
        except _NEVER_SENT as error:
            raise Transient(f"{request}: not sent: {_said(error)}") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _lost(request, _said(error)) from error


def _headers(request: Request) -> dict[str, str]:
    headers = {"Accept": request.accept}
    if request.body is not None:
        headers["Content-Type"] = PATCH if isinstance(request.body, list) else JSON
    return headers


def _said(error: BaseException) -> str:
    text = str(error) or ("no answer in time" if isinstance(error, TimeoutError) else "")
    return f"{type(error).__name__}: {text}"[:300]


def _lost(request: Request, why: str) -> HandrailError:
    if request.writes:
        return OutcomeUnknown(f"{request}: {why}")
    return Transient(f"{request}: {why}")


async def _reply(request: Request, response: aiohttp.ClientResponse) -> Reply:
    raw, whole = await _bounded(response, request.most)
    headers = {name.lower(): text for name, text in response.headers.items()}
    if request.accept != JSON and response.status < 300:
        return Reply(response.status, {}, headers, raw.decode("utf-8", errors="replace"))
    if not whole:
        if request.writes:
            raise OutcomeUnknown(f"{request}: the answer is larger than {request.most} bytes")
        raise Permanent(f"{request}: the answer is larger than {request.most} bytes")
    body = _object(raw)
    if body is None and response.status < 300:
        raise _lost(request, f"status {response.status} with something that is no JSON object")
    return Reply(response.status, body or {}, headers)


async def _bounded(response: aiohttp.ClientResponse, most: int) -> tuple[bytes, bool]:
    """At most `most` bytes, and whether that is all of it."""
    kept = bytearray()
    async for chunk in response.content.iter_chunked(64 * 1024):
        kept += chunk
        if len(kept) > most:
            response.close()
            return bytes(kept[:most]), False
    return bytes(kept), True


def _object(raw: bytes) -> Raw | None:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None
