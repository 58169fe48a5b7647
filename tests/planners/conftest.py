"""No planner test can reach a real model: no name resolves, only loopback connects, and the environment is bare."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest


class Blocked(AssertionError):
    """A test tried to leave this machine."""


@pytest.fixture(autouse=True)
def _no_live_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in os.environ if each.startswith("ANTHROPIC_") or each.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    resolve, connect = socket.getaddrinfo, socket.socket.connect

    def only_here(host: Any, *rest: Any, **more: Any) -> Any:
        if host not in ("127.0.0.1", b"127.0.0.1"):
            raise Blocked(f"live call to {host!r}")
        return resolve(host, *rest, **more)

    def connect_here(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] != "127.0.0.1":
            raise Blocked(f"live call to {address!r}")
        connect(self, address)

    monkeypatch.setattr(socket, "getaddrinfo", only_here)
    monkeypatch.setattr(socket.socket, "connect", connect_here)
