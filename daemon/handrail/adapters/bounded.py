"""One GET of a monitoring server: bounded in bytes and time, never follows a redirect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import aiohttp

from handrail.core.redact import redact
from handrail.model.errors import Permanent, Transient

Query = Mapping[str, str] | Sequence[tuple[str, str]]


class Server(NamedTuple):
    """`name` is for people, `key` where its address stands in the configuration."""

    name: str
    key: str
    seconds: float
    most_bytes: int


async def get(server: Server, url: str, asked: Query, token: str) -> bytes:
    """The body of a 200. Raises Transient where it is away or busy, Permanent for any other answer."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    status, raw = await _answer(server, url, asked, headers)
    if status in (429, 502, 503, 504):
        raise Transient(f"{server.name} answers {status}")
    if status != 200:
        raise Permanent(f"{server.name} answers {status}: {redact(raw.decode(errors='replace'), 300)}")
    return raw


async def _answer(server: Server, url: str, asked: Query, headers: dict[str, str]) -> tuple[int, bytes]:
    timeout = aiohttp.ClientTimeout(total=server.seconds)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.get(url, params=asked, headers=headers, allow_redirects=False) as response,
        ):
            raw = bytearray()
            async for chunk in response.content.iter_chunked(64 * 1024):
                raw += chunk
                if len(raw) > server.most_bytes:
                    raise Permanent(f"{server.name} answers with more than {server.most_bytes} bytes")
            return response.status, bytes(raw)
    except aiohttp.InvalidURL as error:
        raise Permanent(f"{server.key} is no URL") from error
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        said = redact(str(error) or "no answer in time", 300)
        raise Transient(f"{server.name} is away: {type(error).__name__}: {said}") from error
