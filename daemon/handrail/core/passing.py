"""What a step refuses by the health of the moment, and how long that is waited for. Pure.

Pods that flap are on the wrong foot now and then. What was compiled or approved a moment ago is neither dropped nor
asked about again for that: it is looked at once more, and done only when the step's own guards let it pass.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from handrail.model.reason import Reason, Refusal

FLAPS = timedelta(seconds=30)
"""What has not passed by then is no flapping any more."""

OF_THE_MOMENT = frozenset(
    {
        Reason.LAST_READY,
        Reason.NO_HEALTHY_REVISION,
        Reason.NOT_LOCAL,
        Reason.QUORUM_AT_RISK,
        Reason.ROLLOUT_IN_PROGRESS,
    }
)


def may_pass(refusal: Refusal, since: datetime | None, now: datetime) -> bool:
    """`since` is when it was decided; None for never."""
    return since is not None and refusal.reason in OF_THE_MOMENT and now - since < FLAPS
