"""What the daemon says about itself: logs with the incident's id, readiness, and metrics by outcome."""

from handrail.adapters.telemetry.gauges import Gauges
from handrail.adapters.telemetry.logs import configure_logs, quiet_libraries

__all__ = ["Gauges", "configure_logs", "quiet_libraries"]
