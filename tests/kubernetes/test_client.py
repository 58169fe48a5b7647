"""What each answer, or its absence, says about whether a request took effect; and that nothing is sent twice."""

from __future__ import annotations

import gc
import socket
import ssl
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.kubernetes import Cluster
from handrail.adapters.kubernetes.wire import Request
from handrail.model.errors import Bug, HandrailError, OutcomeUnknown, Permanent, Transient
from tests.kubernetes.scripted import Say, Scripted, cluster_of, kubeconfig, listening, refusal
from tests.servers import certificates
from tests.servers.process import free_port

READ = Request("GET", "/api/v1/nodes")
WRITE = Request("PATCH", "/api/v1/nodes/n", body=[{"op": "remove", "path": "/x"}], writes=True)
DELETE = Request("DELETE", "/api/v1/namespaces/shop/pods/p", body={}, writes=True)
DRY = Request("POST", "/api/v1/nodes", (("dryRun", "All"),), body={"kind": "Node"})


async def failed(tmp_path: Path, request: Request, *answers: Say) -> tuple[HandrailError, Scripted]:
    scripted = Scripted(*answers)
    async with cluster_of(tmp_path, scripted) as cluster:
        with pytest.raises(HandrailError) as raised:
            await cluster.request(request)
    return raised.value, scripted


async def test_a_read_carries_the_token_and_gives_the_object(tmp_path: Path) -> None:
    scripted = Scripted(Say(200, {"kind": "NodeList"}))
    async with cluster_of(tmp_path, scripted) as cluster:
        reply = await cluster.request(Request("GET", "/api/v1/nodes", (("labelSelector", "a=b,c in (d,e)"),)))
    assert reply.body == {"kind": "NodeList"}
    (told,) = scripted.told
    assert told.headers["Authorization"] == "Bearer t0ken"
    assert told.headers["User-Agent"] == "handrail"
    assert told.query == {"labelSelector": "a=b,c in (d,e)"}


async def test_a_list_goes_out_as_a_json_patch_and_a_mapping_as_json(tmp_path: Path) -> None:
    scripted = Scripted(Say(), Say())
    async with cluster_of(tmp_path, scripted) as cluster:
        await cluster.request(WRITE)
        await cluster.request(DRY)
    assert [told.headers["Content-Type"] for told in scripted.told] == [
        "application/json-patch+json",
        "application/json",
    ]
    assert scripted.told[0].body == WRITE.body


@pytest.mark.parametrize("request_", [READ, WRITE, DRY])
async def test_a_refused_connection_sent_nothing(tmp_path: Path, request_: Request) -> None:
    async with Cluster(kubeconfig(tmp_path, f"http://127.0.0.1:{free_port()}")) as cluster:
        with pytest.raises(Transient):
            await cluster.request(request_)


async def test_a_name_that_does_not_resolve_sent_nothing(tmp_path: Path) -> None:
    async with Cluster(kubeconfig(tmp_path, "http://no-such-host.invalid")) as cluster:
        with pytest.raises(Transient):
            await cluster.request(WRITE)


def tls_of(authority: certificates.Authority) -> ssl.SSLContext:
    certificate, key = authority.server("server")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context


def sockets_to(url: str) -> list[socket.socket]:
    """Every open socket of this process whose other end is that server."""
    found = [one for one in gc.get_objects() if isinstance(one, socket.socket) and one.fileno() >= 0]
    return [one for one in found if _peer(one) == int(url.rpartition(":")[2])]


def _peer(one: socket.socket) -> int | None:
    try:
        return int(one.getpeername()[1])
    except (OSError, IndexError):
        return None


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (READ, Say()),
        (WRITE, Say()),
        (READ, Say(302, headers={"Location": "/elsewhere"})),
        (READ, Say(raw="x" * (READ.most + 1))),
        (WRITE, Say(cut=True)),
    ],
    ids=["read", "write", "redirect", "too large", "cut"],
)
async def test_a_closed_client_leaves_no_connection_behind(tmp_path: Path, request_: Request, said: Say) -> None:
    """Not even one on which TLS still says goodbye."""
    authority = certificates.Authority(tmp_path / "a")
    async with listening(Scripted(said), tls_of(authority)) as url:
        config = kubeconfig(tmp_path, url, **{"certificate-authority": str(authority.ca_file)})
        async with Cluster(config) as cluster:
            with suppress(HandrailError):
                await cluster.request(request_)
        assert sockets_to(url) == []


