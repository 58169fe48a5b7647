"""A fake Slack: Web API and Socket Mode, strict, on loopback. Start at `server.py`."""

from tests.fakes.slack.markup import Warned
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.sockets import Delivery
from tests.fakes.slack.state import Call, View
from tests.fakes.slack.workspace import Message

__all__ = ["Call", "Delivery", "FakeSlack", "Message", "View", "Warned"]
