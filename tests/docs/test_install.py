"""docs/install.md leads where it says: its values render, its commands exist, and its alert becomes an incident.

What speaks to a container or to somebody's registry (building, `kubectl exec`) can't be run here; the rest is: the
daemon has the configuration that the real chart renders from the page's values, and the page's own `curl` is sent.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import subprocess
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from handrail.cli import cli
from tests.helm.chart import CHART, Helm, one, rendered
from tests.path.stage import Daemon, until
from tests.servers import helm as helm_server
from tests.servers.control_plane import ControlPlane
from tests.servers.kafka import KafkaServer
from tests.servers.process import free_port

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
SHELL = re.findall(r"^```sh\n(.*?)^```", TEXT, re.M | re.S)
(VALUES,) = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.M | re.S)
GOOD, BAD = re.findall(r"registry\.k8s\.io/\S+?(?=[ '])", TEXT)
(CURL,) = re.findall(r"^curl .*?^ALERT\n", TEXT, re.M | re.S)
WHERE = "/apis/apps/v1/namespaces/shop/deployments/checkout"
PODS = "/api/v1/namespaces/shop/pods"


def commands(pattern: str) -> list[str]:
    joined = "\n".join(SHELL).replace("\\\n", " ")
    return re.findall(pattern, joined)


def test_every_handrail_command_of_the_page_exists() -> None:
    found = commands(r"(?m)(?:^|-- )handrail ((?:[a-z][a-z-]* )?[a-z][a-z-]*)(?= |$)")
    assert len(found) >= 3
    for words in found:
        assert CliRunner().invoke(cli, [*words.split(), "--help"]).exit_code == 0, words


def test_the_page_speaks_of_names_that_the_chart_gives_and_files_that_are_there() -> None:
    for path in commands(r"(?<= )(helm/[\w/.-]+|Containerfile)"):
        assert (ROOT / path).exists(), path
    tag = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
    assert set(commands(r"handrail:(\S+)")) == {tag}


@pytest.mark.server
def test_the_values_of_the_page_render_to_what_the_page_speaks_of(helm: Helm, tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    path.write_text(VALUES)
    objects = rendered(helm, path)
    claim = one(objects, "StatefulSet")["spec"]["volumeClaimTemplates"][0]["metadata"]["name"]
    assert f"{claim}-handrail-0" in TEXT
    assert one(objects, "Service", "handrail-intake")["spec"]["ports"][0]["port"] == 8081
    secret = commands(r"create secret generic (\S+)")
    mounted = one(objects, "StatefulSet")["spec"]["template"]["spec"]["volumes"]
    assert secret == [volume["secret"]["secretName"] for volume in mounted if "secret" in volume]
    assert not [o for o in objects if o["metadata"]["name"].endswith("-hands") and "Role" in o["kind"]]


@pytest.fixture
def helm(tmp_path: Path) -> Helm:
    return partial(helm_server.run, home=tmp_path)


@pytest.fixture
async def daemon(
    control_plane: ControlPlane, kafka_server: KafkaServer, helm: Helm, tmp_path: Path
) -> AsyncIterator[Daemon]:
    """The one of the page: the chart's configuration, with the places of this machine."""
    values = tmp_path / "values.yaml"
    values.write_text(VALUES)
    maps = rendered(helm, values)
    config = yaml.safe_load(one(maps, "ConfigMap")["data"]["handrail.yaml"])
    token = tmp_path / "token"
    token.write_text(secrets.token_hex(32))
    found = Daemon(control_plane, tmp_path / "d", {}, "install-page")
    listens = {"listen": f"127.0.0.1:{found.port}", "socket": str(found.folder / "s")}
    found.settings = {
        "cluster": config["cluster"],
        "kafka": {**config["kafka"], "bootstrap": [kafka_server.bootstrap], "group_instance_env": ""},
        "intake": {"http": {"tokens": [{"file": str(token)}]}},
        "http": {**listens, "intake": f"127.0.0.1:{free_port()}"},
    }
    found.install({"version": 1, "rules": [{"namespaces": ["shop"], "steps": {}}]})
    (found.folder / "policy.yaml").write_text(one(maps, "ConfigMap", "handrail-policy")["data"]["policy.yaml"])
    await found.start()
    yield found
    assert await found.stop() == 0


def checkout(image: str) -> dict[str, Any]:
    labels = {"app": "checkout"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "pause", "image": image}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "checkout"}, "spec": spec}


async def break_it(plane: ControlPlane) -> None:
    """What step 5 does with kubectl."""

    def status() -> Any:
        return plane.api.get(WHERE).get("status", {})

    plane.ensure_namespace("shop")
    plane.api.call("DELETE", WHERE)
    plane.api.apply(WHERE, checkout(GOOD))
    await until(lambda: status().get("readyReplicas") == 2, 60, "the first revision")
    plane.api.apply(WHERE, checkout(BAD))
    await until(lambda: status().get("unavailableReplicas") == 1, 60, "the second revision")

    def unpulled() -> bool:
        return "ImagePull" in str([pod["status"] for pod in plane.api.get(PODS)["items"]])

    await until(unpulled, 60, "its pod to lack its image, as by the time that a person has typed the alert")


@pytest.mark.server
async def test_the_page_leads_to_an_incident_that_was_looked_at_and_handed_over_without_a_write(
    daemon: Daemon, control_plane: ControlPlane, tmp_path: Path
) -> None:
    assert shutil.which("curl"), "the page sends its alert with curl"
    await break_it(control_plane)
    token = (tmp_path / "token").read_text()
    script = f"set -eu\nTOKEN={token}\n{CURL.replace('127.0.0.1:8081', daemon.settings['http']['intake'])}"
    sent = await asyncio.to_thread(subprocess.run, ["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert sent.returncode == 0, sent.stderr
    assert '"alerts": 1' in sent.stdout
    shown = await daemon.until_state("HANDED_OVER", 120)
    (last,) = re.findall(r"^```text\n(.*?)\n```", TEXT, re.M | re.S)
    assert shown["story"][-1]["line"] == last
    assert daemon.applied() == []
