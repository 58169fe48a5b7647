"""`handrail check` against a real broker and a real API server: enough rights, and none too many."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import handrail_remediations
from handrail.adapters.settings import load_policy
from handrail.core.rbac import objects
from tests.cli.site import Site, only
from tests.kafka.support import PATIENCE, fresh, make_topics, until_groups_are_coordinated
from tests.servers.control_plane import ControlPlane
from tests.servers.kafka import KafkaServer


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.mark.server
async def test_every_topic_is_looked_for_and_none_is_made(here: Site, kafka_server: KafkaServer) -> None:
    there, missing = fresh("alerts"), fresh("missing")
    await make_topics(kafka_server.bootstrap, there, partitions=3)
    await until_groups_are_coordinated(kafka_server.bootstrap)
    topics = [{"name": there}, {"name": missing}]
    here.config["kafka"] = {"bootstrap": [kafka_server.bootstrap], "topics": topics, "dead_letter_topic": f"{there}.d"}
    for _ in range(2):
        lines = await here.check()
        assert only(lines, "kafka").ok
        assert only(lines, f"topic {there}").text == "3 partitions, can be read"
        assert "does not exist" in only(lines, f"topic {missing}").text
        assert not only(lines, f"topic {there}.d").ok


class Account:
    """A service account of its own that may do what `handrail rbac` prints, and what is granted on top."""

    def __init__(self, server: ControlPlane, here: Site) -> None:
        self.name = fresh("rail")
        self.server, self.api = server, server.api
        self._made: list[str] = []
        for namespace in ("handrail", "shop"):
            server.ensure_namespace(namespace)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": self.name}}
        self.api.apply(f"/api/v1/namespaces/handrail/serviceaccounts/{self.name}", account)
        for one in objects(
            load_policy(here.path.with_name("policy.yaml")),
            handrail_remediations.catalogue(),
            self.name,
            "handrail",
            self.name,
        ):
            self.apply(one)
        token = server.service_account_token("handrail", self.name)
        kubeconfig = server.kubeconfig_for(token, self.name)
        here.config["kubernetes"] = {"mode": "kubeconfig", "kubeconfig": str(kubeconfig)}

    def apply(self, one: dict[str, Any]) -> None:
        path = path_of(one)
        self.api.apply(path, one)
        self._made.append(path)

    def close(self) -> None:
        for path in self._made:
            self.api.call("DELETE", path)


def path_of(one: dict[str, Any]) -> str:
    metadata = one["metadata"]
    place = f"namespaces/{metadata['namespace']}/" if "namespace" in metadata else ""
    return f"/apis/rbac.authorization.k8s.io/v1/{place}{one['kind'].lower()}s/{metadata['name']}"


@pytest.fixture
def account(control_plane: ControlPlane, here: Site) -> Iterator[Account]:
    made = Account(control_plane, here)
    yield made
    made.close()


async def until_rights(here: Site, wanted: Callable[[str, str], bool]) -> None:
    """What is missing and what is too much, once they are as wanted: the API server's authorizer follows its objects,
    each kind by a watch of its own, so that one of them may be in force before another."""
    ends = time.monotonic() + PATIENCE
    while True:
        missing, much = (await here.check())["rights"]
        if wanted("" if missing.ok else missing.text, "" if much.ok else much.text):
            return
        assert time.monotonic() < ends, (missing, much)
        await asyncio.sleep(0.25)


def all_is_well(missing: str, much: str) -> bool:
    return (missing, much) == ("", "")


@pytest.mark.server
async def test_the_rights_that_are_printed_are_enough_and_not_too_much(here: Site, account: Account) -> None:
    await until_rights(here, all_is_well)
    cluster = only(await here.check(), "cluster")
    assert cluster.ok
    assert "test, Kubernetes v1." in cluster.text


@pytest.mark.server
async def test_a_cluster_admin_has_too_much_and_it_is_named(here: Site, account: Account) -> None:
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{account.name}-admin"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": account.name, "namespace": "handrail"}],
    }
    account.apply(binding)
    said = "* *.* in all namespaces"
    await until_rights(here, lambda missing, much: not missing and said in much and "remove the binding" in much)


@pytest.mark.server
async def test_a_right_to_write_where_the_policy_enables_nothing_is_too_much(here: Site, account: Account) -> None:
    hands = account.api.get(f"/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles/{account.name}-hands")
    role = {"apiVersion": hands["apiVersion"], "kind": "ClusterRole", "metadata": {"name": f"{account.name}-wide"}}
    account.apply({**role, "rules": hands["rules"]})
    binding = {
        "apiVersion": hands["apiVersion"],
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{account.name}-wide"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"{account.name}-wide"},
        "subjects": [{"kind": "ServiceAccount", "name": account.name, "namespace": "handrail"}],
    }
    account.apply(binding)
    await until_rights(here, lambda _, much: "patch deployments.apps in all namespaces" in much)


@pytest.mark.server
async def test_with_the_hands_off_every_right_to_write_is_too_much(here: Site, account: Account) -> None:
    here.config["kubernetes"]["hands_enabled"] = False
    await until_rights(here, lambda _, much: "patch deployments.apps in shop" in much)


@pytest.mark.server
@pytest.mark.parametrize(
    ("part", "namespace", "said"),
    [("hands", "shop", "patch deployments.apps in shop"), ("eyes", "", "list pods in all namespaces")],
)
async def test_a_right_that_is_missing_is_named(
    here: Site, account: Account, part: str, namespace: str, said: str
) -> None:
    await until_rights(here, all_is_well)
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    metadata = {"name": f"{account.name}-{part}", **({"namespace": namespace} if namespace else {})}
    account.api.delete(path_of({"kind": kind, "metadata": metadata}))
    await until_rights(here, lambda missing, _: said in missing and "handrail rbac" in missing)
