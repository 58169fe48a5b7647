"""The demo's scene: a healthy shop, and the rollout that breaks it.

It decides the names and images of the scene and plays it through the HTTP API, as a person with kubectl would. It
never undoes anything: that is the daemon's part.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import aiohttp

from .objects import Obj, condition_of
from .simulator import Simulator

NAMESPACE = "shop"
DEPLOYMENT = "checkout"
GOOD = "registry.example/checkout:1.4.2"
BAD = "registry.example/checkout:1.5.0-crash"
REPLICAS = 3
DEADLINE_S = 3  # of the rollout: a real one has minutes

_PATIENCE_S = 30.0
_POLL_S = 0.05
_DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
_CHECKOUT = f"{_DEPLOYMENTS}/{DEPLOYMENT}"
_CRASHED = """\
INFO  starting checkout 1.5.0
INFO  reading configuration from /etc/checkout/config.yaml
ERROR config: key "payments.endpoint" is required since 1.5.0 but not set
FATAL could not start: invalid configuration
"""
_SERVING = """\
INFO  starting checkout 1.4.2
INFO  reading configuration from /etc/checkout/config.yaml
INFO  listening on :8080
INFO  POST /checkout 201 34ms
"""


async def healthy_shop(simulator: Simulator) -> None:
    """Bring up the shop at its good version and wait until it is all there."""
    simulator.set_logs(GOOD, _SERVING, _SERVING)
    simulator.set_logs(BAD, _CRASHED, _CRASHED)
    async with _session(simulator) as session:
        await _send(session, "POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        await _send(session, "POST", f"/api/v1/namespaces/{NAMESPACE}/services", _service())
        await _send(session, "POST", _DEPLOYMENTS, _deployment())
        await _until(session, lambda found: _reason(found) == "NewReplicaSetAvailable")


async def bad_rollout(simulator: Simulator) -> None:
    """Roll out the version that crashes and wait until the rollout is past its deadline."""
    patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": BAD}]
    async with _session(simulator) as session:
        await _send(session, "PATCH", _CHECKOUT, patch, "application/json-patch+json")
        await _until(session, lambda found: _reason(found) == "ProgressDeadlineExceeded")


def _deployment() -> Obj:
    labels = {"app": DEPLOYMENT}
    container = {"name": DEPLOYMENT, "image": GOOD, "ports": [{"containerPort": 8080}]}
    return {
        "metadata": {"name": DEPLOYMENT, "labels": labels},
        "spec": {
            "replicas": REPLICAS,
            "progressDeadlineSeconds": DEADLINE_S,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def _service() -> Obj:
    ports = [{"port": 80, "targetPort": 8080}]
    return {"metadata": {"name": DEPLOYMENT}, "spec": {"selector": {"app": DEPLOYMENT}, "ports": ports}}


def _reason(deployment: Obj) -> str:
    condition = condition_of(deployment, "Progressing")
    return str(condition["reason"]) if condition else ""


def _session(simulator: Simulator) -> aiohttp.ClientSession:
    headers = {"Authorization": f"Bearer {simulator.token}", "User-Agent": "kubectl/demo"}
    return aiohttp.ClientSession(simulator.url, headers=headers, raise_for_status=True)


async def _send(
    session: aiohttp.ClientSession, method: str, path: str, body: Any, content_type: str = "application/json"
) -> None:
    typed = {"Content-Type": content_type}
    async with session.request(method, path, data=json.dumps(body), headers=typed) as response:
        await response.read()


async def _until(session: aiohttp.ClientSession, holds: Callable[[Obj], bool]) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            async with session.get(_CHECKOUT) as response:
                if holds(await response.json()):
                    return
            await asyncio.sleep(_POLL_S)
