"""The real Kubernetes client at the simulator, with raw JSON as the daemon uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kubernetes.aio import client as _client
from kubernetes.aio import config as _config
from kubernetes.aio import watch as _watch
from kubernetes.aio.client.exceptions import ApiException

from handrail.sim import Simulator

# Its typed models want typed bodies; these tests send plain JSON.
client: Any = _client
config: Any = _config
watch: Any = _watch


async def connected(simulator: Simulator, folder: Path, token: str = "") -> Any:
    """A client with this token (or the admin's), configured by a kubeconfig that the simulator has written."""
    path = simulator.kubeconfig(folder / f"{token or 'admin'}.kubeconfig", token)
    configuration = client.Configuration()
    await config.load_kube_config(config_file=str(path), client_configuration=configuration)
    return client.ApiClient(configuration)


async def answer(api: Any, method: str, path: str, body: Any = None, **query: str) -> Any:
    """The response to one request, whatever its status."""
    kind = "application/json-patch+json" if method == "PATCH" else "application/json"
    serialized = await api.param_serialize(
        method=method,
        resource_path=path,
        query_params=list(query.items()),
        header_params={"Accept": "application/json", "Content-Type": kind},
        body=body,
        auth_settings=["BearerToken"],
    )
    response = await api.call_api(*serialized)
    await response.read()
    return response


async def call(api: Any, method: str, path: str, body: Any = None, **query: str) -> Any:
    """The JSON of an answer; a refusal is raised."""
    response = await answer(api, method, path, body, **query)
    if response.status >= 400:
        raise ApiException(status=response.status, reason=response.reason, body=response.data.decode())
    return json.loads(response.data)


async def refused(api: Any, method: str, path: str, body: Any = None) -> tuple[int, str]:
    """Status code and reason of a refusal."""
    with pytest.raises(ApiException) as error:
        await call(api, method, path, body)
    return int(error.value.status or 0), str(json.loads(error.value.body or "{}")["reason"])
