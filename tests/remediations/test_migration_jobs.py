"""Jobs that ran between a revision and now: what refuses the undo, what stands on the card, and what is nobody's
business."""

from __future__ import annotations

import copy
from datetime import datetime, timedelta
from typing import Any

import pytest

import handrail_remediations
from handrail.core.blast import blast
from handrail.model.marks import MIGRATION
from handrail.model.reason import Reason
from handrail.model.step import Seen
from handrail.model.value import Raw
from handrail.model.workload import Workload
from tests.remediations.contract import Recorded
from tests.remediations.workloads import NOW, bad_rollout, changed, text, with_meta

STEP = handrail_remediations.catalogue()["rollout_undo"]
MADE = NOW - timedelta(hours=2)
"""When the healthy revision came; the bad one half an hour ago."""


def world(*jobs: Raw, made: datetime | None = MADE, **meta: Any) -> Workload:
    w = bad_rollout()
    old = copy.deepcopy(w.replica_sets[0])
    if made is not None:
        old["metadata"]["creationTimestamp"] = text(made)
    return with_meta(changed(w, replica_sets=(old, *w.replica_sets[1:]), jobs=jobs), **meta)


def job(
    name: str = "one-off", *, image: str = "tools/run:1", minutes_ago: float = 40, command: str = "run", **meta: Any
) -> Raw:
    container = {"name": "main", "image": image, "command": ["sh", "-c", command]}
    created = {"creationTimestamp": text(NOW - timedelta(minutes=minutes_ago))}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": "shop", "name": name, "uid": name, **created, **meta},
        "spec": {"template": {"metadata": {}, "spec": {"containers": [container]}}},
    }


def said(w: Workload) -> tuple[str, str]:
    """The reason of a no, or the sentence of the offer."""
    seen = Seen(workload=w)
    refusal = STEP.check(seen, STEP.Params.model_validate({"to_revision": 1}))
    offers = STEP.propose(seen)
    assert (refusal is None) is bool(offers)
    return (refusal.reason, refusal.detail) if refusal else ("", offers[0].summary)


RELEASE: Raw = {"labels": {"app.kubernetes.io/instance": "shop-prod"}}
HELM: Raw = {"annotations": {"meta.helm.sh/release-name": "shop-prod"}}


@pytest.mark.parametrize(
    ("how", "meta"),
    [
        (job("checkout-migrate-42"), {}),
        (job("db-migrate", image="shop/checkout:1.1-broken"), {}),
        (job("before", image="shop/checkout:1.0", command="python manage.py migrate"), {}),
        (job("schema-7", **RELEASE), RELEASE),
        (job("upgrade", **HELM, labels={"task": "liquibase"}), HELM),
        (job("hook", annotations={**HELM["annotations"], "helm.sh/hook": "pre-upgrade,pre-install"}), HELM),
        (job("checkout-9", annotations={MIGRATION: "2026-11-add-column"}), {}),
    ],
    ids=["its name", "its image", "its command", "its instance", "its release", "a hook of helm", "the declared mark"],
)
def test_a_job_that_speaks_of_a_migration_of_this_release_refuses_the_undo(how: Raw, meta: Raw) -> None:
    reason, detail = said(world(how, **meta))
    assert reason == Reason.MIGRATION_BETWEEN
    assert f"Job {how['metadata']['name']} ran since revision 1 of Deployment shop/checkout" in detail
    assert STEP.why_not(Seen(workload=world(how, **meta))).reason is Reason.MIGRATION_BETWEEN  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "status",
    [{"startTime": text(NOW - timedelta(minutes=40))}, {"completionTime": text(NOW)}, {"active": 1}],
    ids=["it was suspended", "it took hours", "it goes on"],
)
def test_a_job_that_was_made_before_that_revision_and_ran_on_after_it_is_one_too(status: Raw) -> None:
    early = {**job("checkout-migrate-41", minutes_ago=121), "status": status}
    assert said(world(early))[0] == Reason.MIGRATION_BETWEEN


@pytest.mark.parametrize(
    "how",
    [job("seed", image="shop/checkout:1.0"), job("checkout-smoke"), job("migrate-the-other", image="bank/ledger:3")],
    ids=["its image alone", "its name alone", "a migration of nobody knows whom"],
)
def test_what_may_be_one_stands_on_the_card_and_a_person_decides(how: Raw) -> None:
    reason, summary = said(world(how))
    assert reason == ""
    name = how["metadata"]["name"]
    assert summary == (
        "undo the rollout of Deployment shop/checkout to revision 1"
        f" (Job {name} ran since: is its schema still the old one?)"
    )


@pytest.mark.parametrize(
    "how",
    [
        job("checkout-migrate-41", minutes_ago=121),
        job("report", image="tools/run:1"),
        job(
            "checkout-schema-check", ownerReferences=[{"kind": "CronJob", "name": "n", "uid": "u", "controller": True}]
        ),
        job("tested", annotations={"helm.sh/hook": "test"}),
    ],
    ids=["of before that revision", "of somebody else", "of a CronJob", "a test of helm's"],
)
def test_what_is_of_before_of_others_or_by_the_clock_is_nobodys_business(how: Raw) -> None:
    assert said(world(how)) == ("", "undo the rollout of Deployment shop/checkout to revision 1")


def test_where_nobody_knows_when_the_revision_came_every_job_counts() -> None:
    assert said(world(job("checkout-migrate-1", minutes_ago=9999), made=None))[0] == Reason.MIGRATION_BETWEEN


def test_of_many_that_may_be_one_two_are_named() -> None:
    many = [job(f"checkout-{number}") for number in range(4)]
    assert said(world(*many))[1].endswith(
        "(Jobs checkout-0, checkout-1 and 2 more ran since: is its schema still the old one?)"
    )


async def test_the_look_reads_the_jobs_of_the_namespace() -> None:
    seen = await STEP.look(Recorded(world(), job("checkout-migrate-42")), world().ref)
    assert seen is not None
    refusal = STEP.check(seen, STEP.Params.model_validate({"to_revision": 1}))
    assert refusal is not None
    assert refusal.reason is Reason.MIGRATION_BETWEEN


def test_what_helm_alone_installed_may_be_undone_and_the_card_says_what_its_next_upgrade_does() -> None:
    """Nothing of Helm's puts a change back within minutes, as a GitOps tool or an operator does (Flux's own Helm
    controller is known by its marks and by its field manager)."""
    w = world(**HELM)
    assert said(w)[0] == ""
    assert "Helm installed it: its next upgrade may put this back" in blast(w, ()).notes
    flux: Raw = {"labels": {"helm.toolkit.fluxcd.io/name": "shop"}}
    assert said(world(**{**HELM, **flux}))[0] == Reason.GITOPS_MANAGED
