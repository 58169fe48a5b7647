"""What changed in the pod template from one revision to the next, with the values of secret variables hidden. Pure."""

from __future__ import annotations

import difflib
from datetime import datetime
from itertools import pairwise

import yaml

from handrail.adapters.evidence.pieces import Origin, piece
from handrail.core.veil import veiled
from handrail.model.evidence import Piece, Trust
from handrail.model.value import Raw
from handrail.model.workload import Workload, bare_template, revision_of

MOST_DIFFS = 3


def diffs(workload: Workload, now: datetime) -> tuple[Piece, ...]:
    """The three newest changes, newest first; a template whose ReplicaSet is not there yet counts as the newest."""
    sets = sorted(workload.replica_sets, key=revision_of, reverse=True)
    states = [(f"revision {revision_of(one)}", one["spec"]["template"]) for one in sets]
    if workload.replica_sets and workload.current is None:
        states.insert(0, ("the current template", workload.spec.get("template") or {}))
    found = []
    for (name, template), (old_name, old) in list(pairwise(states))[:MOST_DIFFS]:
        text = diff(old, template)
        title = f"{workload.ref}: what changed from {old_name} to {name}"
        source = f"kubernetes: ReplicaSets of {workload.ref}"
        found.append(
            piece(Origin("template_diff", source, now, Trust.API), title, text or "nothing in the pod template")
        )
    return tuple(found)


def diff(old: Raw, new: Raw) -> str:
    """A unified diff as YAML; "" where the templates are the same."""
    before, after = bare_template(old), bare_template(new)
    one, other = _lines(veiled(before)), _lines(veiled(after, before))
    return "\n".join(difflib.unified_diff(one, other, "before", "after", lineterm="", n=2))


def _lines(template: Raw) -> list[str]:
    text: str = yaml.safe_dump(template, sort_keys=True, default_flow_style=False, allow_unicode=True, width=160)
    return text.splitlines()
