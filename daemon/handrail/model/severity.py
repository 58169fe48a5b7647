"""How bad a workload is, as numbers that can be compared before and after."""

from __future__ import annotations

from handrail.model.value import Value


class Severity(Value):
    """Counts of pods, from the API server's own status: `desired` and `ready`."""

    desired: int
    ready: int

    @property
    def missing(self) -> int:
        """Pods that should be ready and are not."""
        return max(0, self.desired - self.ready)

    def __str__(self) -> str:
        return f"{self.ready} of {self.desired} ready"
