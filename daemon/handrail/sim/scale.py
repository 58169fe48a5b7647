"""The scale subresource: a workload seen as nothing but its number of replicas."""

from .kinds import Kind
from .objects import Obj, at, clone, meta, name_of
from .status import Cause, invalid, other_uid, stale, wrong

_COPIED = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def view(workload: Obj) -> Obj:
    """The Scale of this workload. Zero replicas are left out, as the real one leaves them out."""
    replicas = int(at(workload, "spec", "replicas", default=0))
    pairs = at(workload, "spec", "selector", "matchLabels", default={})
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta(workload)[key] for key in _COPIED if key in meta(workload)},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {
            "replicas": int(at(workload, "status", "replicas", default=0)),
            "selector": ",".join(f"{key}={value}" for key, value in sorted(pairs.items())),
        },
    }


def applied(kind: Kind, workload: Obj, wanted: Obj) -> Obj:
    """The workload with the replicas of this Scale; anything else in the Scale is dropped."""
    uid, version = meta(wanted).get("uid"), meta(wanted).get("resourceVersion")
    name = name_of(workload)
    if uid and uid != meta(workload)["uid"]:
        raise other_uid(kind, name, uid, meta(workload)["uid"], part="scale")
    if version and version != meta(workload)["resourceVersion"]:
        raise stale(kind, name, part="scale")
    replicas = int(at(wanted, "spec", "replicas", default=0))
    if replicas < 0:
        causes: list[Cause] = [wrong("spec.replicas", replicas, "must be greater than or equal to 0")]
        raise invalid(Kind("autoscaling", "v1", "Scale", "scales"), name, causes)
    after = clone(workload)
    after["spec"]["replicas"] = replicas
    return after
