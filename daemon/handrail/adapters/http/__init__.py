"""The daemon's own HTTP: probes, metrics, the API that the CLI speaks, and the doors for alerts.

Knows who asks and who sends; decides nothing.
"""

from handrail.adapters.http.api import Desk, Reply, no_such
from handrail.adapters.http.intake import Behind, HttpIntake
from handrail.adapters.http.senders import Senders
from handrail.adapters.http.server import HttpServer
from handrail.adapters.http.together import Posted, Together
from handrail.adapters.http.who import Who

__all__ = ["Behind", "Desk", "HttpIntake", "HttpServer", "Posted", "Reply", "Senders", "Together", "Who", "no_such"]
