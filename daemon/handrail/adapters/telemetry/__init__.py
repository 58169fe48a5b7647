"""What the daemon says about itself: logs with the incident's id, readiness, and metrics by outcome."""

from handrail.adapters.telemetry.gauges import Gauges
from handrail.adapters.telemetry.logs import configure_logs, quiet_libraries
from handrail.adapters.telemetry.tally import Tally

__all__ = ["Gauges", "Tally", "configure_logs", "quiet_libraries"]
