"""Who the daemon is at the API server: a mounted account whose token rotates, or a kubeconfig; else it stops."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.adapters.kubernetes import Cluster
from handrail.adapters.kubernetes.credentials import Mounted, access
from handrail.adapters.kubernetes.wire import Request
from handrail.model.config import KubernetesConfig
from handrail.model.errors import BadConfig
from tests.kubernetes.scripted import Say, Scripted, kubeconfig, listening
from tests.servers import certificates
from tests.servers.process import free_port

IN_CLUSTER = KubernetesConfig(mode="in-cluster", request_seconds=5)
READ = Request("GET", "/api/v1/nodes")


def mounted(tmp_path: Path, token: str = "first\n", **environ: str) -> Mounted:
    (tmp_path / "token").write_text(token, encoding="utf-8")
    ca = certificates.Authority(tmp_path / "tls").ca_file
    named = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "6443", **environ}
    return Mounted(str(tmp_path / "token"), str(ca), named)


async def test_the_token_of_a_pod_is_read_again_for_each_request(tmp_path: Path) -> None:
    account = mounted(tmp_path)
    granted = await access(IN_CLUSTER, account)
    settings = await granted.configuration.auth_settings()
    assert settings["BearerToken"]["value"] == "Bearer first"
    (tmp_path / "token").write_text("second", encoding="utf-8")
    settings = await granted.configuration.auth_settings()
    assert settings["BearerToken"]["value"] == "Bearer second"


@pytest.mark.parametrize("meanwhile", ["", "   \n", "two\nlines"])
async def test_a_token_file_that_is_just_being_replaced_leaves_the_old_token(tmp_path: Path, meanwhile: str) -> None:
    granted = await access(IN_CLUSTER, mounted(tmp_path))
    (tmp_path / "token").write_text(meanwhile, encoding="utf-8")
    settings = await granted.configuration.auth_settings()
    assert settings["BearerToken"]["value"] == "Bearer first"
    (tmp_path / "token").unlink()
    assert (await granted.configuration.auth_settings())["BearerToken"]["value"] == "Bearer first"


async def test_a_pod_asks_the_server_that_its_environment_names_over_tls(tmp_path: Path) -> None:
    granted = await access(IN_CLUSTER, mounted(tmp_path, KUBERNETES_SERVICE_HOST="fd00::1"))
    assert granted.configuration.host == "https://[fd00::1]:6443"
    assert granted.configuration.verify_ssl is True
    assert granted.configuration.retries is None


async def test_outside_of_a_pod_the_mode_is_wrong_and_says_so(tmp_path: Path) -> None:
    nowhere = Mounted(str(tmp_path / "token"), str(tmp_path / "ca"), {})
    with pytest.raises(BadConfig, match=r"kubernetes\.mode"):
        await access(IN_CLUSTER, nowhere)


@pytest.mark.parametrize("token", ["", "a b", "tok\x00en"])
async def test_a_token_file_without_a_token_stops_the_start(tmp_path: Path, token: str) -> None:
    with pytest.raises(BadConfig):
        await access(IN_CLUSTER, mounted(tmp_path, token))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "clusters: 3",
        "apiVersion: v1\nkind: Config",
        "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: []\nusers: []",
        "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
        "clusters: [{name: c, cluster: {server: 'shop:443'}}]\nusers: []",
        "\x00",
    ],
)
async def test_a_broken_kubeconfig_stops_the_start_and_names_the_key(tmp_path: Path, text: str) -> None:
    file = tmp_path / "broken"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadConfig, match=r"kubernetes\.kubeconfig"):
        await access(KubernetesConfig(mode="kubeconfig", kubeconfig=str(file)))


async def test_a_kubeconfig_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="no file"):
        await access(KubernetesConfig(mode="kubeconfig", kubeconfig=str(tmp_path / "nothing")))


async def test_a_context_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    config = kubeconfig(tmp_path, f"http://127.0.0.1:{free_port()}").model_copy(update={"context": "other"})
    with pytest.raises(BadConfig):
        await access(config)


async def test_a_ca_file_that_holds_no_certificate_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("nothing", encoding="utf-8")
    config = kubeconfig(tmp_path, "https://127.0.0.1:1", **{"certificate-authority": str(tmp_path / "ca")})
    with pytest.raises(BadConfig, match="certificate"):
        await Cluster(config).open()


async def test_a_cluster_is_opened_once_and_can_be_opened_again_after_it_was_closed(tmp_path: Path) -> None:
    scripted = Scripted(Say(), Say())
    async with listening(scripted) as url:
        cluster = Cluster(kubeconfig(tmp_path, url))
        assert (await cluster.request(READ)).ok
        await cluster.close()
        assert (await cluster.request(READ)).ok
        await cluster.close()
        await cluster.close()
