"""A fake Anthropic Messages API, strict and scripted, on loopback. Start at `server.py`."""

from tests.fakes.messages.script import Answer, Request
from tests.fakes.messages.server import FakeMessages

__all__ = ["Answer", "FakeMessages", "Request"]
