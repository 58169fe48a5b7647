"""Numbers from Prometheus: one bounded query, read strictly, said briefly, and away when it is away."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from handrail.adapters.evidence.metrics import metrics, query_for
from handrail.adapters.gathering import ClusterGatherer
from handrail.adapters.prometheus import Prometheus
from handrail.model.config import PrometheusConfig
from handrail.model.errors import BadConfig, HandrailError, Permanent, Transient
from handrail.model.evidence import Trust
from handrail.model.gathering import Gathering
from handrail.model.target import LabelledTarget
from handrail.model.workload import Workload
from tests.kubernetes.objects import NOW, KnownObjects, alert, deployment, pod, raw, replica_set
from tests.kubernetes.scripted import Say, Scripted, listening
from tests.servers.process import free_port
from tests.servers.prometheus import PrometheusServer

BEGIN = NOW - timedelta(minutes=30)


def matrix(*results: tuple[dict[str, str], list[str]]) -> Say:
    series = [
        {"metric": labels, "values": [[BEGIN.timestamp() + 60 * n, value] for n, value in enumerate(values)]}
        for labels, values in results
    ]
    return Say(200, {"status": "success", "data": {"resultType": "matrix", "result": series}})


def workload(*names: str) -> Workload:
    top = deployment()
    own = replica_set(top, 1, top["spec"]["template"])
    pods = tuple({**pod(own, 1), "metadata": {**pod(own, 1)["metadata"], "name": name}} for name in names)
    return Workload(object=top, replica_sets=(own,), pods=pods, observed_at=NOW)


async def failing(said: Say) -> HandrailError:
    async with listening(Scripted(by=lambda told: said)) as url:
        with pytest.raises(HandrailError) as raised:
            await Prometheus(PrometheusConfig(url=url)).range("up", BEGIN, NOW, 60)
    return raised.value


async def test_a_range_is_asked_for_with_its_times_and_the_token_as_it_is_now() -> None:
    scripted = Scripted(matrix(({"what": "a"}, ["1", "NaN"])), matrix())
    tokens = iter(["first", "second"])
    async with listening(scripted) as url:
        prometheus = Prometheus(PrometheusConfig(url=f"{url}/prom/"), lambda: next(tokens))
        (series,) = await prometheus.range("up", BEGIN, NOW, 60)
        await prometheus.range("up", BEGIN, NOW, 60)
    assert series.points[0] == (BEGIN.timestamp(), 1.0)
    assert math.isnan(series.points[1][1])
    first, second = scripted.told
    assert first.path == "/prom/api/v1/query_range"
    assert first.query == {
        "query": "up",
        "start": f"{BEGIN.timestamp():.3f}",
        "end": f"{NOW.timestamp():.3f}",
        "step": "60",
    }
    assert (first.headers["Authorization"], second.headers["Authorization"]) == ("Bearer first", "Bearer second")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (Say(503), Transient),
        (Say(429), Transient),
        (Say(cut=True), Transient),
        (Say(400, {"status": "error", "error": "parse error"}), Permanent),
        (Say(302, {}, {"Location": "/login"}), Permanent),
        (Say(200, raw="<html>"), Permanent),
        (Say(200, {"data": {"resultType": "vector", "result": []}}), Permanent),
        (Say(200, {"data": {"resultType": "matrix", "result": [{"metric": {}, "values": [["x"]]}]}}), Permanent),
        (Say(200, raw="x" * 2_000_000), Permanent),
    ],
)
async def test_what_is_no_answer_is_an_error(said: Say, kind: type[HandrailError]) -> None:
    assert isinstance(await failing(said), kind)


async def test_a_server_that_is_not_there_is_away_and_its_password_is_not_told() -> None:
    prometheus = Prometheus(PrometheusConfig(url=f"http://bob:hunter2@127.0.0.1:{free_port()}"))
    with pytest.raises(Transient) as raised:
        await prometheus.range("up", BEGIN, NOW, 60)
    assert "hunter2" not in str(raised.value)


def test_an_url_that_is_none_stops_the_start() -> None:
    with pytest.raises(BadConfig, match=r"prometheus\.url"):
        Prometheus(PrometheusConfig(url="prometheus:9090"))


def test_one_query_asks_for_ready_pods_and_restarts_of_exactly_these_pods() -> None:
    query = query_for(workload("checkout-1.a", "checkout-2"))
    assert 'kube_deployment_status_replicas_ready{namespace="shop",deployment="checkout"}' in query
    assert 'pod=~"checkout-1\\\\.a|checkout-2"' in query


def test_without_pods_only_ready_pods_are_asked_for() -> None:
    assert "restarts" not in query_for(workload())


def test_kinds_that_have_no_such_series_are_not_asked_about() -> None:
    assert query_for(Workload(object=raw("Job", "j"), observed_at=NOW)) == ""


async def test_a_series_is_said_briefly_with_its_changes() -> None:
    said = matrix(
        ({"what": "ready pods"}, ["3"] * 20 + ["1"] + ["0"] * 10), ({"what": "restarts"}, ["0", "NaN", "1.5"])
    )
    async with listening(Scripted(said)) as url:
        piece = await metrics(Prometheus(PrometheusConfig(url=url)), workload("a"), NOW)
    assert piece is not None
    assert piece.trust is Trust.METRIC
    assert piece.text.splitlines()[1:] == ["ready pods: 3 (20 times), 1, 0 (10 times)", "restarts: 0, none, 1.5"]


async def test_prometheus_that_knows_nothing_gives_no_piece() -> None:
    async with listening(Scripted(matrix())) as url:
        assert await metrics(Prometheus(PrometheusConfig(url=url)), workload("a"), NOW) is None


@pytest.mark.parametrize(("said", "away"), [(Say(503), True), (matrix(({"what": "ready pods"}, ["1"])), False)])
async def test_gathering_goes_on_without_prometheus_and_names_it(said: Say, away: bool) -> None:
    top = deployment()
    own = replica_set(top, 1, top["spec"]["template"])
    target = LabelledTarget(kind="Deployment", namespace="shop", name="checkout")
    async with listening(Scripted(said)) as url:
        gatherer = ClusterGatherer(KnownObjects(top, own, pod(own, 1)), Prometheus(PrometheusConfig(url=url)))
        found = await gatherer.gather(target, alert(), NOW)
    assert isinstance(found, Gathering)
    assert [one.source for one in found.away] == (["prometheus"] if away else [])
    assert ("metrics" in [piece.kind for piece in found.pieces]) is not away


@pytest.mark.server
async def test_a_real_prometheus_understands_the_query(prometheus_server: PrometheusServer) -> None:
    """It scrapes nothing of ours: the query must parse and give an empty matrix, and a wrong one must be refused."""
    prometheus = Prometheus(PrometheusConfig(url=prometheus_server.url))
    assert await metrics(prometheus, workload("checkout-1.a", "checkout-2"), NOW) is None
    with pytest.raises(Permanent, match="parse error"):
        await prometheus.range("up{", BEGIN, NOW, 60)
