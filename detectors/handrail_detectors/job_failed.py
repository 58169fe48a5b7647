"""A Job has failed; of a CronJob, the newest of its runs has, or an older one has and a later one did well.

Confirmed by the Job's own condition Failed and its reason. Traps: the alert fires until the Job object is deleted, so
a later run that succeeded ends the trouble and not the alert; its pods are gone before it is, and the logs with them;
a run may not be repeated without harm; one that is suspended or at work has not failed. Hands the planner the reason,
which run, and whether a later one succeeded. No step of the catalogue deletes a Job: a person gets it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from pydantic import Field

from handrail.model.detector import Watches, Window
from handrail.model.finding import Cause, Finding, Handling
from handrail.model.value import Raw, moment
from handrail.model.workload import owned_by
from handrail_detectors._made import RECENT, Facts, Made, Said, Settings, finding, many, target_of

NAME = "job_failed"
REASONS = frozenset({"BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy", "MaxFailedIndexesExceeded"})
SCHEDULED = frozenset({"TooManyMissedTimes", "FailedNeedsStart", "MissSchedule"})
OLDEST = datetime.min.replace(tzinfo=UTC)


class Params(Settings):
    """`times`: so many events open."""

    times: int = Field(default=2, ge=2, le=100)


def find(window: Window, now: datetime, p: Params) -> Iterator[Finding]:
    raw = window.object
    if raw is not None and raw.get("kind") in ("Job", "CronJob") and "deletionTimestamp" not in raw["metadata"]:
        runs = (raw,) if raw["kind"] == "Job" else _runs(raw, window.owned)
        said = _said(runs)
        if said is not None:
            yield finding(NAME, target_of(raw), said)
    told = many(window, REASONS | SCHEDULED, now, p.times)
    if told is not None:
        summary = f"a Job failed or was not started {told.times} times, by its events ({told.newest.reason})"
        said = Said(Cause.JOB_FAILED, Handling.DIAGNOSE, summary, told.facts, corroborated=False)
        yield finding(NAME, told.newest.target, said)


def _runs(cron: Raw, owned: tuple[Raw, ...]) -> tuple[Raw, ...]:
    """Its own Jobs, oldest first."""
    mine = [job for job in owned if owned_by(job, str(cron["metadata"].get("uid", "")))]
    return tuple(sorted(mine, key=_began))


def _began(job: Raw) -> datetime:
    return moment((job.get("status") or {}).get("startTime")) or OLDEST


def _said(runs: tuple[Raw, ...]) -> Said | None:
    failed = next((job for job in reversed(runs) if _condition(job, "Failed")), None)
    if failed is None:
        return None
    later = any(_condition(job, "Complete") for job in runs if _began(job) > _began(failed))
    reason = str(_condition(failed, "Failed").get("reason", ""))
    facts: Facts = {
        "job": str(failed["metadata"]["name"]),
        "reason": reason if reason in REASONS else "other",
        "failed_pods": int((failed.get("status") or {}).get("failed") or 0),
        "later_success": later,
    }
    since = "; a later run succeeded, so only the failed Job is left" if later else ""
    return Said(Cause.JOB_FAILED, Handling.DIAGNOSE, f"Job {facts['job']} failed ({facts['reason']}){since}", facts)


def _condition(job: Raw, kind: str) -> Raw:
    found = (job.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one.get("type") == kind and one.get("status") == "True"), {})


detector = Made(
    name=NAME,
    watches=frozenset({Watches.EVENTS, Watches.OBJECT}),
    Params=Params,
    find=find,
    reach=RECENT,
    confirmed_by="the Job's condition Failed and its reason",
    example="Job report-29 failed (BackoffLimitExceeded)",
)
