"""`handrail stop --cluster` with no daemon anywhere: the API server alone refuses the daemon's account."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import handrail_remediations
from handrail.core.admission import objects as admission
from handrail.core.rbac import objects as rights
from handrail.model.policy import Policy
from tests.cli.support import Ran, handrail
from tests.helm.chart import collection
from tests.servers.api import JSON_PATCH, Answer, Api
from tests.servers.cluster import Cluster
from tests.servers.process import wait_until

pytestmark = pytest.mark.server

NAME = "halted"
SHOPS = ("halt-shop", "halt-bank")


@dataclass
class Account:
    """`api` is the daemon's token with the rights of `handrail rbac`; `kubeconfig` the operator's."""

    api: Api
    admin: Api
    kubeconfig: str

    def scale(self, namespace: str) -> Answer:
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments/api"
        patch = [{"op": "replace", "path": "/spec/replicas", "value": 2}]
        return self.api.call("PATCH", path, patch, JSON_PATCH, dryRun="All")

    def handrail(self, *words: str) -> Ran:
        return handrail(*words, "--cluster", "--kubeconfig", self.kubeconfig, "--name", NAME)

    def waits(self, namespace: str, status: int) -> str:
        wait_until(lambda: self.scale(namespace).status == status, 60, f"status {status} in {namespace}")
        return self.scale(namespace).text


@pytest.fixture(scope="module")
def account(control_plane: Cluster) -> Iterator[Account]:
    admin = control_plane.api
    for namespace in (*SHOPS, "handrail"):
        control_plane.ensure_namespace(namespace)
    made: list[dict[str, Any]] = []
    for namespace in SHOPS:
        spec = {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "api"}},
            "template": {
                "metadata": {"labels": {"app": "api"}},
                "spec": {"containers": [{"name": "api", "image": "registry.example/api:1"}]},
            },
        }
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "api"}, "spec": spec}
        admin.apply(f"/apis/apps/v1/namespaces/{namespace}/deployments/api", body)
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": "handrail"}}
    admin.apply(f"/api/v1/namespaces/handrail/serviceaccounts/{NAME}", body)
    steps = handrail_remediations.catalogue()
    rules = [{"namespaces": list(SHOPS), "steps": {"scale_workload": "ask"}}]
    policy = Policy.model_validate({"version": 1, "rules": rules})
    made += [*rights(policy, steps, NAME, "handrail", NAME), *admission(policy, steps, NAME, "handrail", NAME)]
    for one in made:
        admin.apply(f"{collection(one)}/{one['metadata']['name']}", one)
    api = control_plane.as_token(control_plane.service_account_token("handrail", NAME))
    found = Account(api, admin, str(control_plane.kubeconfig))
    for namespace in SHOPS:
        found.waits(namespace, 200)
    yield found
    for one in reversed(made):
        admin.call("DELETE", f"{collection(one)}/{one['metadata']['name']}")


def test_one_namespace_is_stopped_with_the_reason_and_given_back(account: Account) -> None:
    shop, bank = SHOPS
    stopped = account.handrail("stop", "--namespace", shop, "--reason", "release freeze")
    assert stopped.code == 0, stopped.out
    assert "release freeze" in account.waits(shop, 403)
    assert account.scale(bank).ok, "the other namespace goes on"
    assert account.api.call("GET", f"/apis/apps/v1/namespaces/{shop}/deployments/api").ok, "reading goes on"
    standing = json.loads(account.handrail("status", "--json").out)
    assert standing["writes"] is True
    assert standing["namespaces"][shop] == "release freeze"
    assert "STOPPED by the cluster in halt-shop: release freeze" in account.handrail("status").out
    assert "open again" in account.handrail("start", "--namespace", shop).out
    account.waits(shop, 200)
    assert "was not stopped" in account.handrail("start", "--namespace", shop).out


def test_everything_is_stopped_by_taking_the_hands_away_and_given_back_as_it_was(account: Account) -> None:
    before = {name: _bindings(account, name) for name in SHOPS}
    stopped = account.handrail("stop", "--reason", "it misbehaves")
    assert stopped.code == 0, stopped.out
    for namespace in SHOPS:
        assert f"{namespace}/{NAME}-hands" in stopped.out
        account.waits(namespace, 403)
    assert account.api.call("GET", f"/apis/apps/v1/namespaces/{SHOPS[0]}/deployments/api").ok, "reading goes on"
    standing = json.loads(account.handrail("status", "--json").out)
    assert standing["writes"] is False
    assert standing["why"] == "it misbehaves"
    again = account.handrail("stop", "--reason", "again")
    assert again.code != 0, "a stop that stops nothing says so"
    started = account.handrail("start")
    assert started.code == 0, started.out
    for namespace in SHOPS:
        account.waits(namespace, 200)
    assert {name: _bindings(account, name) for name in SHOPS} == before
    standing = json.loads(account.handrail("status", "--json").out)
    assert (standing["writes"], standing["why"]) == (True, "")


def _bindings(account: Account, namespace: str) -> list[Any]:
    found = account.admin.get(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings")["items"]
    return [(one["metadata"]["name"], one["metadata"]["labels"], one["roleRef"], one["subjects"]) for one in found]


def test_what_the_caller_may_not_do_is_said_with_the_servers_words(account: Account, control_plane: Cluster) -> None:
    token = control_plane.service_account_token("handrail", NAME)
    poor = str(control_plane.kubeconfig_for(token, "poor"))
    words = ("stop", "--cluster", "--kubeconfig", poor, "--name", NAME, "--reason", "x", "--namespace", SHOPS[0])
    refused = handrail(*words)
    assert refused.code == 3
    assert "refuses to patch" in refused.err
    assert "forbidden" in refused.err
    told = handrail(*words, "--json").json
    assert (told["ok"], told["message"]) == (False, refused.err.removeprefix("Error: ").strip())


def test_a_namespace_that_is_none_and_a_reason_that_says_nothing_are_refused(account: Account) -> None:
    assert account.handrail("stop", "--namespace", "Not/One", "--reason", "x").code != 0
    assert account.handrail("stop", "--namespace", SHOPS[0], "--reason", "  ").code != 0
    assert account.handrail("stop", "--namespace", "halt-nowhere", "--reason", "x").code != 0