async def test_a_certificate_that_is_not_trusted_sent_nothing(tmp_path: Path) -> None:
    served, trusted = certificates.Authority(tmp_path / "a"), certificates.Authority(tmp_path / "b")
    scripted = Scripted()
    async with listening(scripted, tls_of(served)) as url:
        config = kubeconfig(tmp_path, url, **{"certificate-authority": str(trusted.ca_file)})
        async with Cluster(config) as cluster:
            with pytest.raises(Transient, match="not sent"):
                await cluster.request(WRITE)
    assert scripted.told == []


@pytest.mark.parametrize("request_", [WRITE, DELETE])
async def test_a_write_whose_connection_breaks_is_unknown_and_never_sent_again(
    tmp_path: Path, request_: Request
) -> None:
    error, scripted = await failed(tmp_path, request_, Say(cut=True), Say())
    assert isinstance(error, OutcomeUnknown)
    assert len(scripted.told) == 1


@pytest.mark.parametrize("request_", [READ, DRY])
async def test_a_read_or_a_dry_run_whose_connection_breaks_changed_nothing(tmp_path: Path, request_: Request) -> None:
    error, scripted = await failed(tmp_path, request_, Say(cut=True), Say())
    assert isinstance(error, Transient)
    assert len(scripted.told) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_an_error_of_the_server_leaves_a_write_unknown_and_a_read_to_be_tried_again(
    tmp_path: Path, status: int
) -> None:
    said = refusal(status, "InternalError", "etcdserver: request timed out")
    error, _ = await failed(tmp_path, WRITE, said)
    assert isinstance(error, OutcomeUnknown)
    for request in (READ, DRY):
        error, _ = await failed(tmp_path, request, said)
        assert isinstance(error, Transient)


@pytest.mark.parametrize(
    ("header", "wait"), [({}, 5), ({"Retry-After": "3"}, 3), ({"Retry-After": "86400"}, 60), ({"Retry-After": "0"}, 1)]
)
@pytest.mark.parametrize("request_", [READ, WRITE])
async def test_a_busy_server_did_nothing_and_says_how_long_to_wait_within_reason(
    tmp_path: Path, header: dict[str, str], wait: float, request_: Request
) -> None:
    error, _ = await failed(tmp_path, request_, Say(429, {}, header))
    assert isinstance(error, Transient)
    assert error.retry_after == wait


@pytest.mark.parametrize("word", ["nan", "inf", "-5", "Wed, 21 Oct 2026 07:28:00 GMT", "soon"])
async def test_a_wait_that_is_no_number_of_seconds_is_a_short_one(tmp_path: Path, word: str) -> None:
    error, _ = await failed(tmp_path, READ, Say(503, {}, {"Retry-After": word}))
    assert isinstance(error, Transient)
    assert 1 <= error.retry_after <= 5


async def test_a_budget_that_forbids_an_eviction_is_an_answer_and_no_busy_server(tmp_path: Path) -> None:
    details = {"causes": [{"reason": "DisruptionBudget", "message": "needs 2 healthy pods"}]}
    scripted = Scripted(refusal(429, "TooManyRequests", "Cannot evict pod", details))
    async with cluster_of(tmp_path, scripted) as cluster:
        reply = await cluster.request(WRITE)
    assert reply.budget


@pytest.mark.parametrize("request_", [WRITE, DRY])
async def test_a_budget_that_is_not_counted_yet_forbids_nothing_and_says_when_to_ask_again(
    tmp_path: Path, request_: Request
) -> None:
    """Nothing was applied: pkg/registry/core/pod/storage/eviction.go answers so too where a sick pod's status moved."""
    causes = [{"reason": "DisruptionBudget", "message": "The disruption budget all is still being processed"}]
    told = refusal(429, "TooManyRequests", "Cannot evict pod", {"causes": causes, "retryAfterSeconds": 10})
    error, scripted = await failed(tmp_path, request_, replace(told, headers={"Retry-After": "10"}), Say())
    assert isinstance(error, Transient)
    assert error.retry_after == 10
    assert "still being processed" in str(error)
    assert len(scripted.told) == 1


@pytest.mark.parametrize("request_", [READ, WRITE])
async def test_credentials_that_are_not_accepted_are_read_again_once_and_nothing_was_applied(
    tmp_path: Path, request_: Request
) -> None:
    denied = refusal(401, "Unauthorized", "Unauthorized")
    error, scripted = await failed(tmp_path, request_, denied, denied, Say())
    assert isinstance(error, Transient)
    assert len(scripted.told) == 2


