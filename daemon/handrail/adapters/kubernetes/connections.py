"""The connections under the client: each request goes out once, and a closed client leaves no connection behind.

Never decides what an answer means. aiohttp forgets a connection as soon as it is to be closed, while TLS still says
goodbye on it, for up to 30 s with a server that hangs (library trap); so ours are known until they are gone.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import aiohttp
from kubernetes.aio.client.rest import RESTClientObject

if TYPE_CHECKING:
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.tracing import Trace

GONE_SECONDS = 1.0


class Lost(aiohttp.ClientError):
    """The connection broke after the request had begun to leave."""


async def once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Sends once and goes nowhere else.

    aiohttp sends GET, PUT and DELETE again when a connection breaks: a DELETE that had been applied would then
    answer 404, as if nothing had been done. And it follows redirects, which turn a POST into a GET.
    """
    try:
        response = await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise Lost(f"the connection broke: {error}") from error
    if 300 <= response.status < 400:
        response.close()
        raise Lost(f"the answer was a redirect ({response.status}), which is never followed")
    return response


class _Connector(aiohttp.TCPConnector):
    """Ends what is still open, and waits for it, when it is closed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._open: dict[asyncio.Future[None], asyncio.BaseTransport] = {}

    async def _create_connection(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> ResponseHandler:
        protocol = await super()._create_connection(req, traces, timeout)
        gone, transport = protocol.closed, protocol.transport
        if gone is not None and transport is not None:
            self._open[gone] = transport
            gone.add_done_callback(self._forget)
        return protocol

    def _forget(self, gone: asyncio.Future[None]) -> None:
        self._open.pop(gone, None)
        if not gone.cancelled():
            gone.exception()  # looked at, else asyncio complains that nobody did

    async def close(self, *, abort_ssl: bool = False) -> None:
        await super().close(abort_ssl=abort_ssl)
        for transport in self._open.values():
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()
        if self._open:
            await asyncio.wait(list(self._open), timeout=GONE_SECONDS)


class KeptConnections(RESTClientObject):
    """For reads: a connection serves one request after another."""

    def _create_connector(self) -> aiohttp.TCPConnector:
        return _Connector(limit=self.maxsize, ssl=self.ssl_context)


class FreshConnections(RESTClientObject):
    """A connection of its own for each request: a kept one may be dead already, and a write on it is a riddle."""

    def _create_connector(self) -> aiohttp.TCPConnector:
        return _Connector(limit=self.maxsize, ssl=self.ssl_context, force_close=True)
