"""The API: who is let in, what is refused at the door, and that every error is one JSON object."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from handrail.adapters.http import Reply, no_such
from handrail.model.errors import Bug, Transient, UnknownEvent
from handrail.model.switch import Reach, Scope
from tests.http.support import SRE, Reviews, Site, fetch, site

EVERYTHING = [
    ("GET", "/api/v1/incidents"),
    ("GET", "/api/v1/incidents/inc-1"),
    ("GET", "/api/v1/incidents/inc-1/report"),
    ("POST", "/api/v1/incidents/inc-1/approve"),
    ("POST", "/api/v1/stop"),
    ("POST", "/api/v1/start"),
    ("GET", "/api/v1/status"),
    ("GET", "/api/v1/audit"),
]


@pytest.fixture
def reviews() -> Reviews:
    return Reviews(good=SRE)


@pytest.fixture
async def server(reviews: Reviews) -> AsyncIterator[Site]:
    async with site(reviews) as found:
        yield found


@pytest.mark.parametrize(("method", "path"), EVERYTHING)
@pytest.mark.parametrize("token", ["", "bad"])
async def test_reading_too_needs_a_caller_that_somebody_vouches_for(
    server: Site, method: str, path: str, token: str
) -> None:
    answer = await server.call(method, path, token=token)
    assert answer.status == 401
    assert "kubectl create token" in answer.json["message"]
    assert server.desk.asked == []


@pytest.mark.parametrize(("method", "path"), EVERYTHING)
async def test_while_nobody_can_be_asked_nobody_is_let_in(
    server: Site, reviews: Reviews, method: str, path: str
) -> None:
    reviews.away = "the API server is away"
    answer = await server.call(method, path, token="good")
    assert answer.status == 503
    assert "the API server is away" in answer.json["message"]
    assert server.desk.asked == []


async def test_whoever_the_policy_does_not_let_read_gets_403_and_what_to_do(server: Site) -> None:
    server.desk.unread = Reply(ok=False, message="name that user under `readers`", reason="NOT_A_READER")
    for method, path in EVERYTHING:
        answer = await server.call(method, path, token="good")
        assert answer.status == (403 if method == "GET" else 200), path
        if method == "GET":
            assert (answer.json["ok"], answer.json["reason"]) == (False, "NOT_A_READER")
            assert "`readers`" in answer.json["message"]
    assert {asked[0] for asked in server.desk.asked} == {"decide", "switch"}


@pytest.mark.parametrize("header", ["good", "Basic good", "Bearer", "Bearer \xfcmlaut", "bearer  "])
async def test_only_a_bearer_token_counts(server: Site, header: str) -> None:
    answer = await fetch(server.url, "GET", "/api/v1/status", b"", {"Authorization": header})
    assert answer.status == 401


async def test_a_header_that_names_a_user_is_worth_nothing(server: Site) -> None:
    headers = {"X-Remote-User": "alice", "Impersonate-User": "alice", "X-Forwarded-User": "alice"}
    assert (await fetch(server.url, "GET", "/api/v1/status", b"", headers)).status == 401


async def test_a_decision_carries_the_person_of_the_token_review_and_what_was_seen(server: Site) -> None:
    answer = await server.post("/api/v1/incidents/inc-1/approve", {"request": "r-1"}, token="good")
    assert (answer.status, answer.json["message"]) == (200, "approved")
    assert server.desk.asked == [("decide", "inc-1", "approve", SRE, "r-1")]


async def test_a_refusal_is_a_conflict_with_its_reason(server: Site) -> None:
    server.desk.reply = Reply(ok=False, message="you may not", reason="NOT_AN_APPROVER")
    answer = await server.post("/api/v1/incidents/inc-1/approve", {}, token="good")
    assert (answer.status, answer.json["reason"]) == (409, "NOT_AN_APPROVER")


@pytest.mark.parametrize("verb", ["cancel", "retry", "undo"])
async def test_what_is_asked_about_a_whole_incident_carries_the_person_and_the_reason(server: Site, verb: str) -> None:
    answer = await server.post(f"/api/v1/incidents/inc-1/{verb}", {"why": "x" * 600}, token="good")
    assert answer.status == 200
    assert server.desk.asked == [("ask", "inc-1", verb, SRE, "x" * 500)]
    assert (await server.post(f"/api/v1/incidents/inc-1/{verb}", {"why": 1}, token="good")).status == 400
    assert (await server.post(f"/api/v1/incidents/inc-1/{verb}", {"why": "x"})).status == 401
    assert len(server.desk.asked) == 1


async def test_stop_and_start_reach_the_switch(server: Site) -> None:
    await server.post("/api/v1/stop", {"why": "x" * 600}, token="good")
    await server.post("/api/v1/start", token="good")
    pressed = [("switch", True, SRE, "x" * 500, Reach()), ("switch", False, SRE, "", Reach())]
    assert server.desk.asked == pressed


@pytest.mark.parametrize(
    ("named", "reach"),
    [
        ({"namespace": "shop"}, Reach(scope=Scope.NAMESPACE, name="shop")),
        ({"step": "rollout_undo"}, Reach(scope=Scope.STEP, name="rollout_undo")),
    ],
)
async def test_a_stop_names_what_it_stops(server: Site, named: dict[str, str], reach: Reach) -> None:
    await server.post("/api/v1/stop", {"why": "freeze", **named}, token="good")
    await server.post("/api/v1/start", named, token="good")
    assert server.desk.asked == [("switch", True, SRE, "freeze", reach), ("switch", False, SRE, "", reach)]


@pytest.mark.parametrize(
    "named",
    [
        {"namespace": ""},
        {"namespace": None},
        {"step": 1},
        {"namespace": "shop", "step": "rollout_undo"},
        {"namspace": "shop"},
        {"in_namespace": "shop"},
    ],
)
async def test_what_cannot_be_read_is_neither_a_stop_of_everything_nor_a_start(
    server: Site, named: dict[str, object]
) -> None:
    for verb in ("stop", "start"):
        answer = await server.post(f"/api/v1/{verb}", {"why": "freeze", **named}, token="good")
        assert answer.status == 400
    assert server.desk.asked == []


@pytest.mark.parametrize("limit", ["0", "1001", "-1", "x", "", "1.5", "\u00b2", "\u0663", "9" * 5000])
async def test_a_limit_out_of_range_is_refused(server: Site, limit: str) -> None:
    answer = await server.get(f"/api/v1/incidents?limit={limit}", token="good")
    assert answer.status == 400
    assert server.desk.asked == []


async def test_the_limit_reaches_the_desk(server: Site) -> None:
    assert (await server.get("/api/v1/incidents?limit=7", token="good")).json == {"incidents": [{"id": "inc-1"}]}
    assert server.desk.asked == [("incidents", 7)]


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b'"x"', b"null", b"\xff\xfe", b"[" * 60_000, b'{"request": 1}', b'{"request": {}}'],
    ids=["cut", "list", "text", "null", "no UTF-8", "deep", "number", "object"],
)
async def test_a_body_that_is_no_object_or_names_no_request_is_refused(server: Site, body: bytes) -> None:
    answer = await server.post("/api/v1/incidents/inc-1/approve", body, token="good")
    assert answer.status == 400
    assert answer.json["ok"] is False
    assert server.desk.asked == []


async def test_a_reason_that_is_no_text_is_refused(server: Site) -> None:
    assert (await server.post("/api/v1/stop", {"why": None}, token="good")).status == 400


async def test_a_body_that_is_too_large_is_not_read(server: Site) -> None:
    answer = await server.post("/api/v1/stop", {"why": "x" * 70_000}, token="good")
    assert answer.status == 413
    assert answer.json["ok"] is False


async def test_an_unknown_verb_names_the_known_ones(server: Site) -> None:
    answer = await server.post("/api/v1/incidents/inc-1/delete", token="good")
    assert answer.status == 404
    assert "approve, reject, take, give-back" in answer.json["message"]
    assert server.desk.asked == []


@pytest.mark.parametrize("id_", ["%25", "..%2f", "a%00b", "-x", "x" * 101, "%F0%9F%92%A5"])
async def test_an_id_that_cannot_be_one_reaches_no_desk(server: Site, id_: str) -> None:
    answer = await server.get(f"/api/v1/incidents/{id_}", token="good")
    assert answer.status == 404
    assert server.desk.asked == []


@pytest.mark.parametrize("path", ["/api/v1/incidents/inc-2", "/api/v1/incidents/inc-2/report"])
async def test_an_incident_that_is_not_there_is_said(server: Site, path: str) -> None:
    answer = await server.get(path, token="good")
    assert (answer.status, answer.json["message"]) == (404, no_such("inc-2"))


async def test_a_report_is_text_whatever_it_holds(server: Site) -> None:
    answer = await server.get("/api/v1/incidents/inc-1/report", token="good")
    assert (answer.status, answer.text) == (200, "all of it ?")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(("method", "path"), EVERYTHING)
async def test_a_store_that_is_away_is_503(server: Site, method: str, path: str) -> None:
    server.desk.broken = Transient("the database is locked")
    answer = await server.call(method, path, token="good")
    assert (answer.status, answer.json["message"]) == (503, "the database is locked")


@pytest.mark.parametrize("broken", [Bug("impossible"), UnknownEvent("kind 'x' of a newer build")])
async def test_what_breaks_inside_is_one_line_and_no_traceback(server: Site, broken: Exception) -> None:
    server.desk.broken = broken
    answer = await server.get("/api/v1/status", token="good")
    assert answer.status == 500
    assert str(broken) in answer.json["message"]
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nowhere", 404), ("DELETE", "/api/v1/stop", 405)])
async def test_the_servers_own_errors_are_json_too(server: Site, method: str, path: str, status: int) -> None:
    answer = await server.call(method, path)
    assert (answer.status, answer.json["ok"]) == (status, False)


async def test_no_answer_names_a_token(server: Site) -> None:
    for method, path in EVERYTHING:
        assert "sesame" not in (await server.call(method, path, token="sesame")).text
