"""Who is asking: a Kubernetes token that TokenReview vouches for, or the owner of this process through its socket.

Never trusts a header that names a user. No token, a bad one, or an API server that can't be asked: nobody.
"""

from __future__ import annotations

import getpass
import os
import socket
import struct
from typing import Protocol

from aiohttp import web

from handrail.model.approval import Person


class TokenReview(Protocol):
    """None for a token that the API server does not vouch for. Raises Transient when it can't be asked."""

    async def token_review(self, token: str) -> Person | None: ...


class Who:
    def __init__(self, reviews: TokenReview) -> None:
        self._reviews = reviews

    async def __call__(self, request: web.Request) -> Person | None:
        local = _local(request)
        if local is not None:
            return local
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return None
        return await self._reviews.token_review(token.strip())


def _local(request: web.Request) -> Person | None:
    """The kernel's word (SO_PEERCRED) for a caller on the socket: only this process's own user counts."""
    connection = request.transport.get_extra_info("socket") if request.transport else None
    if connection is None or connection.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _pid, uid, _gid = struct.unpack("3i", credentials)
    return Person(via="local", name=getpass.getuser()) if uid == os.getuid() else None
