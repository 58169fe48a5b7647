"""The one list of requests that the simulator and a real API server must answer alike."""

from tests.sim.asks import Ask
from tests.sim.requests import bodies, evictions, objects, rollouts, rules, workloads

SCRIPT: list[Ask] = [
    *bodies.SETUP,
    *objects.ASKS,
    *rules.ASKS,
    *workloads.ASKS,
    *rollouts.ASKS,
    *evictions.ASKS,
]