async def test_a_kubeconfig_that_was_renewed_is_read_after_a_401(tmp_path: Path) -> None:
    scripted = Scripted(refusal(401, "Unauthorized", "Unauthorized"), Say(200, {"kind": "NodeList"}))
    async with listening(scripted) as url, Cluster(kubeconfig(tmp_path, url)) as cluster:
        await cluster.open()
        kubeconfig(tmp_path, url, token="renewed")
        assert (await cluster.request(READ)).ok
    assert [told.headers["Authorization"] for told in scripted.told] == ["Bearer t0ken", "Bearer renewed"]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_never_followed(tmp_path: Path, status: int) -> None:
    for request, kind in ((WRITE, OutcomeUnknown), (READ, Transient)):
        error, scripted = await failed(tmp_path, request, Say(status, {}, {"Location": "/login"}), Say())
        assert isinstance(error, kind)
        assert len(scripted.told) == 1


@pytest.mark.parametrize("raw", ["<html>signed in</html>", "[]", "null", '{"half', "[" * 100_000])
async def test_success_without_an_object_is_no_success(tmp_path: Path, raw: str) -> None:
    error, _ = await failed(tmp_path, WRITE, Say(200, raw=raw))
    assert isinstance(error, OutcomeUnknown)
    error, _ = await failed(tmp_path, READ, Say(200, raw=raw))
    assert isinstance(error, Transient)


async def test_an_answer_that_is_too_large_is_not_kept(tmp_path: Path) -> None:
    large = Say(200, {"x": "y" * 5000})
    error, _ = await failed(tmp_path, Request("GET", "/api/v1/nodes", most=1000), large)
    assert isinstance(error, Permanent)
    writing = Request("PATCH", "/api/v1/nodes/n", body=[], writes=True, most=1000)
    error, _ = await failed(tmp_path, writing, large)
    assert isinstance(error, OutcomeUnknown)


async def test_text_that_is_too_large_is_cut(tmp_path: Path) -> None:
    async with cluster_of(tmp_path, Scripted(Say(200, raw="x" * 5000))) as cluster:
        reply = await cluster.request(Request("GET", "/log", accept="text/plain", most=1000))
    assert reply.text == "x" * 1000


async def test_what_the_server_says_is_bounded_and_without_control_characters(tmp_path: Path) -> None:
    scripted = Scripted(refusal(403, "Forbidden", "no\x1b[31m\u202e" + "x" * 5000))
    async with cluster_of(tmp_path, scripted) as cluster:
        reply = await cluster.request(WRITE)
    assert reply.sentence.startswith("noxxx")
    assert len(reply.sentence) == 1000


async def test_a_404_counts_as_missing_only_when_the_api_server_names_the_object(tmp_path: Path) -> None:
    answers: list[tuple[Any, bool]] = [
        (refusal(404, "NotFound", "gone", {"name": "p"}), True),
        (refusal(404, "NotFound", "gone", {"name": "another"}), False),
        (refusal(404, "NotFound", "the server could not find the requested resource"), False),
        (Say(404, raw="404 page not found"), False),
    ]
    for said, is_missing in answers:
        async with cluster_of(tmp_path, Scripted(said)) as cluster:
            assert (await cluster.request(READ)).is_missing("p") is is_missing


@pytest.mark.parametrize(("request_", "kind"), [(WRITE, OutcomeUnknown), (DELETE, OutcomeUnknown), (READ, Transient)])
async def test_no_answer_in_time_leaves_a_write_unknown_and_a_read_to_be_tried_again(
    tmp_path: Path, request_: Request, kind: type[HandrailError]
) -> None:
    scripted = Scripted(by=lambda told: Say(hang=True))
    async with listening(scripted) as url:
        config = kubeconfig(tmp_path, url).model_copy(update={"request_seconds": 0.3})
        async with Cluster(config) as cluster:
            with pytest.raises(kind):
                await cluster.request(request_)
    assert len(scripted.told) == 1


async def test_hands_that_are_switched_off_send_nothing(tmp_path: Path) -> None:
    scripted = Scripted(Say())
    async with listening(scripted) as url:
        config = kubeconfig(tmp_path, url).model_copy(update={"hands_enabled": False})
        async with Cluster(config) as cluster:
            with pytest.raises(Bug):
                await cluster.request(WRITE)
            assert (await cluster.request(DRY)).ok
    assert len(scripted.told) == 1
