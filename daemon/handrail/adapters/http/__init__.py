"""The daemon's own HTTP: probes, metrics, and the API that the CLI speaks. Knows who asks; decides nothing."""

from handrail.adapters.http.api import Desk, Reply
from handrail.adapters.http.server import HttpServer
from handrail.adapters.http.who import Who

__all__ = ["Desk", "HttpServer", "Reply", "Who"]
