"""What an incident is about: first as labels claim it (pure), later as the API server confirms it (by UID)."""

from __future__ import annotations

from handrail.model.value import Raw, Value

OWNED = frozenset({"Pod", "ReplicaSet", "Job"})
"""Kinds that a controller makes and replaces: what is broken is what owns them, which only the API server tells."""


class ObjectRef(Value):
    """One Kubernetes object. `uid` is empty only before the API server was asked."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @staticmethod
    def of(raw: Raw) -> ObjectRef:
        """The reference of an object as the API server sent it (list items need apiVersion and kind set)."""
        meta = raw["metadata"]
        return ObjectRef(
            api_version=raw["apiVersion"],
            kind=raw["kind"],
            namespace=meta.get("namespace", ""),
            name=meta["name"],
            uid=meta.get("uid", ""),
        )


class LabelledTarget(Value):
    """What an alert's labels say is broken. A claim: nothing is done to it before the API server confirmed it.

    `kind` is a Kubernetes kind ("Deployment", "Pod", ...); `uid` only where the alert carries the pod's;
    `container` may be empty.
    """

    kind: str
    namespace: str
    name: str
    uid: str = ""
    container: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"
