"""The running daemon meets the stops that the API server itself holds: nothing is written, the thread has the person's
own words, and after `start` it goes on and repairs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

import handrail_remediations
from handrail.cli import cli
from handrail.core.admission import objects
from handrail.model.policy import Policy
from tests.fakes.slack import FakeSlack
from tests.helm.chart import collection
from tests.path.opening import Opening, thread_of
from tests.path.stage import BAD, CHANNEL, GOOD, ONCALL, Daemon, Shop, until
from tests.servers.api import JSON_PATCH
from tests.servers.control_plane import ControlPlane

pytestmark = pytest.mark.server

WORDS = "migration of the shop"
SHORT = 15


@pytest.fixture
def policies(control_plane: ControlPlane, daemon: Daemon, opening: Opening) -> Iterator[None]:
    """The admission policies of the daemon's account, as the chart installs them."""
    policy = Policy.model_validate(opening.policy())
    made = objects(policy, handrail_remediations.catalogue(), daemon.account, "handrail", daemon.account)
    for one in made:
        control_plane.api.apply(f"{collection(one)}/{one['metadata']['name']}", one)
    yield
    for one in reversed(made):
        control_plane.api.call("DELETE", f"{collection(one)}/{one['metadata']['name']}")


async def in_the_cluster(daemon: Daemon, *words: str) -> str:
    """`handrail … --cluster` with the operator's kubeconfig."""
    named = [*words, "--cluster", "--kubeconfig", str(daemon.plane.kubeconfig), "--name", daemon.account]
    done = await asyncio.to_thread(CliRunner().invoke, cli, named)
    assert done.exit_code == 0, done.output
    return done.output


def refused(daemon: Daemon, shop: Shop) -> bool:
    """Whether the API server refuses the daemon's account a restart now; it is only tried."""
    api = daemon.plane.as_token(daemon.plane.service_account_token("handrail", daemon.account))
    value = {"kubectl.kubernetes.io/restartedAt": "2026-11-30T12:00:00Z"}
    patch = [{"op": "add", "path": "/spec/template/metadata/annotations", "value": value}]
    answer = api.call("PATCH", shop.path, patch, JSON_PATCH, dryRun="All")
    assert answer.status in (200, 403), answer.text
    return answer.status == 403


async def said(slack: FakeSlack, text: str, *words: str) -> None:
    """Types a command as the on-call engineer, and waits for an answer that has these words."""
    before = len(slack.ephemerals(ONCALL))
    assert await slack.slash("/handrail", text, user=ONCALL, channel=CHANNEL)
    await slack.wait_for(lambda: len(slack.ephemerals(ONCALL)) > before, 60)
    answer = slack.ephemerals(ONCALL)[-1].text
    assert all(word in answer for word in words), answer


@pytest.mark.parametrize("how", ["annotation", "binding"])
async def test_a_stop_put_while_a_card_is_open_is_met_once_told_and_held_until_start(
    opening: Opening, daemon: Daemon, shop: Shop, slack: FakeSlack, policies: None, how: str
) -> None:
    card = await opening.until_asked(SHORT)
    assert not refused(daemon, shop)
    namespace = ["--namespace", shop.namespace] if how == "annotation" else []
    await in_the_cluster(daemon, "stop", *namespace, "--reason", WORDS)
    await until(lambda: refused(daemon, shop), 60, "the stop: what the API server admits by is a watch behind")
    assert await slack.click(card.ts, "approve", user=ONCALL)

    held = "The cluster refuses every write"
    told = (await thread_of(slack, held))[-1]
    assert (WORDS if how == "annotation" else "none of the rights to write is left") in told
    assert "Nothing has been changed." in told
    assert daemon.applied() == []
    assert shop.image() == BAD
    reach = f"namespace {shop.namespace}" if how == "annotation" else "everything"
    await said(slack, "status", f"STOPPED: {reach}, by the cluster since ")

    await in_the_cluster(daemon, "start", *namespace)
    await until(lambda: not refused(daemon, shop), 60, "the end of the stop")
    await asyncio.sleep(3)
    assert shop.image() == BAD, "lifted in the cluster alone: a person has to say start"
    await said(slack, f"start --in-namespace {shop.namespace}" if how == "annotation" else "start", "started")

    await daemon.until_state("RESOLVED", 120)
    assert shop.image() == GOOD
    await until(shop.ready, 30, "three ready pods of the old revision")
    assert [(w.verb, w.resource, w.name) for w in daemon.applied()] == [("patch", "deployments", "checkout")]
    lines = await thread_of(slack, "It healed")
    assert sum(line.startswith(held) for line in lines) == 1, "never retried in a loop"
    assert await daemon.stop() == 0
