"""What a real Alertmanager says of silences and inhibitions, and what becomes of answers that make no sense."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from handrail.adapters.alertmanager import Alertmanager
from handrail.core.hush import judge, names
from handrail.model.config import AlertmanagerConfig, SecretRef
from handrail.model.errors import BadConfig, Permanent, Transient
from handrail.model.incident import Incident
from handrail.model.labels import labelled_target
from tests.alerting.stage import tell
from tests.decode.records import decoded, fired, webhook
from tests.servers.alertmanager import NOWHERE, AlertmanagerServer

NAMES = ("Plain", 'With "quotes" and \\ and {braces="x"}', "Zeile\numgebrochen", "ünïcode =~ .*")


def asked(url: str, token: str = "") -> Alertmanager:
    return Alertmanager(AlertmanagerConfig(url=url, seconds=5), (lambda: token) if token else None)


def incident_of(labels: dict[str, str]) -> Incident:
    (alert,) = decoded(webhook(fired(labels))).alerts
    now = datetime.now(UTC)
    target = labelled_target(alert)
    return Incident(id="inc-1", cluster="prod", opened_at=now, moved_at=now, alerts=(alert,), labelled=target)


@pytest.mark.server
@pytest.mark.parametrize("name", NAMES)
async def test_a_silenced_alert_is_found_by_its_name_whatever_that_is(
    alertmanager_server: AlertmanagerServer, name: str
) -> None:
    run = uuid.uuid4().hex[:6]
    labels = {"alertname": f"{name} {run}", "namespace": f"shop-{run}", "deployment": "checkout"}
    beside = {**labels, "deployment": "cart", "instance": "10.0.0.1:80"}
    await asyncio.to_thread(alertmanager_server.send, [{"labels": labels}, {"labels": beside}])
    mine = {"namespace": f"shop-{run}", "deployment": "checkout"}
    id_ = await asyncio.to_thread(
        alertmanager_server.silence, mine, 600, by="alice\u202e", comment="until\n*Monday* " + "x" * 900
    )
    it = asked(alertmanager_server.url)
    now = datetime.now(UTC)
    (name_,) = names(incident_of(labels))
    found = await it.standings(name_)
    assert len(found) == 2
    assert judge(incident_of(labels), found, now).silences == ((id_,),)
    assert judge(incident_of(beside), found, now).silences == ()
    silence = await it.silence(id_)
    assert timedelta(minutes=9) < silence.until - now < timedelta(minutes=11)
    assert silence.by == "alice"
    assert silence.comment.startswith("until *Monday* xxx")
    assert len(silence.comment) <= 200


@pytest.mark.server
async def test_an_inhibited_alert_names_who_inhibits_it(alertmanager_server: AlertmanagerServer) -> None:
    run = uuid.uuid4().hex[:6]
    rule = {"source_matchers": [f'alertname = "NodeDown{run}"'], "target_matchers": [f'alertname = "Crash{run}"']}
    await asyncio.to_thread(alertmanager_server.configure, tell(NOWHERE, inhibit=[rule]))
    labels = {"alertname": f"Crash{run}", "namespace": "shop", "deployment": "checkout"}
    down = {"alertname": f"NodeDown{run}", "node": "n1"}
    await asyncio.to_thread(alertmanager_server.send, [{"labels": labels}, {"labels": down}])
    it = asked(alertmanager_server.url)
    async with asyncio.timeout(30):
        while not (found := await it.standings(f"Crash{run}")) or not found[0].inhibited_by:
            await asyncio.sleep(0.1)
    assert found[0].silences == ()
    assert await it.names_of(found[0].inhibited_by) == (f"NodeDown{run}",)
    assert judge(incident_of(labels), found, datetime.now(UTC)).silences == ()


@pytest.mark.server
async def test_its_version_proves_its_reach_and_what_it_does_not_know_is_permanent(
    alertmanager_server: AlertmanagerServer,
) -> None:
    it = asked(alertmanager_server.url)
    assert (await it.version())[0].isdigit()
    assert await it.standings("NobodyKnowsThis") == ()
    with pytest.raises(Permanent):
        await it.silence("no-such-silence/../../status")


@asynccontextmanager
async def answering(answer: Callable[[web.Request], web.StreamResponse]) -> AsyncIterator[str]:
    async def handler(request: web.Request) -> web.StreamResponse:
        return answer(request)

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handler)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("body", [b"", b"nonsense", b"{}", b"[" * 100_000, b"null", b'"x"', b" " * 9_000_000])
async def test_an_answer_that_is_no_list_is_permanent(body: bytes) -> None:
    async with answering(lambda _r: web.Response(body=body)) as url:
        with pytest.raises(Permanent):
            await asked(url).standings("x")


@pytest.mark.parametrize("status", [None, [], "x", {"silencedBy": "x"}, {"silencedBy": [1, None], "inhibitedBy": {}}])
async def test_a_standing_that_is_odd_breaks_nothing(status: Any) -> None:
    entry = {"labels": {"alertname": 7, "a": None}, "status": status}
    async with answering(lambda _r: web.json_response([entry, 3, None, {}, {"labels": 3}])) as url:
        found = await asked(url).standings("x")
        assert len(found) == 3
        assert judge(incident_of({"alertname": "x", "namespace": "s", "deployment": "d"}), found, datetime.now(UTC))


@pytest.mark.parametrize(
    "said", [{}, {"endsAt": "soon"}, {"endsAt": None}, [], {"endsAt": "0001-01-01T00:00:00+14:00"}]
)
async def test_a_silence_that_is_none_is_permanent(said: Any) -> None:
    async with answering(lambda _r: web.json_response(said)) as url:
        with pytest.raises(Permanent):
            await asked(url).silence("x")


async def test_the_token_goes_along_and_a_redirect_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a-secret\n")
    config = AlertmanagerConfig(url="", token=SecretRef(file=str(tmp_path / "token")))

    def answer(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != "Bearer a-secret":
            return web.Response(status=401, text="who are you? key=AKIAIOSFODNN7EXAMPLE")
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    async with answering(answer) as url:
        with pytest.raises(Permanent, match="302"):
            await Alertmanager(config.model_copy(update={"url": url})).standings("x")
        with pytest.raises(Permanent, match="401"):
            await asked(url).standings("x")


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_one_that_is_busy_or_away_is_transient(status: int) -> None:
    async with answering(lambda _r: web.Response(status=status)) as url:
        with pytest.raises(Transient):
            await asked(url).standings("x")
    with pytest.raises(Transient):
        await asked("http://127.0.0.1:9").standings("x")


def test_a_url_that_is_none_is_refused() -> None:
    with pytest.raises(BadConfig, match=r"alertmanager\.url"):
        asked("alertmanager:9093")
