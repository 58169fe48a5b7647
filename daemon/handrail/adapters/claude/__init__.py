"""The model as a planner: the request (pure), the call, and the parsing of its recorded answer (pure).

Importing this package never imports the model's client library: that costs seconds and 89 MiB, so it waits for the
first call.
"""

from handrail.adapters.claude.answer import RecordedAnswer, parse
from handrail.adapters.claude.client import Claude, ModelFailed, ModelReply
from handrail.adapters.claude.request import ModelRequest, request

__all__ = ["Claude", "ModelFailed", "ModelReply", "ModelRequest", "RecordedAnswer", "parse", "request"]
