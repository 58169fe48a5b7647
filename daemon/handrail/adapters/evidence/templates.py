"""What changed in the pod template from one revision to the next, with the values of secret variables hidden. Pure."""

from __future__ import annotations

import difflib
from datetime import datetime
from itertools import pairwise

import yaml

from handrail.adapters.evidence.pieces import piece
from handrail.core.redact import MARK, redact, secret_name
from handrail.model.evidence import Piece, Trust
from handrail.model.value import Raw
from handrail.model.workload import Workload, bare_template, revision_of

CHANGED = "[redacted, changed]"
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
        found.append(piece("template_diff", source, now, Trust.API, title, text or "nothing in the pod template"))
    return tuple(found)


def diff(old: Raw, new: Raw) -> str:
    """A unified diff as YAML; "" where the templates are the same."""
    one, other = (_lines(_shown(template, beside)) for template, beside in ((old, None), (new, old)))
    return "\n".join(difflib.unified_diff(one, other, "before", "after", lineterm="", n=2))


def _lines(template: Raw) -> list[str]:
    text: str = yaml.safe_dump(template, sort_keys=True, default_flow_style=False, allow_unicode=True, width=160)
    return text.splitlines()


def _shown(template: Raw, before: Raw | None) -> Raw:
    """The template with secret values hidden; beside the one before it, a hidden value says that it changed."""
    bare = bare_template(template)
    spec = dict(bare.get("spec") or {})
    old_spec = (before or {}).get("spec") or {}
    for part in ("initContainers", "containers"):
        if spec.get(part):
            old = {c.get("name"): c for c in old_spec.get(part) or ()}
            spec[part] = [_container(c, old.get(c.get("name")) or {}) for c in spec[part]]
    return {**bare, "spec": spec}


def _container(container: Raw, old: Raw) -> Raw:
    kept = dict(container)
    values = {entry.get("name"): entry.get("value") for entry in old.get("env") or ()}
    if kept.get("env"):
        kept["env"] = [_variable(entry, values) for entry in kept["env"]]
    for part in ("command", "args"):
        if kept.get(part):
            kept[part] = _words([str(word) for word in kept[part]])
    return kept


def _variable(entry: Raw, old: dict[str, str]) -> Raw:
    name, value = str(entry.get("name", "")), entry.get("value")
    if not value:
        return entry
    hidden = MARK if secret_name(name) else redact(str(value))
    if MARK not in hidden:
        return {**entry, "value": hidden}
    changed = name in old and old[name] != value
    return {**entry, "value": CHANGED if changed else hidden}


def _words(words: list[str]) -> list[str]:
    """A flag that names a secret and has no `=` hides the word after it."""
    kept = []
    for before, word in zip(["", *words], words, strict=False):
        hidden = before.startswith("-") and "=" not in before and secret_name(before) and not word.startswith("-")
        kept.append(MARK if hidden else redact(word))
    return kept
