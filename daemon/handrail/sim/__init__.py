"""A small simulated Kubernetes cluster, for the demo and for tests that need no real one.

It answers the API as a real server does as far as remediations go (a differential test compares the two) and lets
Deployments, ReplicaSets and pods live. It is never used in production and production code never imports it.
"""

from .kubelet import Pace
from .rights import EVERYTHING, READ, Rule
from .simulator import Simulator

__all__ = ["EVERYTHING", "READ", "Pace", "Rule", "Simulator"]
