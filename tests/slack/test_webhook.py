"""The second channel: delivered as JSON, tried three times, and silent about its own address."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import structlog

from handrail.adapters.webhook import Webhook
from handrail.model.errors import BadConfig, Permanent, Transient
from tests.fakes.webhook import FakeWebhook

SECRET = "s3cr3t-path"
PAYLOAD = {"incident": "inc-a", "state": "asking", "title": "Ünïcode"}


@pytest.fixture
async def hook() -> AsyncIterator[FakeWebhook]:
    async with FakeWebhook() as fake:
        yield fake


def webhook(hook: FakeWebhook, pauses: list[float] | None = None) -> Webhook:
    async def sleep(seconds: float) -> None:
        if pauses is not None:
            pauses.append(seconds)

    return Webhook(lambda: f"{hook.url}/{SECRET}?token={SECRET}", sleep)


async def test_a_payload_arrives_as_json(hook: FakeWebhook) -> None:
    await webhook(hook).send(PAYLOAD)
    assert [post.body for post in hook.accepted] == [PAYLOAD]


@pytest.mark.parametrize("fault", ["500", "429", "reset"])
async def test_a_failure_is_tried_three_times_with_growing_pauses(hook: FakeWebhook, fault: str) -> None:
    pauses: list[float] = []
    if fault == "reset":
        hook.reset(2)
    else:
        hook.fail(int(fault), 2)
    await webhook(hook, pauses).send(PAYLOAD)
    assert len(hook.posts) == 3
    assert pauses == sorted(pauses)
    assert len(pauses) == 2


async def test_after_three_failures_it_is_transient_and_names_no_address(hook: FakeWebhook) -> None:
    hook.fail(503, 3)
    with structlog.testing.capture_logs() as logs, pytest.raises(Transient) as caught:
        await webhook(hook).send(PAYLOAD)
    assert len(hook.posts) == 3
    assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r} {logs}"


async def test_nobody_listening_is_transient_and_names_no_address() -> None:
    async def sleep(_seconds: float) -> None:
        return None

    nobody = Webhook(lambda: f"http://127.0.0.1:1/{SECRET}", sleep)
    with pytest.raises(Transient) as caught:
        await nobody.send(PAYLOAD)
    assert SECRET not in repr(caught.value)


async def test_a_refusal_is_permanent_and_not_repeated(hook: FakeWebhook) -> None:
    hook.fail(404, 1)
    with pytest.raises(Permanent) as caught:
        await webhook(hook).send(PAYLOAD)
    assert len(hook.posts) == 1
    assert "HTTP 404" in str(caught.value)
    assert SECRET not in repr(caught.value)


@pytest.mark.parametrize("url", ["", "hooks/relative", "ftp://x/y", "http://[bad", "https://"])
async def test_an_address_that_is_none_is_a_mistake_of_the_configuration(url: str) -> None:
    with pytest.raises(BadConfig, match=r"webhook\.url") as caught:
        await Webhook(lambda: url).send(PAYLOAD)
    assert not url or url not in str(caught.value)
