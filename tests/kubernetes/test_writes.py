"""A write as a request: its preconditions, its key, and that a dry-run is the very same request."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.adapters.kubernetes.hands import carries_key
from handrail.adapters.kubernetes.wire import Reply
from handrail.adapters.kubernetes.writes import answer_of, request_of
from handrail.model.errors import Bug, OutcomeUnknown
from handrail.model.hands import Answer
from handrail.model.reason import Reason
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from handrail.model.write import KEY_ANNOTATION, Verb, Write
from tests.kubernetes.objects import deployment, pod, raw

LIVE = deployment()
REF = ObjectRef.of(LIVE)
OPS = ({"op": "replace", "path": "/spec/replicas", "value": 3},)


def write(verb: Verb = Verb.PATCH, ref: ObjectRef = REF, **parts: Any) -> Write:
    given_ = {"ops": OPS if verb is Verb.PATCH else (), "summary": "scale checkout", "key": "inc/1/0/do/uid/patch"}
    return Write(verb=verb, object=ref, **{**given_, **parts})


def body_to_create() -> Raw:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": "shop", "name": "guard"},
    }


def created() -> Write:
    ref = ObjectRef(api_version="policy/v1", kind="PodDisruptionBudget", namespace="shop", name="guard")
    return write(Verb.CREATE, ref, body=body_to_create())


def test_a_patch_names_uid_and_version_first_and_leaves_its_key() -> None:
    request = request_of(write(), LIVE, "41", dry=False)
    assert (request.method, request.path, request.writes) == (
        "PATCH",
        "/apis/apps/v1/namespaces/shop/deployments/checkout",
        True,
    )
    assert request.body == [
        {"op": "replace", "path": "/metadata/uid", "value": REF.uid},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "41"},
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        *OPS,
        {"op": "add", "path": "/metadata/annotations/handrail.dev~1key", "value": "inc/1/0/do/uid/patch"},
    ]
    assert dict(request.query) == {"fieldManager": "handrail", "fieldValidation": "Strict"}


@pytest.mark.parametrize("annotations", [{}, {"a": "b"}])
def test_annotations_that_are_there_are_never_replaced(annotations: dict[str, str]) -> None:
    live = deployment()
    live["metadata"]["annotations"] = annotations
    paths = [op["path"] for op in request_of(write(), live, "41", dry=False).body]
    assert "/metadata/annotations" not in paths


def test_an_operation_that_sets_all_annotations_does_not_lose_the_key() -> None:
    setting = write(ops=({"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}},))
    assert request_of(setting, LIVE, "41", dry=False).body[-1]["path"] == "/metadata/annotations/handrail.dev~1key"


@pytest.mark.parametrize("one", [write(), write(Verb.DELETE), write(Verb.EVICT), created()], ids=lambda one: one.verb)
def test_a_dry_run_is_the_same_request_and_does_not_count_as_a_write(one: Write) -> None:
    live = None if one.verb is Verb.CREATE else LIVE
    real, dry = (request_of(one, live, "41", dry=dry) for dry in (False, True))
    assert (real.writes, dry.writes) == (True, False)
    assert (real.method, real.path) == (dry.method, dry.path)
    assert (*real.query, ("dryRun", "All")) == dry.query
    assert _without_dry_run(dry.body) == real.body


def _without_dry_run(body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    return {name: _without_dry_run(part) for name, part in body.items() if name != "dryRun"}


def test_a_delete_names_uid_and_version() -> None:
    request = request_of(write(Verb.DELETE), LIVE, "41", dry=False)
    assert request.body == {
        "preconditions": {"uid": REF.uid, "resourceVersion": "41"},
        "propagationPolicy": "Background",
    }


def test_an_eviction_names_the_uid() -> None:
    ref = ObjectRef.of(pod(LIVE, 1))
    request = request_of(write(Verb.EVICT, ref), pod(LIVE, 1), "41", dry=False)
    assert (request.method, request.path) == ("POST", "/api/v1/namespaces/shop/pods/checkout-1/eviction")
    assert request.body["deleteOptions"]["preconditions"] == {"uid": ref.uid}
    assert request.body["metadata"] == {"name": "checkout-1", "namespace": "shop"}


def test_what_is_created_bears_its_fixed_name_and_the_key() -> None:
    request = request_of(created(), None, "", dry=False)
    assert request.path == "/apis/policy/v1/namespaces/shop/poddisruptionbudgets"
    assert request.body["metadata"] == {
        "namespace": "shop",
        "name": "guard",
        "annotations": {KEY_ANNOTATION: "inc/1/0/do/uid/patch"},
    }


@pytest.mark.parametrize(
    "meta",
    [{"namespace": "shop"}, {"namespace": "shop", "generateName": "guard-"}, {"namespace": "x", "name": "guard"}],
)
def test_a_body_that_is_another_object_than_the_write_says_is_a_bug(meta: dict[str, str]) -> None:
    with pytest.raises(Bug):
        request_of(created().model_copy(update={"body": {**body_to_create(), "metadata": meta}}), None, "", dry=False)


def test_a_write_without_a_key_is_a_bug() -> None:
    with pytest.raises(Bug):
        request_of(write(key=""), LIVE, "41", dry=True)


def test_a_write_to_something_that_was_not_read_is_a_bug() -> None:
    with pytest.raises(Bug):
        request_of(write(), None, "41", dry=False)
    with pytest.raises(Bug):
        request_of(write(ref=REF.model_copy(update={"uid": ""})), LIVE, "41", dry=False)


@given(key=st.text(min_size=1), version=st.text(min_size=1), uid=st.text(min_size=1), annotated=st.booleans())
def test_every_patch_has_both_preconditions_before_anything_else(
    key: str, version: str, uid: str, annotated: bool
) -> None:
    live = deployment()
    if annotated:
        live["metadata"]["annotations"] = {"a": "b"}
    one = write(ref=REF.model_copy(update={"uid": uid}), key=key)
    body = request_of(one, live, version, dry=False).body
    assert [op["path"] for op in body[:2]] == ["/metadata/uid", "/metadata/resourceVersion"]
    assert [op["value"] for op in body[:2]] == [uid, version]
    assert all(op["op"] != "test" for op in body)
    assert body[-1]["value"] == key


def reply(status: int, reason: str = "", message: str = "said", **details: Any) -> Reply:
    return Reply(status, {"kind": "Status", "reason": reason, "message": message, "details": details}, {})


WRONG_UID = reply(
    422, "Invalid", "field is immutable", causes=[{"reason": "FieldValueInvalid", "field": "metadata.uid"}]
)
BUDGET = reply(429, "TooManyRequests", "needs 2 healthy pods", causes=[{"reason": "DisruptionBudget"}])


@pytest.mark.parametrize(
    ("said", "moved", "answer", "reason"),
    [
        (reply(409, "Conflict"), False, Answer.CONFLICT, None),
        (reply(409, "AlreadyExists"), False, Answer.CONFLICT, None),
        (reply(422, "Invalid"), False, Answer.REFUSED, Reason.REFUSED_BY_SERVER),
        (reply(422, "Invalid"), True, Answer.CONFLICT, None),
        (WRONG_UID, False, Answer.REFUSED, Reason.DRIFTED),
        (WRONG_UID, True, Answer.REFUSED, Reason.DRIFTED),
        (reply(403, "Forbidden"), False, Answer.REFUSED, Reason.DENIED),
        (reply(404, "NotFound", name="checkout"), False, Answer.REFUSED, Reason.DRIFTED),
        (reply(404, "NotFound"), False, Answer.REFUSED, Reason.REFUSED_BY_SERVER),
        (reply(400, "BadRequest"), False, Answer.REFUSED, Reason.REFUSED_BY_SERVER),
        (reply(413), False, Answer.REFUSED, Reason.REFUSED_BY_SERVER),
        (BUDGET, False, Answer.REFUSED, Reason.DISRUPTION_BUDGET),
    ],
)
def test_each_answer_has_its_word(said: Reply, moved: bool, answer: Answer, reason: Reason | None) -> None:
    sent = answer_of(write(), said, moved=moved)
    assert (sent.answer, sent.reason, sent.object) == (answer, reason, None)
    assert sent.detail == said.sentence


def test_success_gives_the_object_after_the_write_but_for_deletes_and_evictions() -> None:
    done = Reply(200, LIVE, {})
    assert answer_of(write(), done, moved=False).object == LIVE
    for verb in (Verb.DELETE, Verb.EVICT):
        assert answer_of(write(verb), done, moved=False).object is None


def test_success_without_an_object_is_an_unknown_outcome() -> None:
    with pytest.raises(OutcomeUnknown):
        answer_of(write(), Reply(200, {"kind": "Status", "status": "Success", "metadata": {}}, {}), moved=False)


def test_a_key_counts_only_where_it_is_this_very_one() -> None:
    live = raw("Deployment", "checkout", metadata={"annotations": {KEY_ANNOTATION: "a"}})
    assert carries_key(live, "a")
    assert not carries_key(live, "b")
    assert not carries_key(live, "")
    assert not carries_key(LIVE, "a")


def test_what_the_server_quotes_of_an_object_is_told_without_its_secrets() -> None:
    message = 'Deployment "checkout" is invalid: spec.template: Invalid value: "DB_PASSWORD=hunter2hunter2": no'
    sent = answer_of(write(), Reply(422, {"message": message, "details": {}}, {}), moved=False)
    assert "hunter2" not in sent.detail
    assert sent.detail.startswith('Deployment "checkout" is invalid')
