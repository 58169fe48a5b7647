"""The simulator as its users meet it: through the real Kubernetes client, with tokens, logs and a kubeconfig."""

from __future__ import annotations

import asyncio
import json
import signal
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes.aio.client.exceptions import ApiException

from handrail.sim import READ, Rule, Simulator, scene
from handrail.sim.kinds import CONFIG_MAP
from tests.sim.kube import answer, call, client, connected, refused, watch

APPS = "/apis/apps/v1/namespaces/shop/deployments/checkout"
DENIED_URL = "/api/v1/namespaces/shop/secrets"


@pytest.fixture
async def api(simulator: Simulator, tmp_path: Path) -> AsyncIterator[Any]:
    """The real client, configured by the simulator's own kubeconfig."""
    async with await connected(simulator, tmp_path) as api:
        yield api


async def test_the_typed_client_reads_and_writes(simulator: Simulator, api: Any) -> None:
    await scene.healthy_shop(simulator)
    apps = client.AppsV1Api(api)
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "checkout", "image": "other:1"}]}}}}
    rehearsed = await apps.patch_namespaced_deployment("checkout", "shop", patch, dry_run="All")
    assert rehearsed.spec.template.spec.containers[0].image == "other:1"
    kept = await apps.read_namespaced_deployment("checkout", "shop")
    assert kept.spec.template.spec.containers[0].image == scene.GOOD
    assert kept.status.available_replicas == scene.REPLICAS
    assert (await client.VersionApi(api).get_code()).minor == "36"


async def test_the_clients_watch_follows_changes(simulator: Simulator, api: Any) -> None:
    core = client.CoreV1Api(api)
    await core.create_namespace({"metadata": {"name": "shop"}})
    seen = []
    version = (await core.list_namespaced_config_map("shop")).metadata.resource_version
    await core.create_namespaced_config_map("shop", {"metadata": {"name": "settings"}})
    await core.delete_namespaced_config_map("settings", "shop")
    options = {"resource_version": version, "timeout_seconds": 10}
    async with watch.Watch().stream(core.list_namespaced_config_map, "shop", **options) as stream:
        async for event in stream:
            seen.append((event["type"], event["object"].metadata.name))
            if event["type"] == "DELETED":
                break
    assert seen == [("ADDED", "settings"), ("DELETED", "settings")]


