"""Who may what on a real API server, and tokens that rotate."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.adapters.kubernetes import Cluster, KubernetesEyes, KubernetesHands, KubernetesRights
from handrail.adapters.kubernetes.credentials import Mounted
from handrail.model.approval import Person
from handrail.model.config import KubernetesConfig
from handrail.model.errors import Transient
from handrail.model.hands import Answer
from handrail.model.reason import Reason, Refusal
from handrail.model.step import Rule
from tests.kubernetes.real_shop import Shop, cluster, hands, permit, shop

__all__ = ["cluster", "hands", "shop"]

pytestmark = pytest.mark.server

PATCH = Rule(api_group="apps", resources=("deployments",), verbs=("patch",))


async def test_without_the_right_to_write_a_dry_run_and_a_write_are_denied_in_the_servers_words(shop: Shop) -> None:
    reading = [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}]
    token = shop.account("reader", reading)
    write = shop.scale_to(3)
    async with Cluster(shop.as_token(token)) as cluster:
        hands = KubernetesHands(cluster)
        refused = await hands.dry_run(write)
        sent = await hands.send(permit(write, shop.live()["metadata"]["resourceVersion"]))
    assert isinstance(refused, Refusal)
    assert refused.reason is Reason.DENIED
    assert 'cannot patch resource "deployments"' in refused.detail
    assert (sent.answer, sent.reason) == (Answer.REFUSED, Reason.DENIED)


async def test_a_person_is_who_the_server_says(cluster: Cluster, shop: Shop) -> None:
    rights = KubernetesRights(cluster)
    token = shop.account("alice", [])
    name = f"system:serviceaccount:{shop.namespace}:alice"
    person = await rights.token_review(token)
    assert person is not None
    assert (person.via, person.name) == ("kubernetes", name)
    assert f"system:serviceaccounts:{shop.namespace}" in person.groups
    admin = await rights.token_review(shop.plane.admin_token)
    assert admin is not None
    assert admin.name == "admin"
    assert "system:masters" in admin.groups
    assert await rights.token_review("nobody's") is None
    assert await rights.token_review(token[:-3] + "xyz") is None
    assert isinstance(person, Person)


async def test_missing_and_excessive_rights_are_found(cluster: Cluster, shop: Shop) -> None:
    writing = [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "patch"]}]
    token = shop.account("writer", writing)
    async with Cluster(shop.as_token(token)) as narrow:
        rights = KubernetesRights(narrow)
        assert await rights.can_i((PATCH,), (shop.namespace,)) == []
        missing = await rights.can_i((PATCH,), (shop.namespace, "default"))
        assert [str(right) for right in missing] == ["patch deployments.apps in default"]
        assert await rights.too_much((shop.namespace, "")) == []
    found = {str(right) for right in await KubernetesRights(cluster).too_much((shop.namespace,))}
    assert {f"create pods/exec in {shop.namespace}", f"get secrets in {shop.namespace}"} <= found


async def test_a_pods_token_is_read_again_when_it_rotates(shop: Shop, tmp_path: Path) -> None:
    reading = [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}]
    tokens = [shop.account(name, reading) for name in ("one", "two")]
    file = tmp_path / "token"
    file.write_text(tokens[0], encoding="utf-8")
    host, port = shop.plane.url.removeprefix("https://").split(":")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    account = Mounted(str(file), str(shop.plane.ca_file), environ)
    async with Cluster(KubernetesConfig(mode="in-cluster"), account) as cluster:
        eyes = KubernetesEyes(cluster)
        assert await eyes.get(shop.ref()) is not None
        file.write_text("expired", encoding="utf-8")
        with pytest.raises(Transient):
            await eyes.get(shop.ref())
        file.write_text(tokens[1], encoding="utf-8")
        assert await eyes.get(shop.ref()) is not None
