"""The second way to decide: the CLI over HTTP with a Kubernetes token, on a real cluster without any Slack."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.cli.ending import REFUSED
from tests.path.stage import BAD, GOOD, Daemon, Shop, send_alert, until
from tests.servers.collector import OtelCollector
from tests.servers.control_plane import ControlPlane
from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.server


def account(plane: ControlPlane, name: str) -> str:
    """The token of a person; service accounts are the people that a test can make."""
    plane.ensure_namespace("people")
    meta = {"name": name, "namespace": "people"}
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}
    plane.api.apply(f"/api/v1/namespaces/people/serviceaccounts/{name}", body)
    return plane.service_account_token("people", name)


async def as_person(daemon: Daemon, token: str, *arguments: str) -> tuple[int, str]:
    env = {key: text for key, text in os.environ.items() if not key.startswith("HANDRAIL_")}
    env |= {"HANDRAIL_SERVER": f"http://127.0.0.1:{daemon.port}", "HANDRAIL_TOKEN": token}
    process = await asyncio.create_subprocess_exec(
        daemon.program, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=env
    )
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode()


async def test_an_approver_decides_with_a_token_and_a_stranger_does_not(
    control_plane: ControlPlane,
    kafka_server: KafkaServer,
    otel_collector: Callable[..., OtelCollector],
    tmp_path: Path,
) -> None:
    shop = Shop(control_plane, "shop-by-token")
    kafka = {
        "bootstrap": [kafka_server.bootstrap],
        "group": shop.namespace,
        "topics": [{"name": shop.namespace, "signal": "logs"}],
    }
    daemon = Daemon(control_plane, tmp_path / "d", {"kafka": kafka}, "sa-by-token")
    oncall, stranger = account(control_plane, "oncall"), account(control_plane, "stranger")
    reader = account(control_plane, "reader")
    policy = {
        "version": 1,
        "rules": [{"namespaces": [shop.namespace], "steps": {"rollout_undo": "ask"}}],
        "approvers": {"users": ["system:serviceaccount:people:oncall"]},
        "operators": {"users": ["system:serviceaccount:people:oncall"]},
        "readers": {"users": ["system:serviceaccount:people:reader"]},
    }
    collector = await asyncio.to_thread(otel_collector, topics={"logs": shop.namespace})
    daemon.install(policy)
    await daemon.start()
    try:
        await asyncio.to_thread(shop.open)
        await until(shop.ready, 60, "three ready pods")
        await asyncio.to_thread(shop.roll_out, BAD)
        await until(shop.crashing, 60, "crash-looping pods")
        await asyncio.to_thread(send_alert, collector.grpc, shop)
        asked = await daemon.until_state("asking", 60)

        code, said = await as_person(daemon, reader, "incidents", "report", asked["incident"])
        assert code == 0, said
        code, said = await as_person(daemon, reader, "approve", asked["incident"], "--yes")
        assert code == REFUSED
        assert "NOT_AN_APPROVER" in said
        code, said = await as_person(daemon, stranger, "take", asked["incident"])
        assert code == REFUSED
        assert "NOT_AN_APPROVER" in said
        for reading in (("list",), ("show", asked["incident"]), ("report", asked["incident"])):
            code, said = await as_person(daemon, stranger, "incidents", *reading)
            assert code == REFUSED
            assert "`readers`" in said
            assert asked["incident"] not in said
        code, said = await as_person(daemon, stranger, "audit", "verify")
        assert code == REFUSED
        assert "`readers`" in said
        code, said = await as_person(daemon, "no-token", "incidents", "list")
        assert code == REFUSED
        code, said = await as_person(daemon, stranger, "stop", "--reason", "because")
        assert code == REFUSED
        assert daemon.applied() == []

        code, said = await as_person(daemon, oncall, "approve", asked["incident"], "--yes")
        assert code == 0, said
        await daemon.until_state("RESOLVED", 120)
        assert shop.image() == GOOD
        report = await daemon.cli("incidents", "report", asked["incident"])
        assert "system:serviceaccount:people:oncall" in report
        assert await daemon.stop() == 0
    finally:
        await daemon.close()