async def test_the_scene_breaks_and_its_undo_heals_it(simulator: Simulator, api: Any) -> None:
    await scene.healthy_shop(simulator)
    template = (await call(api, "GET", APPS))["spec"]["template"]
    await scene.bad_rollout(simulator)
    broken = await call(api, "GET", APPS)
    assert broken["spec"]["template"]["spec"]["containers"][0]["image"] == scene.BAD
    assert broken["status"]["readyReplicas"] == scene.REPLICAS
    operations = [
        {"op": "replace", "path": "/metadata/uid", "value": broken["metadata"]["uid"]},
        {"op": "replace", "path": "/spec/template", "value": template},
    ]
    await call(api, "PATCH", APPS, operations)
    async with asyncio.timeout(10):
        while (healed := await call(api, "GET", APPS))["status"].get("unavailableReplicas"):
            await asyncio.sleep(0.05)
    assert healed["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"


async def test_the_broken_pods_log_says_why(simulator: Simulator, api: Any) -> None:
    await scene.healthy_shop(simulator)
    await scene.bad_rollout(simulator)
    pods = await call(api, "GET", "/api/v1/namespaces/shop/pods")
    broken = next(p for p in pods["items"] if p["spec"]["containers"][0]["image"] == scene.BAD)
    log = await client.CoreV1Api(api).read_namespaced_pod_log(broken["metadata"]["name"], "shop", previous=True)
    assert "payments.endpoint" in log


async def test_a_token_may_do_what_its_rules_say_and_no_more(simulator: Simulator, tmp_path: Path) -> None:
    await scene.healthy_shop(simulator)
    simulator.add_token("reader", "system:serviceaccount:handrail:handrail", can=[READ])
    async with await connected(simulator, tmp_path, "reader") as api:
        assert (await call(api, "GET", APPS))["kind"] == "Deployment"
        patch = [{"op": "replace", "path": "/spec/replicas", "value": 1}]
        assert await refused(api, "PATCH", APPS, patch) == (403, "Forbidden")
        assert not await may(api, "patch")
        simulator.add_token("reader", "handrail", can=[READ, Rule(("patch",), ("deployments",), ("apps",), ("shop",))])
        assert await may(api, "patch")
        assert (await call(api, "PATCH", APPS, patch))["spec"]["replicas"] == 1


async def may(api: Any, verb: str) -> bool:
    attributes = {"verb": verb, "group": "apps", "resource": "deployments", "namespace": "shop"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    review = await call(api, "POST", path, {"spec": {"resourceAttributes": attributes}})
    return bool(review["status"]["allowed"])


async def test_nobody_reads_secrets(api: Any) -> None:
    assert await refused(api, "GET", DENIED_URL) == (403, "Forbidden")


async def test_an_unknown_token_and_none_at_all_are_refused(simulator: Simulator, tmp_path: Path) -> None:
    async with await connected(simulator, tmp_path, "nobody") as api:
        assert await refused(api, "GET", APPS) == (401, "Unauthorized")
    async with client.ApiClient(client.Configuration(host=simulator.url)) as api:
        assert await refused(api, "GET", APPS) == (403, "Forbidden")


async def test_what_is_real_but_not_simulated_is_said_so(api: Any) -> None:
    for path in ("/apis/batch/v1/namespaces/shop/cronjobs", "/api/v1/persistentvolumes"):
        assert await refused(api, "GET", path) == (501, "NotImplemented")
    assert await refused(api, "POST", "/api/v1/namespaces/shop/pods/x/exec") == (501, "NotImplemented")


async def test_server_side_apply_is_not_simulated(simulator: Simulator, api: Any) -> None:
    await scene.healthy_shop(simulator)
    with pytest.raises(ApiException) as error:
        await client.AppsV1Api(api).patch_namespaced_deployment(
            "checkout", "shop", {}, field_manager="x", _content_type="application/apply-patch+yaml"
        )
    assert error.value.status == 501


async def test_a_watch_from_a_forgotten_version_is_told_to_list_again(simulator: Simulator, api: Any) -> None:
    for number in range(simulator.cluster.store.remembered + 1):
        simulator.cluster.store.put(*marker(number))
    core = client.CoreV1Api(api)
    with pytest.raises(ApiException) as error:
        async with watch.Watch().stream(core.list_namespace, resource_version="1", timeout_seconds=5) as stream:
            async for _ in stream:
                pass
    assert error.value.status == 410


def marker(number: int) -> Any:
    metadata = {"name": "marker", "namespace": "default", "labels": {"number": str(number)}}
    return CONFIG_MAP, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


async def test_a_list_comes_in_pages(simulator: Simulator, api: Any) -> None:
    await scene.healthy_shop(simulator)
    path, names, token = "/api/v1/namespaces/shop/pods", [], ""
    while True:
        page = await call(api, "GET", path, limit="1", **({"continue": token} if token else {}))
        names += [item["metadata"]["name"] for item in page["items"]]
        if not (token := page["metadata"].get("continue", "")):
            break
    whole = await call(api, "GET", path)
    assert names == [item["metadata"]["name"] for item in whole["items"]]
    assert len(names) == scene.REPLICAS


async def test_unknown_fields_are_dropped_with_a_warning(api: Any) -> None:
    body = {"metadata": {"name": "odd"}, "dta": {"a": "1"}}
    response = await answer(api, "POST", "/api/v1/namespaces/default/configmaps", body)
    assert response.headers["Warning"] == '299 - "unknown field \\"dta\\""'
    assert "dta" not in json.loads(response.data)


async def test_only_the_owner_can_read_the_kubeconfig(simulator: Simulator, tmp_path: Path) -> None:
    path = simulator.kubeconfig(tmp_path / "kubeconfig")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_stopping_ends_the_watches() -> None:
    simulator = Simulator()
    await simulator.start()
    async with client.ApiClient(client.Configuration(host=simulator.url)) as api:
        api.set_default_header("Authorization", f"Bearer {simulator.token}")
        response = await client.CoreV1Api(api).list_pod_for_all_namespaces_without_preload_content(watch=True)
        async with asyncio.timeout(5):
            await simulator.stop()
        response.close()


async def test_it_runs_by_itself_until_it_is_told_to_stop(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    arguments = ["-m", "handrail.sim", "--json", "--kubeconfig", str(kubeconfig)]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(20):
        said = json.loads(await process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    assert said["kubeconfig"] == str(kubeconfig)
    assert json.loads(kubeconfig.read_text())["clusters"][0]["cluster"]["server"] == said["url"]
