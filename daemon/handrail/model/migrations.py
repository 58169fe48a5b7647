"""Jobs that may have changed a schema since a revision: where one did, old code would meet a new schema.

Pure. A schema has no version that the API server knows of: what speaks of a migration and belongs to the release is
taken for one, and whatever else ran beside it is said to the person who is asked.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from handrail.model.marks import MIGRATION
from handrail.model.selector import labels_of
from handrail.model.value import Raw, moment
from handrail.model.workload import Workload, controller_of

RELEASE = "meta.helm.sh/release-name"
INSTANCE = "app.kubernetes.io/instance"
HOOK = "helm.sh/hook"
AROUND_AN_UPGRADE = ("pre-install", "post-install", "pre-upgrade", "post-upgrade")
"""Hooks that run once beside a new revision; tests and rollbacks of Helm's own are not among them."""

WORDS = ("migrat", "schema", "flyway", "liquibase", "alembic", "dbmate", "db-upgrade")

MOST_NAMED = 2


class Since(NamedTuple):
    """Names of Jobs: `migrated` are taken for migrations of this very release, `beside` may be."""

    migrated: tuple[str, ...]
    beside: tuple[str, ...]


def since(w: Workload, made: datetime | None, templates: tuple[Raw, ...]) -> Since:
    """Of the Jobs that were at work after a revision was `made`; where nobody knows when, of all. `templates` are the
    pods that the release ran then and runs now."""
    mine, other = [], []
    for job in w.jobs:
        if not _later(job, made) or _by_the_clock(job):
            continue
        says, ours = _says_so(job), _belongs(job, w, templates)
        name = str(job["metadata"].get("name", ""))
        if says and ours:
            mine.append(name)
        elif says or ours:
            other.append(name)
    return Since(tuple(sorted(mine)), tuple(sorted(other)))


def named(jobs: tuple[str, ...]) -> str:
    """At most two by name."""
    more = f" and {len(jobs) - MOST_NAMED} more" if len(jobs) > MOST_NAMED else ""
    return f"{'Job' if len(jobs) == 1 else 'Jobs'} {', '.join(jobs[:MOST_NAMED])}{more}"


def _later(job: Raw, made: datetime | None) -> bool:
    """Made, begun, ended or at work since: a Job may have been held back (`suspend`) or take hours."""
    status = job.get("status") or {}
    said = (job["metadata"].get("creationTimestamp"), status.get("startTime"), status.get("completionTime"))
    known = [at for at in map(moment, said) if at is not None]
    return made is None or not known or bool(status.get("active")) or max(known) >= made


def _by_the_clock(job: Raw) -> bool:
    """What a CronJob makes is no part of a release, unless it is marked as a migration."""
    owner = controller_of(job)
    return owner is not None and owner.get("kind") == "CronJob" and not _marked(job)


def _says_so(job: Raw) -> bool:
    hooks = str((job["metadata"].get("annotations") or {}).get(HOOK, "")).split(",")
    if _marked(job) or any(hook.strip() in AROUND_AN_UPGRADE for hook in hooks):
        return True
    said = [str(job["metadata"].get("name", "")), *map(str, labels_of(job).values())]
    for one in _containers(_template(job)):
        parts = (one.get("name"), one.get("image"), *(one.get("command") or ()), *(one.get("args") or ()))
        said += [str(part) for part in parts]
    text = " ".join(said).lower()
    return any(word in text for word in WORDS)


def _marked(job: Raw) -> bool:
    metas = (job["metadata"], _template(job).get("metadata") or {})
    return any(MIGRATION in {**(meta.get("labels") or {}), **(meta.get("annotations") or {})} for meta in metas)


def _belongs(job: Raw, w: Workload, templates: tuple[Raw, ...]) -> bool:
    """By the release that both name, by the beginning of its name, or by an image of the same repository."""
    name, own = str(job["metadata"].get("name", "")), str(w.object["metadata"].get("name", ""))
    releases = _releases(w.object)
    if releases & _releases(job) or any(name == one or name.startswith(f"{one}-") for one in (own, *releases)):
        return True
    ours = {_repository(one) for template in templates for one in _containers(template)} - {""}
    return any(_repository(one) in ours for one in _containers(_template(job)))


def _releases(raw: Raw) -> frozenset[str]:
    notes = raw["metadata"].get("annotations") or {}
    return frozenset({str(notes.get(RELEASE, "")), str(labels_of(raw).get(INSTANCE, ""))} - {""})


def _template(job: Raw) -> Raw:
    found: Raw = (job.get("spec") or {}).get("template") or {}
    return found


def _containers(template: Raw) -> tuple[Raw, ...]:
    spec = template.get("spec") or {}
    return (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))


def _repository(container: Raw) -> str:
    """An image without its tag and digest; the colon of a port stands before the last slash."""
    bare = str(container.get("image", "")).partition("@")[0]
    path, slash, last = bare.rpartition("/")
    return f"{path}{slash}{last.partition(':')[0]}"
