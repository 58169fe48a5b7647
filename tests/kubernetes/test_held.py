"""A 403 that is a stop of the cluster's own, and all the texts that only look like one.

The frame is the API server's, what stands in it may be anybody's: an annotation, an image, another policy's words.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.adapters.kubernetes import KubernetesRights
from handrail.adapters.kubernetes.wire import SENTENCE, Reply
from handrail.adapters.kubernetes.writes import answer_of, held_by
from handrail.model.errors import Permanent, Transient
from handrail.model.hands import Answer
from handrail.model.reason import Reason
from handrail.model.step import Rule
from handrail.model.switch import Reach, Scope
from handrail.model.target import ObjectRef
from tests.kubernetes.objects import raw
from tests.kubernetes.scripted import Say, Scripted, Told, cluster_of, refusal
from tests.kubernetes.test_writes import created, write

OBJECT = 'deployments.apps "checkout" is forbidden: '
BY = "ValidatingAdmissionPolicy 'handrail-stop' with binding 'handrail-stop' denied request: "
WORDS = "handrail.dev/stop on namespace shop: "
OURS = OBJECT + BY + WORDS
OTHERS = f"{OBJECT}ValidatingAdmissionPolicy 'corp' with binding 'corp' denied request: "
SHOP = Reach(scope=Scope.NAMESPACE, name="shop")


def said(message: Any, status: int = 403) -> Reply:
    return Reply(status, {"kind": "Status", "status": "Failure", "reason": "Forbidden", "message": message}, {})


def test_the_servers_own_frame_around_our_policys_words_is_a_stop_with_the_persons_reason() -> None:
    sent = answer_of(write(), said(OURS + "release freeze, ask Ann"), moved=False)
    assert (sent.answer, sent.reason, sent.detail) == (Answer.REFUSED, Reason.STOPPED, "release freeze, ask Ann")
    assert sent.held is not None
    assert sent.held.reach == SHOP


@pytest.mark.parametrize(
    "frame",
    [
        'pods "checkout-7d4b-x" is forbidden: ' + BY,
        'poddisruptionbudgets.policy "guard" is forbidden: ' + BY,
        OBJECT + BY.replace("handrail-stop", "ops-handrail-stop"),
    ],
)
def test_it_is_known_whatever_the_object_and_the_release_are_called(frame: str) -> None:
    held = held_by(created(), said(frame + WORDS + "freeze"))
    assert held is not None
    assert held.reach == SHOP


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("", id="nothing"),
        pytest.param(None, id="no text"),
        pytest.param({"message": OURS}, id="no text but a map"),
        pytest.param(WORDS + "freeze", id="our words without a frame"),
        pytest.param(f"x {OURS}freeze", id="something before the frame"),
        pytest.param(f"\n{OURS}freeze".replace("\n", "a\n"), id="a line before the frame"),
        pytest.param(f"{OTHERS}{WORDS}freeze", id="another policy that says our words"),
        pytest.param(f'{OTHERS}image "x" is bad" is forbidden: {BY}{WORDS}freeze', id="another one that quotes ours"),
        pytest.param(f"{OTHERS}{OURS}freeze", id="another one that says all of ours"),
        pytest.param(f'admission webhook "corp" denied the request: {OURS}freeze', id="a webhook that says ours"),
        pytest.param(
            f'deployments.apps "checkout" is forbidden: User "u" cannot patch: {BY}{WORDS}x', id="rights, then ours"
        ),
        pytest.param(OBJECT + BY.replace("-stop'", "-hands'") + WORDS + "x", id="our other policy"),
        pytest.param(OBJECT + BY + "failed expression: variables.where == ''", id="a policy that could not be judged"),
        pytest.param(OBJECT + BY + WORDS.replace("shop", "shop-2") + "x", id="a namespace with a longer name"),
        pytest.param(OBJECT + BY + WORDS.replace("shop", "bank") + "x", id="another namespace"),
        pytest.param(OBJECT + BY + WORDS.replace("namespace shop", "namespace <shop|x>") + "x", id="markup for a name"),
        pytest.param(OBJECT + BY + WORDS.replace("handrail.dev", "handrailxdev") + "x", id="a dot is a dot"),
        pytest.param(OURS.upper() + "X", id="upper case"),
    ],
)
def test_what_only_looks_like_it_is_a_refusal_and_stops_nothing(message: Any) -> None:
    assert held_by(write(), said(message)) is None
    assert answer_of(write(), said(message), moved=False).reason is Reason.DENIED


@pytest.mark.parametrize("status", [400, 404, 409, 410, 422, 429])
def test_no_other_status_is_a_stop(status: int) -> None:
    assert held_by(write(), said(OURS + "freeze", status)) is None


def test_what_is_in_no_namespace_can_not_be_held_by_one() -> None:
    node = write(ref=ObjectRef.of(raw("Node", "n1", namespace="")))
    assert held_by(node, said(OURS.replace("namespace shop", "namespace ") + "x")) is None
    assert held_by(node, said(OURS + "x")) is None


@pytest.mark.parametrize("blank", ["", " ", " \t ", "\n"])
def test_a_stop_that_gives_no_reason_is_one_all_the_same(blank: str) -> None:
    """The server takes blanks off the end of what a policy says."""
    for message in (OURS + blank, OURS.rstrip() + blank):
        held = held_by(write(), said(message))
        assert held is not None
        assert held.detail == "no reason given"


def test_a_reason_is_bounded_and_nothing_in_it_steers_a_terminal() -> None:
    held = held_by(write(), said(OURS + "\x1b[31m\u202efreeze\x00\x07\u2028" + "é\u200b" * 1_000_000))
    assert held is not None
    assert len(held.detail) <= SENTENCE
    assert held.detail.startswith("freeze")
    assert not {"\x1b", "\u202e", "\x00", "\x07", "\u2028", "\u200b"} & set(held.detail)


def test_markup_stays_the_persons_words_for_whoever_shows_them() -> None:
    """Slack and terminals neutralise at their own edge: the journal keeps what was written."""
    held = held_by(write(), said(OURS + "<!channel> *now* `x` &lt;"))
    assert held is not None
    assert held.detail == "<!channel> *now* `x` &lt;"


@given(before=st.text("abz. \"'/:<>\n", min_size=1).map(str.strip).filter(bool), why=st.text())
def test_nothing_before_the_frame_makes_a_stop(before: str, why: str) -> None:
    assert held_by(write(), said(f"{before} {OURS}{why}")) is None


@given(echoed=st.text(), why=st.text())
def test_whatever_another_policy_echoes_is_its_own_refusal(echoed: str, why: str) -> None:
    assert held_by(write(), said(f'{OTHERS}{echoed}" is forbidden: {BY}{WORDS}{why}')) is None


# what is left of the rights

PATCH = Rule(api_group="apps", resources=("deployments", "statefulsets"), verbs=("patch",))
EVICT = Rule(api_group="", resources=("pods/eviction",), verbs=("create",))


async def asked(tmp_path: Path, *rules: Rule, allowed: Any = False, namespace: str = "shop") -> tuple[bool, list[Told]]:
    """`allowed` by resource, or for all."""

    def by(told: Told) -> Say:
        resource = told.body["spec"]["resourceAttributes"]["resource"]
        answer = allowed.get(resource, False) if isinstance(allowed, dict) else allowed
        return Say(201, {"status": {"allowed": answer}})

    scripted = Scripted(by=by)
    async with cluster_of(tmp_path, scripted) as cluster:
        return await KubernetesRights(cluster).may_any(rules, namespace), scripted.told


async def test_one_right_that_is_left_is_enough_and_nothing_more_is_asked(tmp_path: Path) -> None:
    may, told = await asked(tmp_path, PATCH, EVICT, allowed={"statefulsets": True})
    assert may
    assert [one.body["spec"]["resourceAttributes"]["resource"] for one in told] == ["deployments", "statefulsets"]


async def test_only_when_each_of_them_is_denied_none_is_left(tmp_path: Path) -> None:
    may, told = await asked(tmp_path, PATCH, EVICT)
    assert not may
    assert len(told) == 3
    assert {one.body["spec"]["resourceAttributes"]["namespace"] for one in told} == {"shop"}
    assert told[2].body["spec"]["resourceAttributes"]["subresource"] == "eviction"


async def test_the_whole_cluster_is_asked_about_without_a_namespace(tmp_path: Path) -> None:
    _, told = await asked(tmp_path, EVICT, namespace="")
    assert "namespace" not in told[0].body["spec"]["resourceAttributes"]


@pytest.mark.parametrize("answer", [None, "true", 1, "yes", [True]])
async def test_anything_less_than_a_clear_yes_is_no_right(tmp_path: Path, answer: object) -> None:
    may, _ = await asked(tmp_path, EVICT, allowed=answer)
    assert not may


async def test_a_server_that_can_not_be_asked_says_neither_yes_nor_no(tmp_path: Path) -> None:
    """Whoever asks must not take silence for rights that are gone."""
    async with cluster_of(tmp_path, Scripted(Say(503), refusal(403, "Forbidden", "no"))) as cluster:
        with pytest.raises(Transient):
            await KubernetesRights(cluster).may_any((EVICT,), "shop")
        with pytest.raises(Permanent):
            await KubernetesRights(cluster).may_any((EVICT,), "shop")
