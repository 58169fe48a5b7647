"""Deployments: one ReplicaSet for each template, and pods moved from the old ones to the new one.

It decides sizes and revisions of ReplicaSets, never touches pods, and leaves conditions to `conditions` and sums to
`rollout`. It does at most one kind of thing in a call and relies on being called again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ..deletes import Deletion, delete
from ..events import Recorder
from ..kinds import DEPLOYMENT, POD, REPLICA_SET
from ..objects import (
    Obj,
    annotations_of,
    at,
    condition_of,
    controlled_by,
    is_terminating,
    meta,
    name_of,
    namespace_of,
    owners_of,
    uid_of,
)
from ..registry import CONTROLLER_STATUS, Registry
from . import conditions, revisions, rollout, soonest, statuses

_EVENTS = Recorder("deployment-controller")


@dataclass(frozen=True)
class Rollout:
    """One deployment with its ReplicaSets; `new` is missing while a paused one has an unknown template."""

    registry: Registry
    deployment: Obj
    new: Obj | None
    old: tuple[Obj, ...]
    limits: rollout.Limits
    now: datetime

    @property
    def all(self) -> tuple[Obj, ...]:
        return (*self.old, self.new) if self.new else self.old


def step(registry: Registry, now: datetime) -> datetime | None:
    """Go one step with every deployment."""
    return soonest(*(_sync(registry, d, now) for d in registry.store.all(DEPLOYMENT) if not is_terminating(d)))


def _sync(registry: Registry, deployment: Obj, now: datetime) -> datetime | None:
    if condition := conditions.paused(deployment, now):
        deployment = _with_condition(registry, deployment, condition)
    state = _state(registry, deployment, now)
    if deployment["spec"].get("paused") or _was_scaled(state):
        state = _numbered(state)
        _scale(state)
    else:
        _clean_up(_roll(state))
    return statuses.write(registry, _state(registry, _again(state), now))


def _again(state: Rollout) -> Obj:
    return state.registry.get(DEPLOYMENT, namespace_of(state.deployment), name_of(state.deployment))


def _state(registry: Registry, deployment: Obj, now: datetime) -> Rollout:
    owned = controlled_by(deployment, registry.store.all(REPLICA_SET, namespace_of(deployment)))
    new = revisions.new_of(deployment, owned)
    old = tuple(rs for rs in revisions.by_age(owned) if rs is not new)
    spec = deployment["spec"]
    rolling = at(spec, "strategy", "rollingUpdate", default={"maxSurge": 0, "maxUnavailable": 0})
    limits = rollout.limits(spec["replicas"], rolling["maxSurge"], rolling["maxUnavailable"])
    return Rollout(registry, deployment, new, old, limits, now)


def _with_new(state: Rollout) -> Rollout:
    """Make the ReplicaSet of the present template, if there is none, as large as it may be at once."""
    deployment = state.deployment
    if state.new is None:
        size = rollout.grown(state.limits, 0, sum(_size(rs) for rs in state.old))
        body = revisions.born(deployment, size, _marks(state))
        new = state.registry.create(REPLICA_SET, namespace_of(deployment), body)
        _tell_size(state, new, 0, size)
        condition = conditions.created(deployment, new, conditions.NEW_CREATED, state.now)
        deployment = _with_condition(state.registry, deployment, condition)
    elif not at(deployment, "status", "conditions"):
        condition = conditions.created(deployment, state.new, conditions.FOUND, state.now)
        deployment = _with_condition(state.registry, deployment, condition)
    return _numbered(_state(state.registry, deployment, state.now))


def _with_condition(registry: Registry, deployment: Obj, condition: Obj) -> Obj:
    def edit(obj: Obj) -> None:
        status = obj.setdefault("status", {})
        others = [c for c in status.get("conditions", []) if c["type"] != condition["type"]]
        status["conditions"] = [*others, condition]

    return registry.change(DEPLOYMENT, deployment, edit, CONTROLLER_STATUS)


def _numbered(state: Rollout) -> Rollout:
    """Give the new ReplicaSet the next revision number, and the deployment the number of its ReplicaSet."""
    if state.new is None:
        return state
    deployment, ready = state.deployment, state.deployment["spec"].get("minReadySeconds", 0)
    wanted = revisions.annotated(deployment, state.new, revisions.next_revision(state.old))

    def edit(obj: Obj) -> None:
        meta(obj)["annotations"] = wanted
        if ready or "minReadySeconds" in obj["spec"]:
            obj["spec"]["minReadySeconds"] = ready

    new = state.registry.change(REPLICA_SET, state.new, edit)
    number = {revisions.REVISION: annotations_of(new)[revisions.REVISION]}

    def number_it(obj: Obj) -> None:
        meta(obj)["annotations"] = annotations_of(obj) | number

    deployment = state.registry.change(DEPLOYMENT, deployment, number_it, CONTROLLER_STATUS)
    return _state(state.registry, deployment, state.now)


def _size(replica_set: Obj) -> int:
    return int(at(replica_set, "spec", "replicas", default=0))


def _in_numbers(replica_set: Obj) -> rollout.Revision:
    return rollout.Revision(_size(replica_set), int(at(replica_set, "status", "availableReplicas", default=0)))


def _roll(state: Rollout) -> Rollout:
    """Move pods towards the new ReplicaSet, by the deployment's strategy."""
    if at(state.deployment, "spec", "strategy", "type") == "Recreate":
        return _recreate(state)
    state = _with_new(state)
    new = state.new
    assert new is not None
    size = rollout.grown(state.limits, _size(new), sum(_size(rs) for rs in state.all))
    if size != _size(new):
        _resize(state, new, size)
        return state
    sizes = rollout.shrunk(state.limits, _in_numbers(new), [_in_numbers(rs) for rs in state.old])
    _resize_all(state, state.old, sizes)
    return state


