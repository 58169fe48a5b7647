"""Which container's logs tell most: that of the worst pod which is not ready. Chooses only; the eyes read them."""

from __future__ import annotations

from handrail.adapters.evidence.objects import worst_first
from handrail.model.value import Raw
from handrail.model.workload import container_states, pod_is_ready


def worst(pods: tuple[Raw, ...], wanted: str = "") -> tuple[Raw, Raw] | None:
    """The pod and the status of its failing container; `wanted` is what the alert names, where the pod has it.

    None where nothing has started yet, or all is ready and nothing was ever restarted.
    """
    for pod in worst_first(pods):
        started = [state for state in container_states(pod) if _has_run(state)]
        if not started or (pod_is_ready(pod) and not any(state.get("restartCount") for state in started)):
            continue
        named = [state for state in started if state.get("name") == wanted]
        return pod, min(named or started, key=_health)
    return None


def restarted(state: Raw) -> bool:
    return int(state.get("restartCount") or 0) > 0


def _has_run(state: Raw) -> bool:
    return bool(state.get("containerID")) or bool(state.get("lastState")) or "waiting" not in (state.get("state") or {})


def _health(state: Raw) -> tuple[int, int]:
    """Smaller is sicker. A container that ended well (an init container that is done) is the healthiest."""
    now = state.get("state") or {}
    ended = now.get("terminated")
    if ended is not None:
        grade = 3 if ended.get("exitCode") == 0 else 0
    elif "waiting" in now:
        grade = 0
    else:
        grade = 2 if state.get("ready") else 1
    return grade, -int(state.get("restartCount") or 0)
