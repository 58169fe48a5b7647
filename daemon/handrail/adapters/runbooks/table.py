"""The runbooks: which step cures which corroborated cause, one row each. Weighs no two causes against each other.

The first row that a finding fits is followed, so the order counts. Of a range the least is chosen: enough to begin
with, and the next alert tells whether it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from handrail.model.finding import Cause
from handrail.model.menu import Option

Pick = Callable[[tuple[Option, ...]], Option]


class Runbook(NamedTuple):
    """For any of `causes` choose `step`; `pick` chooses among its options, `cites` names the kinds of evidence."""

    causes: tuple[Cause, ...]
    step: str
    pick: Pick
    cites: tuple[str, ...]
    expects: str
    would_disprove: str


def first(options: tuple[Option, ...]) -> Option:
    """The step itself puts the pod that most needs it in front."""
    return options[0]


def newest(options: tuple[Option, ...]) -> Option:
    """The revision that takes back least: every option of the menu is one that is healthy now."""
    return max(options, key=lambda option: int(option.params["to_revision"]))


BAD_REVISION = (Cause.BAD_REVISION_CRASHES, Cause.BAD_REVISION_IMAGE, Cause.BAD_REVISION_STUCK)
PODS = ("owner", "pods")
NODES = ("owner", "nodes")
ROLLOUT = ("owner", "pods", "revisions")
CHANGE = (*ROLLOUT, "template_diff", "events")

# causes, step, pick, cites,
#     what is expected of it, and what would prove it wrong
_ROWS: tuple[tuple[tuple[Cause, ...], str, Pick, tuple[str, ...], str, str], ...] = (
    (BAD_REVISION, "rollout_undo", newest, CHANGE,
     "all pods run the older revision again and stay ready",
     "pods of the older revision fail in the same way: then the cause lies outside this rollout"),
    ((Cause.POD_DEADLOCKED,), "delete_pod", first, PODS,
     "its controller makes another pod, which becomes ready and stays so",
     "the new pod hangs in the same way: then it is not that pod alone"),
    ((Cause.EVICTED_CORPSES,), "delete_pod", first, PODS,
     "the ended pod is no longer listed; those that serve are untouched",
     "another one is evicted soon: then its node, or what it may use there, is the cause"),
    ((Cause.ROLLOUT_PAUSED,), "resume_rollout", first, ROLLOUT,
     "the rollout goes on and all pods of the newest revision become ready",
     "new pods do not become ready: then it was paused for good reason"),
    ((Cause.NODE_NOT_READY,), "cordon", first, NODES,
     "no new pods go to the node; those that run on it are left alone",
     "other nodes become ill too: then it is no single node"),
    ((Cause.NODE_CORDONED,), "uncordon", first, NODES,
     "the node takes pods again and stays well",
     "it becomes ill again: then it must stay closed"),
    ((Cause.HPA_AT_MAX,), "set_hpa_bounds", first, PODS,
     "the autoscaler has the replicas that it wants, and they are ready",
     "it wants ever more: then the load or the metric is the cause"),
)  # fmt: skip

RUNBOOKS = tuple(Runbook(*row) for row in _ROWS)
