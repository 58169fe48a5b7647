"""What becomes of a container, by the name of its image.

One table, read by the kubelet and by the logs. An image that no row knows runs and is ready.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Behaviour:
    """How a container fails: it can't be pulled, or it exits again and again (`exit_code` is not 0)."""

    pulls: bool = True
    exit_code: int = 0
    exit_reason: str = ""

    @property
    def exits(self) -> bool:
        return self.exit_code != 0

    @property
    def ready(self) -> bool:
        return self.pulls and not self.exits


HEALTHY = Behaviour()
_BY_IMAGE = (
    ("nopull", Behaviour(pulls=False)),
    ("missing", Behaviour(pulls=False)),
    ("crash", Behaviour(exit_code=1, exit_reason="Error")),
    ("oom", Behaviour(exit_code=137, exit_reason="OOMKilled")),
)


def behaviour_of(image: str) -> Behaviour:
    return next((behaviour for part, behaviour in _BY_IMAGE if part in image), HEALTHY)
