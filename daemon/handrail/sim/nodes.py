"""The nodes and namespaces that a simulated cluster has from the start."""

from .kinds import NAMESPACE, NODE
from .objects import Obj, clone
from .registry import Registry

_READY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)
_CAPACITY = {"cpu": "4", "memory": "16Gi", "pods": "110"}


def furnish(registry: Registry, nodes: int) -> None:
    """Make the namespaces that every cluster has, and this many ready nodes."""
    for name in ("default", "kube-system"):
        registry.create(NAMESPACE, "", {"metadata": {"name": name}})
    for number in range(1, nodes + 1):
        add_node(registry, f"node-{number}")


def add_node(registry: Registry, name: str) -> Obj:
    """Add a node that is ready at once."""
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    node = clone(registry.create(NODE, "", {"metadata": {"name": name, "labels": labels}, "spec": {}}))
    node["status"] = {
        "capacity": _CAPACITY,
        "allocatable": _CAPACITY,
        "conditions": [
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": registry.now(),
                "lastTransitionTime": registry.now(),
            }
            for kind, status, reason, message in _READY
        ],
        "addresses": [{"type": "Hostname", "address": name}],
        "nodeInfo": {"kubeletVersion": "v1.36.0", "operatingSystem": "linux", "architecture": "amd64"},
    }
    return registry.store.put(NODE, node)
