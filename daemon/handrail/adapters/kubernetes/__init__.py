"""The Kubernetes API server: one client, eyes that only read, hands that only write with a permit."""

from handrail.adapters.kubernetes.client import Cluster
from handrail.adapters.kubernetes.eyes import KubernetesEyes, look_at
from handrail.adapters.kubernetes.hands import KubernetesHands, carries_key, is_gone
from handrail.adapters.kubernetes.resolve import resolve
from handrail.adapters.kubernetes.rights import KubernetesRights, Right

__all__ = [
    "Cluster",
    "KubernetesEyes",
    "KubernetesHands",
    "KubernetesRights",
    "Right",
    "carries_key",
    "is_gone",
    "look_at",
    "resolve",
]
