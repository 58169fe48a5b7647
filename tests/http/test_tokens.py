"""A real API server decides who a caller is."""

from __future__ import annotations

import pytest

from handrail.adapters.kubernetes import Cluster, KubernetesRights
from handrail.model.config import KubernetesConfig
from tests.http.support import site
from tests.servers.control_plane import ControlPlane


@pytest.mark.server
async def test_the_person_is_whom_the_api_server_vouches_for(control_plane: ControlPlane) -> None:
    control_plane.ensure_namespace("people")
    token = control_plane.service_account_token("people", "default")
    config = KubernetesConfig(mode="kubeconfig", kubeconfig=str(control_plane.kubeconfig))
    async with Cluster(config) as cluster, site(KubernetesRights(cluster)) as server:
        assert (await server.post("/api/v1/stop", {"why": "freeze"}, token=token)).status == 200
        assert (await server.post("/api/v1/stop", {"why": "freeze"}, token=token[:-4] + "AAAA")).status == 401
    (asked,) = server.desk.asked
    person = asked[2]
    assert (person.via, person.name) == ("kubernetes", "system:serviceaccount:people:default")
    assert "system:serviceaccounts:people" in person.groups
