"""Who is asking: a Kubernetes token that TokenReview vouches for, or the owner of this process through its socket.

Whoever sends a token is judged by it alone, over the socket too: an audit names the person, not the pod's user.

Never trusts a header that names a user. No token, a bad one, or an API server that can't be asked: nobody.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import socket
import struct
from typing import Protocol

from aiohttp import web

from handrail.model.approval import Person

AT_ONCE = 4
"""Reviews at the same time: whoever floods us with bad tokens must not flood the API server through us."""
CREDENTIALS = struct.Struct("3i")


class TokenReview(Protocol):
    """None for a token that the API server does not vouch for. Raises Transient when it can't be asked."""

    async def token_review(self, token: str) -> Person | None: ...


class Who:
    def __init__(self, reviews: TokenReview) -> None:
        self._reviews = reviews
        self._places = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, request: web.Request) -> Person | None:
        """Raises what the review raises: not knowing is not the same as nobody."""
        if "Authorization" not in request.headers:
            return _local(request)
        scheme, _, token = request.headers["Authorization"].partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or not token.isascii():
            return None
        async with self._places:
            return await self._reviews.token_review(token)


def _local(request: web.Request) -> Person | None:
    """The kernel's word (SO_PEERCRED) for a caller on the socket: only this process's own user counts."""
    connection = request.transport.get_extra_info("socket") if request.transport else None
    if connection is None or connection.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    _pid, uid, _gid = CREDENTIALS.unpack(credentials)
    return Person(via="local", name=_name(uid)) if uid == os.getuid() else None


def _name(uid: int) -> str:
    """A container's user often has no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid-{uid}"
