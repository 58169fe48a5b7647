"""The eviction subresource: a delete that a PodDisruptionBudget may forbid.

It decides 429, and that an unready pod needs no budget. Budgets' numbers come from the disruption controller; here
they are only spent, and before the preconditions are looked at: an eviction that is refused for its UID has spent
its part of the budget all the same, as on a real API server.
"""

from typing import Any

from . import fields
from .deletes import Deletion, delete, options_of
from .kinds import BUDGET, POD
from .objects import Obj, at, clone, is_terminating, is_true, labels_of, meta, name_of, namespace_of
from .registry import Registry
from .selectors import matches
from .status import ApiError, bad_request

_FORBIDDEN = "Cannot evict pod as it would violate the pod's disruption budget."
DONE: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def evict(registry: Registry, pod: Obj, body: Any, query: dict[str, str]) -> Obj:
    """Evict this pod, or say which budget forbids it."""
    if not isinstance(body, dict):
        raise bad_request("the object provided is unrecognized (must be of type Eviction)")
    named = at(body, "metadata", "name", default=name_of(pod))
    if named != name_of(pod):
        raise bad_request(f"name in URL does not match name in Eviction object: {name_of(pod)} != {named}")
    deletion = options_of(body.get("deleteOptions"), query)
    if _needs_budget(pod):
        _spend(registry, pod, deletion)
    delete(registry, POD, registry.get(POD, namespace_of(pod), name_of(pod)), deletion)
    return DONE


def _needs_budget(pod: Obj) -> bool:
    return not is_terminating(pod) and at(pod, "status", "phase") not in ("Pending", "Succeeded", "Failed")


def _spend(registry: Registry, pod: Obj, deletion: Deletion) -> None:
    budgets = [
        budget
        for budget in registry.store.all(BUDGET, namespace_of(pod))
        if matches(at(budget, "spec", "selector"), labels_of(pod))
    ]
    if not budgets:
        return
    if len(budgets) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise ApiError(500, "InternalError", message, {})
    budget = budgets[0]
    if not is_true(pod, "Ready") and _may_go_unready(budget):
        return
    _check(budget)
    if not deletion.dry_run:
        _note(registry, budget, pod)


def _may_go_unready(budget: Obj) -> bool:
    """An unready pod counts for nothing, once enough others are healthy or the budget says so."""
    if at(budget, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    healthy, desired = (int(at(budget, "status", key, default=0)) for key in ("currentHealthy", "desiredHealthy"))
    return healthy >= desired > 0


def _check(budget: Obj) -> None:
    status = budget.get("status", {})
    if status.get("observedGeneration", 0) < meta(budget)["generation"]:
        message = f"The disruption budget {name_of(budget)} is still being processed by the server."
        raise _too_many(message, retry_after=10)
    if status.get("disruptionsAllowed", 0) > 0:
        return
    message = (
        f"The disruption budget {name_of(budget)} needs {status.get('desiredHealthy', 0)} healthy pods "
        f"and has {status.get('currentHealthy', 0)} currently"
    )
    raise _too_many(message)


def _too_many(message: str, retry_after: int = 0) -> ApiError:
    """`retry_after` in seconds: the server does not forbid it, it does not know yet."""
    details: Obj = {"causes": [{"reason": "DisruptionBudget", "message": message}]}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    return ApiError(429, "TooManyRequests", _FORBIDDEN, details)


def _note(registry: Registry, budget: Obj, pod: Obj) -> None:
    """Take one from the budget at once: its controller may come too late for the next eviction."""
    spent = clone(budget)
    spent["status"]["disruptionsAllowed"] -= 1
    spent["status"].setdefault("disruptedPods", {})[name_of(pod)] = registry.now()
    fields.record(spent, "kube-apiserver", BUDGET.api_version, "status", registry.now())
    registry.store.put(BUDGET, spent)
