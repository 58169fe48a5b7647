"""The body of a request, bounded on the wire and inflated: nobody makes us hold more than that of theirs."""

from __future__ import annotations

import zlib

from aiohttp import web

from handrail.model.reason import Reason, Refusal

GZIP = 16 + zlib.MAX_WBITS
CHUNK = 64 * 1024

MOST_MEMBERS = 64
"""Of a gzip body. Senders make one; each costs a copy of all that follow it, so thousands would hold up everybody."""


async def body_of(request: web.Request, most: int) -> bytes | Refusal:
    """TOO_LARGE, UNKNOWN_FORMAT (a coding that we don't read) or MALFORMED (no gzip)."""
    coding = request.headers.get("Content-Encoding", "").strip().lower()
    if coding not in ("", "identity", "gzip"):
        return Refusal(reason=Reason.UNKNOWN_FORMAT, detail=f"Content-Encoding {coding[:40]!r}: send it plain or gzip")
    if (request.content_length or 0) > most:
        return _too_large(most)
    raw = bytearray()
    async for chunk in request.content.iter_chunked(CHUNK):
        raw += chunk
        if len(raw) > most:
            return _too_large(most)
    return _inflated(bytes(raw), most) if coding == "gzip" else bytes(raw)


def _inflated(packed: bytes, most: int) -> bytes | Refusal:
    """One member after another, as gzip may be; stops at the bound, however much is still to come."""
    found = bytearray()
    for _ in range(MOST_MEMBERS):
        member = zlib.decompressobj(GZIP)
        try:
            found += member.decompress(packed, most + 1 - len(found))
        except zlib.error as error:
            return Refusal(reason=Reason.MALFORMED, detail=f"the body is no gzip: {error}")
        if len(found) > most:
            return _too_large(most)
        if not member.eof:
            return Refusal(reason=Reason.MALFORMED, detail="the body is gzip that ends too early")
        packed = member.unused_data
        if not packed:
            return bytes(found)
    return Refusal(reason=Reason.MALFORMED, detail=f"the body is gzip of more than {MOST_MEMBERS} members")


def _too_large(most: int) -> Refusal:
    return Refusal(reason=Reason.TOO_LARGE, detail=f"more than {most} bytes (inflated): send fewer alerts at once")
