"""What watchers see while objects come, change and go: the same from the simulator and from a real API server."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from handrail.sim import Simulator
from tests.servers.cluster import PATIENCE, Cluster
from tests.sim.asks import JSON_PATCH, MERGE

pytestmark = pytest.mark.server
NS = "watched"
MAPS = f"/api/v1/namespaces/{NS}/configmaps"
Script = Callable[[aiohttp.ClientSession], Any]


@asynccontextmanager
async def both(cluster: Cluster) -> AsyncIterator[list[aiohttp.ClientSession]]:
    """A session at the simulator and one at the real server, with an empty namespace on each."""
    tls = ssl.create_default_context(cafile=str(cluster.ca_file))
    async with (
        Simulator() as simulator,
        session_of(simulator.url, simulator.token) as first,
        session_of(cluster.url, cluster.api.token or "", tls) as second,
    ):
        try:
            for session in (first, second):
                await send(session, "POST", "/api/v1/namespaces", {"metadata": {"name": NS}})
            yield [first, second]
        finally:
            await send(second, "DELETE", f"/api/v1/namespaces/{NS}")
            await gone(second)


def session_of(url: str, token: str, tls: ssl.SSLContext | bool = True) -> aiohttp.ClientSession:
    headers = {"Authorization": f"Bearer {token}"}
    return aiohttp.ClientSession(url, headers=headers, connector=aiohttp.TCPConnector(ssl=tls))


async def send(session: aiohttp.ClientSession, method: str, path: str, body: Any = None, kind: str = "") -> Any:
    headers = {"Content-Type": kind or "application/json"}
    data = None if body is None else json.dumps(body)
    async with session.request(method, path, data=data, headers=headers) as response:
        return await response.json()


async def gone(session: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(PATIENCE):
        while (await send(session, "GET", f"/api/v1/namespaces/{NS}")).get("code") != 404:
            await asyncio.sleep(0.1)


async def watched(session: aiohttp.ClientSession, path: str, until: str, **query: str) -> list[dict[str, Any]]:
    """The events of a watch up to the deletion of the object of this name."""
    events: list[dict[str, Any]] = []
    async with asyncio.timeout(PATIENCE), session.get(path, params={"watch": "true", **query}) as response:
        async for line in response.content:
            events.append(json.loads(line))
            if events[-1]["type"] == "DELETED" and events[-1]["object"]["metadata"]["name"] == until:
                break
    return events


def told(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What the events say, and whether each is newer than the one before."""
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in events]
    assert versions == sorted(set(versions))
    return [
        (
            event["type"],
            event["object"]["kind"],
            event["object"]["metadata"]["name"],
            event["object"]["metadata"].get("labels"),
            event["object"].get("data"),
            "deletionTimestamp" in event["object"]["metadata"],
        )
        for event in events
    ]


def config_map(name: str, of: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"of": of}, **more}, "data": {"a": "1"}}


async def changes(session: aiohttp.ClientSession) -> None:
    """Objects come, change, enter and leave the selection `of=it`, and go at last."""
    await send(session, "POST", MAPS, config_map("a", "it"))
    await send(session, "POST", MAPS, config_map("b", "other"))
    await send(session, "PATCH", f"{MAPS}/a", [{"op": "replace", "path": "/data/a", "value": "2"}], JSON_PATCH)
    await send(session, "PATCH", f"{MAPS}/a", [{"op": "replace", "path": "/data/a", "value": "2"}], JSON_PATCH)
    await send(session, "PATCH", f"{MAPS}/a?dryRun=All", {"data": {"a": "3"}}, MERGE)
    await send(session, "PATCH", f"{MAPS}/b", {"metadata": {"labels": {"of": "it"}}}, MERGE)
    await send(session, "PATCH", f"{MAPS}/a", {"metadata": {"labels": {"of": "other"}}}, MERGE)
    await send(session, "DELETE", f"{MAPS}/b")
    await send(session, "POST", MAPS, config_map("c", "it", finalizers=["handrail.dev/held"]))
    await send(session, "DELETE", f"{MAPS}/c")
    await send(session, "PATCH", f"{MAPS}/c", {"metadata": {"finalizers": None}}, MERGE)


@pytest.mark.parametrize(
    "query", [{"labelSelector": "of=it"}, {"labelSelector": "of"}, {"fieldSelector": "metadata.name=c"}]
)
async def test_watchers_see_the_same(control_plane: Cluster, query: dict[str, str]) -> None:
    seen = []
    async with both(control_plane) as sessions:
        for session in sessions:
            version = (await send(session, "GET", MAPS))["metadata"]["resourceVersion"]
            watch = asyncio.create_task(watched(session, MAPS, "c", resourceVersion=version, **query))
            await changes(session)
            live = told(await watch)
            # The past can be watched too, and is the same.
            assert told(await watched(session, MAPS, "c", resourceVersion=version, **query)) == live
            seen.append(live)
    assert seen[0] == seen[1]


async def test_a_watch_without_a_version_begins_with_what_is_there(control_plane: Cluster) -> None:
    seen = []
    async with both(control_plane) as sessions:
        for session in sessions:
            await send(session, "POST", MAPS, config_map("a", "it"))
            watch = asyncio.create_task(watched(session, MAPS, "c", labelSelector="of"))
            await asyncio.sleep(0.1)
            await send(session, "POST", MAPS, config_map("c", "it"))
            await send(session, "DELETE", f"{MAPS}/c")
            seen.append(told(await watch))
    assert seen[0] == seen[1]


async def test_a_watch_ends_by_itself_when_its_time_is_over(control_plane: Cluster) -> None:
    async with both(control_plane) as sessions:
        for session in sessions:
            query = {"timeoutSeconds": "1", "fieldSelector": "metadata.name=none"}
            assert await watched(session, MAPS, "none", **query) == []
