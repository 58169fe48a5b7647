"""Who a token belongs to and what we may do, as the API server says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.adapters.kubernetes import KubernetesRights
from handrail.adapters.kubernetes.rights import EXCESSIVE
from handrail.model.approval import Person
from handrail.model.errors import Bug, Permanent, Transient
from handrail.model.step import Rule
from tests.kubernetes.scripted import Say, Scripted, Told, cluster_of, refusal

PATCH = Rule(api_group="apps", resources=("deployments",), verbs=("get", "patch"))
EVICT = Rule(api_group="", resources=("pods/eviction",), verbs=("create",))


def reviewed(**status: object) -> Say:
    return Say(201, {"kind": "TokenReview", "status": status})


async def test_a_token_that_the_server_vouches_for_is_a_person_with_groups(tmp_path: Path) -> None:
    scripted = Scripted(reviewed(authenticated=True, user={"username": "alice", "groups": ["oncall", "dev"]}))
    async with cluster_of(tmp_path, scripted) as cluster:
        person = await KubernetesRights(cluster).token_review("secret-token")
    assert person == Person(via="kubernetes", name="alice", groups=("oncall", "dev"))
    assert scripted.told[0].body["spec"] == {"token": "secret-token"}


@pytest.mark.parametrize(
    "said",
    [
        reviewed(authenticated=False, error="expired"),
        reviewed(user={"username": "alice"}),
        reviewed(authenticated="true", user={"username": "alice"}),
        reviewed(authenticated=True),
        reviewed(authenticated=True, user={"username": ""}),
        reviewed(),
        Say(201, {}),
    ],
)
async def test_anything_less_than_a_clear_yes_is_nobody(tmp_path: Path, said: Say) -> None:
    async with cluster_of(tmp_path, Scripted(said)) as cluster:
        assert await KubernetesRights(cluster).token_review("t") is None


@pytest.mark.parametrize("token", ["", "x" * 20_000])
async def test_what_can_be_no_token_is_not_even_asked_about(tmp_path: Path, token: str) -> None:
    scripted = Scripted()
    async with cluster_of(tmp_path, scripted) as cluster:
        assert await KubernetesRights(cluster).token_review(token) is None
    assert scripted.told == []


async def test_a_server_that_can_not_be_asked_vouches_for_nobody_and_says_so(tmp_path: Path) -> None:
    async with cluster_of(tmp_path, Scripted(Say(503), refusal(403, "Forbidden", "no"))) as cluster:
        with pytest.raises(Transient):
            await KubernetesRights(cluster).token_review("t")
        with pytest.raises(Permanent):
            await KubernetesRights(cluster).token_review("t")


async def test_each_right_is_asked_for_in_each_namespace_and_the_missing_ones_are_named(tmp_path: Path) -> None:
    def by(told: Told) -> Say:
        attributes = told.body["spec"]["resourceAttributes"]
        return Say(201, {"status": {"allowed": attributes["verb"] != "patch" or attributes["namespace"] == "shop"}})

    scripted = Scripted(by=by)
    async with cluster_of(tmp_path, scripted) as cluster:
        missing = await KubernetesRights(cluster).can_i((PATCH, EVICT), ("shop", "bar"))
    assert [str(right) for right in missing] == ["patch deployments.apps in bar"]
    assert scripted.told[2].body["spec"]["resourceAttributes"] == {
        "verb": "create",
        "resource": "pods",
        "subresource": "eviction",
        "namespace": "shop",
    }


async def test_rights_that_nobody_needs_are_reported_when_we_have_them(tmp_path: Path) -> None:
    def by(told: Told) -> Say:
        return Say(201, {"status": {"allowed": told.body["spec"]["resourceAttributes"]["resource"] == "secrets"}})

    scripted = Scripted(by=by)
    async with cluster_of(tmp_path, scripted) as cluster:
        found = await KubernetesRights(cluster).too_much(("",))
    assert [str(right) for right in found] == ["get secrets in all namespaces", "list secrets in all namespaces"]
    assert len(scripted.told) == len(EXCESSIVE)


async def test_an_answer_that_does_not_say_allowed_is_a_missing_right(tmp_path: Path) -> None:
    async with cluster_of(tmp_path, Scripted(by=lambda told: Say(201, {}))) as cluster:
        assert len(await KubernetesRights(cluster).can_i((EVICT,), ("shop",))) == 1


async def test_asking_about_no_namespace_at_all_is_a_bug(tmp_path: Path) -> None:
    async with cluster_of(tmp_path, Scripted()) as cluster:
        with pytest.raises(Bug):
            await KubernetesRights(cluster).can_i((EVICT,), ())
