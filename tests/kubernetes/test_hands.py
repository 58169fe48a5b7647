"""The hands in the awkward moments: what moved, what is gone, what was lost. The real answers are tried elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.adapters.kubernetes import KubernetesHands
from handrail.model.errors import Bug, OutcomeUnknown, Transient
from handrail.model.hands import Answer, DryRun, Sent
from handrail.model.reason import Reason, Refusal
from handrail.model.switch import Permit
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.write import Verb, Write
from tests.kubernetes.objects import deployment
from tests.kubernetes.scripted import Say, Scripted, Told, cluster_of, missing, refusal

LIVE = deployment()
WRITE = Write(
    verb=Verb.PATCH,
    object=ObjectRef.of(LIVE),
    ops=({"op": "replace", "path": "/spec/replicas", "value": 5},),
    summary="scale checkout to 5",
    key="inc/1/0/do/uid/patch",
)
STALE = refusal(409, "Conflict", "the object has been modified")


def version(number: int) -> Raw:
    return {**LIVE, "metadata": {**LIVE["metadata"], "resourceVersion": str(number)}}


async def dry_run(tmp_path: Path, *answers: Say, write: Write = WRITE) -> tuple[DryRun | Refusal, Scripted]:
    scripted = Scripted(*answers)
    async with cluster_of(tmp_path, scripted) as cluster:
        return await KubernetesHands(cluster).dry_run(write), scripted


async def send(tmp_path: Path, *answers: Say, write: Write = WRITE) -> tuple[Sent, Scripted]:
    scripted = Scripted(*answers)
    async with cluster_of(tmp_path, scripted) as cluster:
        permit = Permit(incident="inc", write=write, resource_version="7", attempt=1)
        return await KubernetesHands(cluster).send(permit), scripted


async def test_a_dry_run_shows_before_after_and_the_version_just_read(tmp_path: Path) -> None:
    shown, scripted = await dry_run(tmp_path, Say(200, version(9)), Say(200, version(9)))
    assert isinstance(shown, DryRun)
    assert shown.resource_version == "9"
    assert scripted.told[1].query["dryRun"] == "All"
    assert scripted.told[1].body[1]["value"] == "9"


async def test_an_object_that_moves_during_its_dry_run_is_read_again(tmp_path: Path) -> None:
    answers = (Say(200, version(9)), STALE, Say(200, version(10)), Say(200, version(10)))
    shown, _ = await dry_run(tmp_path, *answers)
    assert isinstance(shown, DryRun)
    assert shown.resource_version == "10"


async def test_an_object_that_never_stands_still_is_tried_later(tmp_path: Path) -> None:
    with pytest.raises(Transient):
        await dry_run(tmp_path, *(Say(200, version(9)), STALE) * 3)


async def test_a_dry_run_of_something_that_is_gone_or_another_object_is_refused(tmp_path: Path) -> None:
    gone, _ = await dry_run(tmp_path, missing("checkout", "deployments"))
    assert isinstance(gone, Refusal)
    assert gone.reason is Reason.TARGET_GONE
    other = {**LIVE, "metadata": {**LIVE["metadata"], "uid": "another"}}
    drifted, scripted = await dry_run(tmp_path, Say(200, other))
    assert isinstance(drifted, Refusal)
    assert drifted.reason is Reason.DRIFTED
    assert len(scripted.told) == 1


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (refusal(403, "Forbidden", "a policy says no"), Reason.DENIED),
        (refusal(422, "Invalid", "spec is wrong"), Reason.REFUSED_BY_SERVER),
        (missing("checkout"), Reason.TARGET_GONE),
    ],
)
async def test_a_dry_run_that_the_server_refuses_says_why(tmp_path: Path, said: Say, reason: Reason) -> None:
    refused, _ = await dry_run(tmp_path, Say(200, LIVE), said)
    assert isinstance(refused, Refusal)
    assert refused.reason is reason
    assert refused.detail == said.body["message"]


@pytest.mark.parametrize("said", [Say(cut=True), Say(500), Say(200, {"kind": "Status"}), Say(200, raw="<html>")])
async def test_a_dry_run_without_an_answer_changed_nothing(tmp_path: Path, said: Say) -> None:
    with pytest.raises(Transient):
        await dry_run(tmp_path, Say(200, LIVE), said)


async def test_sending_names_the_version_of_the_permit_and_sends_once(tmp_path: Path) -> None:
    sent, scripted = await send(tmp_path, Say(200, version(9)), Say(200, version(10)))
    assert sent.answer is Answer.DONE
    assert sent.object == version(10)
    assert [told.method for told in scripted.told] == ["GET", "PATCH"]
    assert scripted.told[1].body[1]["value"] == "7"
    assert "dryRun" not in scripted.told[1].query


@pytest.mark.parametrize("said", [Say(cut=True), Say(500), Say(503), Say(504), Say(200, raw="<html>"), Say(200, {})])
async def test_a_write_whose_answer_is_lost_is_unknown_and_not_sent_again(tmp_path: Path, said: Say) -> None:
    scripted = Scripted(Say(200, LIVE), said)
    async with cluster_of(tmp_path, scripted) as cluster:
        permit = Permit(incident="inc", write=WRITE, resource_version="7", attempt=1)
        with pytest.raises(OutcomeUnknown):
            await KubernetesHands(cluster).send(permit)
    assert [told.method for told in scripted.told] == ["GET", "PATCH"]


@pytest.mark.parametrize("said", [Say(cut=True), Say(500), Say(429)])
async def test_when_even_reading_fails_nothing_was_sent(tmp_path: Path, said: Say) -> None:
    with pytest.raises(Transient):
        await send(tmp_path, said)


async def test_a_patch_that_fails_on_a_moved_object_is_a_conflict(tmp_path: Path) -> None:
    invalid = refusal(422, "Invalid", "the server rejected our request due to an error in our request")
    moved, _ = await send(tmp_path, Say(200, version(9)), invalid)
    still, _ = await send(tmp_path, Say(200, version(7)), invalid)
    assert moved.answer is Answer.CONFLICT
    assert (still.answer, still.reason) == (Answer.REFUSED, Reason.REFUSED_BY_SERVER)


async def test_what_is_gone_is_not_written_to(tmp_path: Path) -> None:
    sent, scripted = await send(tmp_path, missing("checkout", "deployments"))
    assert (sent.answer, sent.reason) == (Answer.REFUSED, Reason.DRIFTED)
    assert [told.method for told in scripted.told] == ["GET"]


async def test_what_may_not_be_read_is_not_written_to(tmp_path: Path) -> None:
    sent, scripted = await send(tmp_path, refusal(403, "Forbidden", "no"))
    assert (sent.answer, sent.reason) == (Answer.REFUSED, Reason.DENIED)
    assert len(scripted.told) == 1


async def test_a_permit_without_a_version_is_a_bug(tmp_path: Path) -> None:
    async with cluster_of(tmp_path, Scripted()) as cluster:
        with pytest.raises(Bug):
            await KubernetesHands(cluster).send(Permit(incident="i", write=WRITE, resource_version="", attempt=1))


@pytest.mark.parametrize(
    ("answer", "wanted"), [(Say(201, LIVE), Answer.DONE), (refusal(409, "AlreadyExists", "is there"), Answer.CONFLICT)]
)
async def test_a_create_reads_nothing_and_conflicts_with_what_is_there(
    tmp_path: Path, answer: Say, wanted: Answer
) -> None:
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "shop", "name": "checkout"}}
    write = WRITE.model_copy(update={"verb": Verb.CREATE, "ops": (), "body": body})
    sent, scripted = await send(tmp_path, answer, write=write)
    assert sent.answer is wanted
    assert [told.method for told in scripted.told] == ["POST"]


async def test_the_same_write_is_sent_in_dry_run_and_in_earnest(tmp_path: Path) -> None:
    def by() -> Callable[[Told], Say]:
        return lambda told: Say(200, LIVE)

    scripted = Scripted(by=by())
    async with cluster_of(tmp_path, scripted) as cluster:
        hands = KubernetesHands(cluster)
        await hands.dry_run(WRITE)
        await hands.send(Permit(incident="inc", write=WRITE, resource_version="7", attempt=1))
    dry, real = (told for told in scripted.told if told.method == "PATCH")
    assert dry.body == real.body
    assert dry.query == {**real.query, "dryRun": "All"}