def _recreate(state: Rollout) -> Rollout:
    """First all old pods go, then the new ones come."""
    if any(_size(rs) for rs in state.old):
        _resize_all(state, state.old, [0] * len(state.old))
        return state
    owners = {uid_of(rs) for rs in state.old}
    pods = state.registry.store.all(POD, namespace_of(state.deployment))
    if any(o["uid"] in owners for pod in pods for o in owners_of(pod)):
        return state
    state = _with_new(state)
    assert state.new is not None
    _resize(state, state.new, state.limits.replicas)
    return state


def _was_scaled(state: Rollout) -> bool:
    wanted = str(state.deployment["spec"]["replicas"])
    return any(annotations_of(rs).get(revisions.DESIRED, wanted) != wanted for rs in state.all if _size(rs) > 0)


def _scale(state: Rollout) -> None:
    """Bring the ReplicaSets to the wanted number of pods without moving the rollout on."""
    live = [rs for rs in state.all if _size(rs) > 0]
    if len(live) <= 1:
        only = live or [rs for rs in (state.new, *state.old[-1:]) if rs is not None][:1]
        _resize_all(state, only, [state.limits.replicas] * len(only))
        return
    if state.new is not None and _is_saturated(state.new, state.limits.replicas):
        _resize_all(state, state.old, [0] * len(state.old))
        return
    live.sort(key=lambda rs: (-_size(rs), -revisions.revision_of(rs)))
    most = int(annotations_of(live[0]).get(revisions.MOST, 0))
    _resize_all(state, live, rollout.shared_out(state.limits, [_size(rs) for rs in live], most))


def _is_saturated(new: Obj, replicas: int) -> bool:
    return _in_numbers(new) == rollout.Revision(replicas, replicas)


def _resize_all(state: Rollout, replica_sets: Sequence[Obj], sizes: Sequence[int]) -> None:
    for replica_set, size in zip(replica_sets, sizes, strict=True):
        _resize(state, replica_set, size)


def _resize(state: Rollout, replica_set: Obj, size: int) -> None:
    was = _size(replica_set)
    if was == size == 0:
        return

    def edit(obj: Obj) -> None:
        obj["spec"]["replicas"] = size
        meta(obj)["annotations"] = annotations_of(obj) | _marks(state)

    state.registry.change(REPLICA_SET, replica_set, edit)
    _tell_size(state, replica_set, was, size)


def _marks(state: Rollout) -> dict[str, str]:
    """What a ReplicaSet remembers of its Deployment's size, to tell a change of size from a rollout."""
    return {revisions.DESIRED: str(state.limits.replicas), revisions.MOST: str(state.limits.most)}


def _tell_size(state: Rollout, replica_set: Obj, was: int, size: int) -> None:
    if was != size:
        direction = "up" if size > was else "down"
        text = f"Scaled {direction} replica set {name_of(replica_set)} from {was} to {size}"
        _EVENTS.normal(state.registry, state.deployment, "ScalingReplicaSet", text)


def _clean_up(state: Rollout) -> None:
    """Forget the oldest ReplicaSets beyond the history limit, once the rollout is complete."""
    condition = condition_of(state.deployment, "Progressing")
    if condition is None or condition.get("reason") != conditions.COMPLETE:
        return
    limit = int(state.deployment["spec"]["revisionHistoryLimit"])
    by_number = sorted(state.old, key=revisions.revision_of)
    for replica_set in by_number[: max(len(by_number) - limit, 0)]:
        empty = _size(replica_set) == 0 and at(replica_set, "status", "replicas", default=0) == 0
        if empty and not is_terminating(replica_set):
            delete(state.registry, REPLICA_SET, replica_set, Deletion())
