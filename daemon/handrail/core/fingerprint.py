"""What an approval is bound to: a hash of an object's normalised spec and declared metadata, by an allow-list per kind.

Never status, resourceVersion or managedFields: a crashing workload's status moves every few seconds at one
generation (design 1.4, measured). Diffs compare objects normalised in the same way.
"""

from __future__ import annotations

import difflib

import yaml

from handrail.core.veil import veiled
from handrail.model.marks import CORDONED_AT, MAINTENANCE, NOTE, PAUSED_BY
from handrail.model.pods import has_ended
from handrail.model.value import Raw, digest
from handrail.model.workload import GITOPS_MARKS, controller_name

WATCHED_ANNOTATIONS = frozenset({*GITOPS_MARKS, PAUSED_BY, CORDONED_AT, MAINTENANCE, NOTE})
"""Annotations that some step's check reads; `deployment.kubernetes.io/*` and last-applied are the cluster's own."""

DIFF_LIMIT = 6000
"""Characters of a diff that an approver sees; a longer one says how much is hidden and is still bound by its hash."""


def normalise(raw: Raw, *, with_replicas: bool) -> Raw:
    """The part of an object that people declare. `with_replicas` only where the write sets them (else HPA noise)."""
    meta = raw["metadata"]
    kept: Raw = {
        "apiVersion": raw.get("apiVersion", ""),
        "kind": raw.get("kind", ""),
        "metadata": {
            "namespace": meta.get("namespace", ""),
            "name": meta["name"],
            "labels": dict(meta.get("labels") or {}),
            "annotations": {
                key: text for key, text in (meta.get("annotations") or {}).items() if key in WATCHED_ANNOTATIONS
            },
            "ownerReferences": list(meta.get("ownerReferences") or ()),
        },
    }
    if "spec" in raw:
        kept["spec"] = _spec(raw["spec"], with_replicas)
    if "data" in raw:
        kept["data"] = raw["data"]
    return kept


def _spec(spec: Raw, with_replicas: bool) -> Raw:
    kept = {key: part for key, part in spec.items() if key not in ("nodeName", "volumeName")}
    if not with_replicas:
        kept.pop("replicas", None)
    taints = kept.pop("taints", None) or ()
    declared = [t for t in taints if not str(t.get("key", "")).startswith("node.kubernetes.io/")]
    return {**kept, "taints": declared} if declared else kept


def fingerprint(raw: Raw, *, with_replicas: bool) -> str:
    """SHA-256 (hex) over UID and the normalised object: another object of the same name is another fingerprint."""
    return digest({"uid": raw["metadata"]["uid"], "object": normalise(raw, with_replicas=with_replicas)})


def diff(before: Raw, after: Raw, *, with_replicas: bool) -> str:
    """A unified diff of the two normalised objects as YAML; "" where nothing that counts would change. People see it:
    what looks like a secret is hidden, but that it changes is not."""
    old, new = (normalise(raw, with_replicas=with_replicas) for raw in (before, after))
    one, other = _lines(veiled(old)), _lines(veiled(new, old))
    return "\n".join(difflib.unified_diff(one, other, "before", "after", lineterm="", n=2))


NOT_COMING_BACK = "nothing brings this very object back; what its controller makes in its place stays"


def gone(before: Raw) -> str:
    """What a delete or an eviction takes away, and who replaces it: fixed fields only, so it reads the same later."""
    meta, spec = before["metadata"], before.get("spec") or {}
    said = [
        f"-{before.get('kind', 'object')} {meta.get('namespace', '')}/{meta['name']}, uid {meta['uid']}",
        *(f"-  container {one.get('name')}: {one.get('image')}" for one in spec.get("containers") or ()),
        *(f"-  its emptyDir {one.get('name')} with what is in it" for one in emptied(spec)),
        f" {_replaced(before)}",
    ]
    return "\n".join(said)


def _replaced(before: Raw) -> str:
    if has_ended(before):
        return "it has ended and serves nobody"
    maker = controller_name(before)
    return f"{maker} makes another in its place" if maker else "nobody makes another in its place"


def emptied(spec: Raw) -> list[Raw]:
    return [volume for volume in spec.get("volumes") or () if "emptyDir" in volume]


def shown(text: str, limit: int = DIFF_LIMIT) -> str:
    """A diff as a person sees it: whole lines up to `limit` characters, and a line that says what is hidden."""
    if len(text) <= limit:
        return text
    kept = text[:limit].rsplit("\n", 1)[0]
    hidden = text.count("\n") - kept.count("\n")
    return f"{kept}\n… {hidden} more lines are not shown; the approval covers them too"


def _lines(raw: Raw) -> list[str]:
    text: str = yaml.safe_dump(raw, sort_keys=True, default_flow_style=False, allow_unicode=True, width=160)
    return text.splitlines()
