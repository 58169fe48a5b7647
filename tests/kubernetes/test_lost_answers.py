"""Answers of a real API server that are lost on the way: unknown, and never sent blindly again."""

from __future__ import annotations

import ssl
import uuid
from pathlib import Path
from typing import Any

import pytest

from handrail.adapters.kubernetes import Cluster, KubernetesHands
from handrail.adapters.kubernetes.hands import carries_key
from handrail.model.config import KubernetesConfig
from handrail.model.errors import OutcomeUnknown, Transient
from handrail.model.target import ObjectRef
from handrail.model.write import Verb, Write
from tests.kubernetes.real_shop import Shop, cluster, hands, permit, shop, shown
from tests.kubernetes.scripted import LosesAnswers, listening
from tests.servers.process import free_port

__all__ = ["cluster", "hands", "shop"]

pytestmark = pytest.mark.server


async def test_a_write_whose_answer_is_lost_is_unknown_and_its_key_tells_that_it_was_applied(
    shop: Shop, tmp_path: Path
) -> None:
    relay = LosesAnswers(shop.plane.url, ssl.create_default_context(cafile=str(shop.plane.ca_file)))
    async with relayed(shop, relay) as cluster:
        hands = KubernetesHands(cluster)
        write = shop.scale_to(4)
        applied = False
        for _ in range(50):
            relay.passed.clear()
            relay.armed = 1
            with pytest.raises(OutcomeUnknown):
                await hands.send(permit(write, (await shown(hands, write)).resource_version))
            assert len(relay.passed) == 1
            live = await hands.read(write.object)
            applied = live is not None and carries_key(live, write.key)
            if applied:
                break
    assert applied
    assert shop.live()["spec"]["replicas"] == 4


async def test_a_delete_whose_answer_is_lost_is_not_sent_again(shop: Shop) -> None:
    """aiohttp would, and the second answer (404) would say that nothing was done."""
    created = shop.plane.api.post(
        f"/api/v1/namespaces/{shop.namespace}/configmaps", {"metadata": {"name": "gone"}, "data": {}}
    )
    ref = ObjectRef.of({**created, "apiVersion": "v1", "kind": "ConfigMap"})
    write = Write(verb=Verb.DELETE, object=ref, summary="delete it", key="k")
    relay = LosesAnswers(shop.plane.url, ssl.create_default_context(cafile=str(shop.plane.ca_file)))
    async with relayed(shop, relay) as cluster:
        relay.armed = 1
        with pytest.raises(OutcomeUnknown):
            await KubernetesHands(cluster).send(permit(write, created["metadata"]["resourceVersion"]))
        assert len(relay.passed) == 1
        assert await KubernetesHands(cluster).read(ref) is None


def relayed(shop: Shop, relay: LosesAnswers) -> Any:
    return _Relayed(shop, relay)


class _Relayed:
    """A client that reaches the API server over the relay."""

    def __init__(self, shop: Shop, relay: LosesAnswers) -> None:
        self._shop = shop
        self._listening = listening(relay)

    async def __aenter__(self) -> Cluster:
        url = await self._listening.__aenter__()
        path = self._shop.plane.work / f"{uuid.uuid4().hex}.kubeconfig"
        text = self._shop.plane.kubeconfig.read_text(encoding="utf-8")
        path.write_text(text.replace(self._shop.plane.url, url), encoding="utf-8")
        self._cluster = Cluster(KubernetesConfig(mode="kubeconfig", kubeconfig=str(path)))
        return self._cluster

    async def __aexit__(self, *error: Any) -> None:
        await self._cluster.close()
        await self._listening.__aexit__(*error)


async def test_nobody_listening_means_that_nothing_was_sent(shop: Shop) -> None:
    path = shop.plane.work / f"{uuid.uuid4().hex}.kubeconfig"
    text = shop.plane.kubeconfig.read_text(encoding="utf-8")
    path.write_text(text.replace(shop.plane.url, f"https://127.0.0.1:{free_port()}"), encoding="utf-8")
    async with Cluster(KubernetesConfig(mode="kubeconfig", kubeconfig=str(path))) as cluster:
        with pytest.raises(Transient):
            await KubernetesHands(cluster).send(permit(shop.scale_to(3), "1"))
