"""The status of a Deployment: sums over its ReplicaSets, observedGeneration and conditions.

It decides nothing about pods or ReplicaSets, and writes the status only.
"""

from datetime import datetime
from typing import TYPE_CHECKING

from ..kinds import DEPLOYMENT
from ..objects import Obj, at, condition_of, meta, name_of
from ..registry import CONTROLLER_STATUS, Registry
from . import conditions

if TYPE_CHECKING:
    from .deployment import Rollout


def write(registry: Registry, state: "Rollout") -> datetime | None:
    """Write the status if it has changed; the answer is when its deadline passes."""
    status = _sums(state)
    seen = conditions.Seen(state.deployment, status, state.limits, name_of(state.new) if state.new else "", state.now)
    progress = (
        condition_of(state.deployment, "Progressing")
        if state.deployment["spec"].get("paused")
        else conditions.progressing(seen)
    )
    found = [conditions.available(seen), progress]
    status["conditions"] = [condition for condition in found if condition is not None]

    def edit(obj: Obj) -> None:
        obj["status"] = status

    registry.change(DEPLOYMENT, state.deployment, edit, CONTROLLER_STATUS)
    return conditions.deadline(state.deployment, progress)


def _sums(state: "Rollout") -> Obj:
    def total(key: str) -> int:
        return sum(int(at(rs, "status", key, default=0)) for rs in state.all)

    wanted = sum(int(at(rs, "spec", "replicas", default=0)) for rs in state.all)
    counts = {
        "replicas": total("replicas"),
        "updatedReplicas": int(at(state.new, "status", "replicas", default=0)),
        "readyReplicas": total("readyReplicas"),
        "availableReplicas": total("availableReplicas"),
        "unavailableReplicas": max(wanted - total("availableReplicas"), 0),
    }
    return {
        "observedGeneration": meta(state.deployment)["generation"],
        "terminatingReplicas": total("terminatingReplicas"),
        **{key: count for key, count in counts.items() if count},
    }
