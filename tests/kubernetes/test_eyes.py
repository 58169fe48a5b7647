"""What the eyes see, page by page, and that what can't be read is never an empty answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.kubernetes import KubernetesEyes
from handrail.adapters.kubernetes.eyes import LOG_BYTES, selector_of
from handrail.model.errors import HandrailError, Permanent, Transient
from handrail.model.target import ObjectRef
from handrail.model.value import Raw
from tests.kubernetes.objects import NOW, deployment, pod, raw, replica_set, template
from tests.kubernetes.scripted import Say, Scripted, Told, cluster_of, missing, refusal

REF = ObjectRef.of(deployment())


def page(*items: Raw, go_on: str = "") -> Say:
    bare = [{name: part for name, part in item.items() if name not in ("apiVersion", "kind")} for item in items]
    return Say(200, {"kind": "List", "metadata": {"continue": go_on}, "items": bare})


async def test_pages_are_put_together_and_their_items_get_kind_and_version(tmp_path: Path) -> None:
    pods = [pod(None, number) for number in range(3)]
    scripted = Scripted(page(*pods[:2], go_on="next"), page(pods[2]))
    async with cluster_of(tmp_path, scripted) as cluster:
        found = await KubernetesEyes(cluster).list("Pod", "shop", labels="app=checkout")
    assert list(found) == pods
    assert scripted.told[0].query == {"limit": "250", "labelSelector": "app=checkout"}
    assert scripted.told[1].query["continue"] == "next"


async def test_a_list_that_expires_between_pages_is_read_from_the_beginning(tmp_path: Path) -> None:
    expired = refusal(410, "Expired", "the provided continue parameter is too old")
    scripted = Scripted(page(pod(None, 1), go_on="n"), expired, page(pod(None, 1), go_on="n"), page(pod(None, 2)))
    async with cluster_of(tmp_path, scripted) as cluster:
        found = await KubernetesEyes(cluster).list("Pod", "shop")
    assert [one["metadata"]["name"] for one in found] == ["bare-1", "bare-2"]
    assert "continue" not in scripted.told[2].query


async def test_a_list_that_always_expires_is_tried_later(tmp_path: Path) -> None:
    scripted = Scripted(by=lambda told: refusal(410, "Expired", "too old"))
    async with cluster_of(tmp_path, scripted) as cluster:
        with pytest.raises(Transient):
            await KubernetesEyes(cluster).list("Pod", "shop")


async def test_a_list_without_end_is_not_read_to_the_end(tmp_path: Path) -> None:
    many = page(*(pod(None, number) for number in range(250)), go_on="more")
    scripted = Scripted(by=lambda told: many)
    async with cluster_of(tmp_path, scripted) as cluster:
        with pytest.raises(Permanent, match="more than 5000"):
            await KubernetesEyes(cluster).list("Pod", "shop")


async def test_what_is_not_there_is_none_and_what_can_not_be_read_is_an_error(tmp_path: Path) -> None:
    answers: list[tuple[Say, type[HandrailError] | None]] = [
        (missing("checkout", "deployments"), None),
        (refusal(403, "Forbidden", "no"), Permanent),
        (refusal(404, "NotFound", "the server could not find the requested resource"), Permanent),
        (Say(404, raw="404 page not found"), Permanent),
        (Say(503), Transient),
    ]
    for said, error in answers:
        async with cluster_of(tmp_path, Scripted(said)) as cluster:
            if error is None:
                assert await KubernetesEyes(cluster).get(REF) is None
                continue
            with pytest.raises(error):
                await KubernetesEyes(cluster).get(REF)


async def test_a_name_that_can_be_nobodys_is_not_even_asked_for(tmp_path: Path) -> None:
    scripted = Scripted()
    async with cluster_of(tmp_path, scripted) as cluster:
        assert await KubernetesEyes(cluster).get(REF.model_copy(update={"name": "../x"})) is None
    assert scripted.told == []


def scaler(called: str, **target: str) -> Raw:
    named = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "checkout", **target}
    return raw("HorizontalPodAutoscaler", called, spec={"scaleTargetRef": named})


def shop(told: Told) -> Say:
    """A Deployment with its own and with foreign ReplicaSets, pods and autoscalers under the same labels."""
    top = deployment()
    own, foreign = replica_set(top, 2, template()), replica_set(raw("Deployment", "other"), 1, template())
    by_plural = {
        "replicasets": (own, foreign),
        "pods": (pod(own, 2), pod(own, 1), pod(foreign, 1), pod(None, 1)),
        "horizontalpodautoscalers": (
            scaler("b", apiVersion="apps/v1beta2"),
            scaler("a"),
            scaler("x", name="other"),
            scaler("y", kind="StatefulSet"),
            scaler("z", apiVersion="example.org/v1"),
        ),
    }
    plural = told.path.rsplit("/", 1)[-1]
    return page(*by_plural[plural]) if plural in by_plural else Say(200, top)


async def test_a_workload_is_seen_with_what_it_controls_by_uid_and_nothing_else(tmp_path: Path) -> None:
    scripted = Scripted(by=shop)
    async with cluster_of(tmp_path, scripted) as cluster:
        seen = await KubernetesEyes(cluster, lambda: NOW).workload(REF)
    assert seen is not None
    assert [one["metadata"]["name"] for one in seen.replica_sets] == ["checkout-h2"]
    assert [one["metadata"]["name"] for one in seen.pods] == ["checkout-h2-1", "checkout-h2-2"]
    assert seen.autoscalers == ("a", "b")
    assert seen.observed_at == NOW
    assert seen.current == seen.replica_sets[0]
    assert {told.query.get("labelSelector") for told in scripted.told[1:3]} == {"app=checkout"}


async def test_a_workload_of_another_uid_is_not_the_one_that_was_asked_for(tmp_path: Path) -> None:
    async with cluster_of(tmp_path, Scripted(by=shop)) as cluster:
        assert await KubernetesEyes(cluster).workload(REF.model_copy(update={"uid": "older"})) is None


async def test_a_workload_whose_autoscalers_can_not_be_read_is_not_said_to_have_none(tmp_path: Path) -> None:
    def by(told: Told) -> Say:
        return refusal(403, "Forbidden", "no") if "autoscal" in told.path else shop(told)

    async with cluster_of(tmp_path, Scripted(by=by)) as cluster:
        with pytest.raises(Permanent):
            await KubernetesEyes(cluster).workload(REF)


@pytest.mark.parametrize(
    ("selector", "query"),
    [
        ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, "a in (1,2)"),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, "a notin (1)"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "DoesNotExist"}]}, "a,!b"),
    ],
)
def test_a_selector_is_asked_as_it_stands(selector: dict[str, Any], query: str) -> None:
    assert selector_of(deployment(selector=selector)) == query


@pytest.mark.parametrize("selector", [{}, {"matchLabels": {}}, {"matchExpressions": [{"key": "a", "operator": "Gt"}]}])
def test_a_selector_that_would_select_everything_or_is_not_understood_selects_nothing(selector: dict[str, Any]) -> None:
    with pytest.raises(Permanent):
        selector_of(deployment(selector=selector))


async def test_events_are_asked_for_by_uid(tmp_path: Path) -> None:
    scripted = Scripted(page())
    async with cluster_of(tmp_path, scripted) as cluster:
        assert await KubernetesEyes(cluster).events("shop", "u-1") == ()
    assert scripted.told[0].query == {"fieldSelector": "involvedObject.uid=u-1", "limit": "500"}


async def test_logs_are_bounded_and_the_newest_lines_are_kept(tmp_path: Path) -> None:
    text = "\n".join(f"{number:06d} " + "x" * 500 for number in range(200))
    scripted = Scripted(Say(200, raw=text))
    async with cluster_of(tmp_path, scripted) as cluster:
        found = await KubernetesEyes(cluster).logs(ObjectRef.of(pod(None, 1)), "app", previous=True)
    assert found is not None
    assert len(found.encode()) <= LOG_BYTES
    assert found.splitlines()[-1].startswith("000199")
    assert found.splitlines()[0][:6].isdigit()
    query = scripted.told[0].query
    assert (query["container"], query["tailLines"], query["previous"]) == ("app", "200", "true")


async def test_when_the_lines_are_so_long_that_the_server_cuts_the_newest_fewer_are_asked_for(tmp_path: Path) -> None:
    scripted = Scripted(Say(200, raw="old" + "x" * (4 * LOG_BYTES)), Say(200, raw="newest"))
    async with cluster_of(tmp_path, scripted) as cluster:
        assert await KubernetesEyes(cluster).logs(ObjectRef.of(pod(None, 1)), "app") == "newest"
    assert [told.query["tailLines"] for told in scripted.told] == ["200", "10"]


@pytest.mark.parametrize("said", [refusal(400, "BadRequest", "container is waiting to start"), missing("bare-1")])
async def test_a_container_without_logs_has_none(tmp_path: Path, said: Say) -> None:
    async with cluster_of(tmp_path, Scripted(said)) as cluster:
        assert await KubernetesEyes(cluster).logs(ObjectRef.of(pod(None, 1)), "app") is None
