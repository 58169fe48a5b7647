"""docs/install.md at a real API server: the helm commands of the page, in its order and with its values.

Only names are others, since this server is shared. That the daemon then does what the page says is in test_install.py;
no image is pulled here, the pods are simulated ones.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from handrail.model.value import Raw
from tests.docs.test_install import ROOT, SHELL, VALUES
from tests.helm.chart import Helm
from tests.helm.conftest import helm as helm
from tests.servers.api import Api
from tests.servers.cluster import Cluster
from tests.servers.process import wait_until

pytestmark = pytest.mark.server

HOME, RELEASE, NAME = "page-rail", "page", "page-handrail"
STATEFUL_SET = f"/apis/apps/v1/namespaces/{HOME}/statefulsets/{NAME}"
CLAIM = f"/api/v1/namespaces/{HOME}/persistentvolumeclaims/data-{NAME}-0"
VOLUME = "/api/v1/persistentvolumes/page-volume"
SECRET = f"/api/v1/namespaces/{HOME}/secrets/handrail-intake"


def helm_commands() -> list[str]:
    return re.findall(r"^helm .*$", "\n".join(SHELL), re.M)


@pytest.fixture
def api(control_plane: Cluster) -> Iterator[Api]:
    """With what step 3 makes by kubectl, and a volume that the claim can bind to."""
    control_plane.ensure_namespace(HOME)
    found = control_plane.api
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "handrail-intake"}, "data": {"token": "eA=="}}
    found.apply(SECRET, secret)
    spec: Raw = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/var/none"},
        "claimRef": {"namespace": HOME, "name": f"data-{NAME}-0"},
    }
    found.apply(
        VOLUME, {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "page-volume"}, "spec": spec}
    )
    yield found
    for gone in (CLAIM, VOLUME, SECRET):
        found.call("DELETE", gone)


def test_the_helm_commands_of_the_page_install_upgrade_and_remove_and_keep_the_journal(
    helm: Helm, api: Api, control_plane: Cluster, tmp_path: Path
) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(VALUES)
    names = {"handrail": RELEASE, "helm/handrail": str(ROOT / "helm/handrail"), "values.yaml": str(values)}
    there = partial(helm, kubeconfig=control_plane.kubeconfig)
    verbs = []
    for command in helm_commands():
        words = [names.get(word, word) for word in shlex.split(command)[1:]]
        words[words.index("--namespace") + 1] = HOME
        done = there(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        verbs.append(words[0])
        if words[0] in ("install", "upgrade"):
            wait_until(lambda: api.get(STATEFUL_SET).get("status", {}).get("readyReplicas") == 1, 60, words[0])
    assert verbs == ["install", "upgrade", "uninstall"]
    wait_until(lambda: not api.call("GET", STATEFUL_SET).ok, 30, "the StatefulSet gone")
    assert api.call("GET", CLAIM).ok, "the page's last line deletes it, and no other"
