"""Real helm at a real API server: installed, upgraded from the first chart, stopped, removed, and nobody else notices.

No container runs there: that the daemon goes on with its open incident is in test_the_file_of_the_first_build.py; here
its volume is the same one before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from handrail.model.value import Raw
from tests.helm.bystander import Bystander
from tests.helm.chart import CHART, LEAST, Helm
from tests.servers.api import JSON_PATCH, Api
from tests.servers.cluster import Cluster
from tests.servers.process import wait_until

pytestmark = pytest.mark.server

FIRST = Path(__file__).parent / "first" / "handrail-0.1.0.tgz"
SHOP, HOME = "life-shop", "life-rail"
RELEASE, NAME = "life", "life-handrail"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{SHOP}/deployments/api"
BINDING = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SHOP}/rolebindings/{NAME}-hands"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
STATEFUL_SET = f"/apis/apps/v1/namespaces/{HOME}/statefulsets/{NAME}"
VOLUME = f"/api/v1/namespaces/{HOME}/persistentvolumeclaims/data-{NAME}-0"
POD = f"/api/v1/namespaces/{HOME}/pods/{NAME}-0"
CLUSTER_WIDE = [
    POLICIES,
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
]

Run = Callable[..., str]


@pytest.fixture
def run(helm: Helm, control_plane: Cluster) -> Run:
    helm_there = partial(helm, kubeconfig=control_plane.kubeconfig)

    def succeeds(*words: str) -> str:
        done = helm_there(*words, "--namespace", HOME)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return succeeds


@pytest.fixture
def api(control_plane: Cluster) -> Iterator[Api]:
    """The administrator's; the shop's Deployment is there, and a volume that a claim can bind to."""
    for namespace in (SHOP, HOME):
        control_plane.ensure_namespace(namespace)
    found = control_plane.api
    labels = {"app": "api"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "api", "image": "shop/api:1"}]}}
    spec: Raw = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "api"}, "spec": spec}
    found.apply(DEPLOYMENT, body)
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/var/none"},
        "claimRef": {"namespace": HOME, "name": f"data-{NAME}-0"},
    }
    meta = {"name": "life-volume"}
    path = "/api/v1/persistentvolumes/life-volume"
    found.apply(path, {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": volume})
    yield found
    for gone in (VOLUME, path, DEPLOYMENT):
        found.call("DELETE", gone)


def written(folder: Path, **values: Any) -> str:
    policy = {
        "version": 1,
        "rules": [{"namespaces": [SHOP], "steps": {"rollout_undo": "ask", "scale_workload": "ask"}}],
        "approvers": {"groups": ["sre"]},
    }
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump({**LEAST, "policy": policy, **values}))
    return str(path)


def scale(api: Api, replicas: int) -> int:
    patch = [{"op": "replace", "path": "/spec/replicas", "value": replicas}]
    return api.call("PATCH", DEPLOYMENT, patch, JSON_PATCH, dryRun="All").status


def names(api: Api, collection: str) -> set[str]:
    return {one["metadata"]["name"] for one in api.get(collection)["items"]}


def uid(api: Api, path: str) -> str:
    return str(api.get(path)["metadata"]["uid"])


def runs(api: Api, checksum: str = "") -> bool:
    answer = api.call("GET", POD)
    if not answer.ok:
        return False
    annotations, status = answer.body["metadata"].get("annotations", {}), answer.body["status"]
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", ()))
    return ready and checksum in ("", annotations["checksum/config"])


def test_the_first_chart_is_upgraded_in_place_and_removed_while_others_write_on(
    run: Run, api: Api, control_plane: Cluster, tmp_path: Path
) -> None:
    values = written(tmp_path)
    with Bystander(control_plane, SHOP, "bystander", NAME) as others:
        run("install", RELEASE, str(FIRST), "-f", values)
        wait_until(lambda: runs(api), 60, "the first build's pod")
        before = uid(api, STATEFUL_SET), uid(api, VOLUME)
        account = control_plane.as_token(control_plane.service_account_token(HOME, NAME))
        wait_until(lambda: scale(account, 90) == 200, 30, "the right to write: the first chart had no admission policy")

        run("upgrade", RELEASE, str(CHART), "-f", values)
        wait_until(lambda: scale(account, 90) == 403, 60, "the admission policies at work")
        assert scale(account, 2) == 200
        rolled = api.get(STATEFUL_SET)["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
        wait_until(lambda: runs(api, rolled), 60, "the new build's pod")
        assert (uid(api, STATEFUL_SET), uid(api, VOLUME)) == before, "the same volume, so the same incidents"

        run("upgrade", RELEASE, str(CHART), "-f", values)
        run("uninstall", RELEASE)
        wait_until(lambda: not api.call("GET", STATEFUL_SET).ok, 30, "the StatefulSet gone")
        assert uid(api, VOLUME) == before[1], "an uninstall keeps the journal"
        for collection in CLUSTER_WIDE:
            assert not {f"{NAME}-{part}" for part in ("hands", "stop", "eyes")} & names(api, collection)
        # The API server goes on believing a token that it has just seen, for ten seconds.
        wait_until(lambda: scale(account, 2) == 401, 30, "the account itself to be gone")
    assert others.denied == []
    assert others.writes > 100


def test_hands_that_are_off_stay_off_over_upgrades_and_come_back_when_they_are_on(
    run: Run, api: Api, control_plane: Cluster, tmp_path: Path
) -> None:
    on = written(tmp_path)
    run("install", RELEASE, str(CHART), "-f", on)
    try:
        account = control_plane.as_token(control_plane.service_account_token(HOME, NAME))
        wait_until(lambda: scale(account, 2) == 200, 60, "the right to write")
        api.delete(BINDING)
        wait_until(lambda: scale(account, 2) == 403, 60, "the stop")
        run("upgrade", RELEASE, str(CHART), "-f", on, "--set", "hands.enabled=false")
        assert scale(account, 2) == 403, "what GitOps applies again holds the stop"
        assert not api.call("GET", BINDING).ok
        run("upgrade", RELEASE, str(CHART), "-f", on)
        wait_until(lambda: scale(account, 2) == 200, 60, "the right to write again")
    finally:
        run("uninstall", RELEASE)


def test_the_longest_name_that_helm_takes_still_gives_pods(run: Run, api: Api, tmp_path: Path) -> None:
    release = "l" * 53
    sets = f"/apis/apps/v1/namespaces/{HOME}/statefulsets"
    run("install", release, str(CHART), "-f", written(tmp_path))
    try:
        (name,) = (each for each in names(api, sets) if each.startswith("lll"))
        wait_until(lambda: api.call("GET", f"/api/v1/namespaces/{HOME}/pods/{name}-0").ok, 30, "its pod")
    finally:
        run("uninstall", release)
        api.call("DELETE", f"/api/v1/namespaces/{HOME}/persistentvolumeclaims/data-{'l' * 52}-0")


def test_replicas_come_after_their_schema_and_nobody_elses_writes_are_denied(
    run: Run, api: Api, control_plane: Cluster, tmp_path: Path
) -> None:
    store = {"url": "postgresql://handrail@db.life/handrail", "password": {"file": "/etc/handrail/secrets/db/password"}}
    values = written(
        tmp_path,
        config={**LEAST["config"], "store": store},
        secrets=[{"name": "db", "secretName": "life-db"}],
        migration={"user": "owner", "secretName": "life-owner"},
        networkPolicy={"enabled": True},
    )
    jobs = f"/apis/batch/v1/namespaces/{HOME}/jobs"
    deployment = f"/apis/apps/v1/namespaces/{HOME}/deployments/{NAME}"
    with Bystander(control_plane, SHOP, "bystander", NAME) as others:
        said = run("install", RELEASE, str(CHART), "-f", values)
        assert f"exec deployment/{NAME} -- handrail check" in said
        assert f"{NAME}-migration" not in names(api, jobs), "it has done its work and is gone"
        wait_until(lambda: api.get(deployment)["status"].get("readyReplicas") == 2, 60, "two replicas")
        run("upgrade", RELEASE, str(CHART), "-f", values, "--set", "replicas=3")
        wait_until(lambda: api.get(deployment)["status"].get("readyReplicas") == 3, 60, "three replicas")
        run("uninstall", RELEASE)
    assert others.denied == []


def test_a_migration_that_fails_leaves_the_running_replicas_alone(
    run: Run, helm: Helm, api: Api, control_plane: Cluster, tmp_path: Path
) -> None:
    store = {"url": "postgresql://handrail@db.life/handrail"}
    config = {**LEAST["config"], "store": store}
    values = written(tmp_path, config=config, migration={"user": "owner", "secretName": "life-owner"})
    run("install", RELEASE, str(CHART), "-f", values)
    try:
        deployment = f"/apis/apps/v1/namespaces/{HOME}/deployments/{NAME}"
        before = api.get(deployment)["metadata"]["generation"]
        words = ["upgrade", RELEASE, str(CHART), "-f", values, "--set", "image.tag=crash", "--namespace", HOME]
        done = helm(*words, "--timeout", "90s", kubeconfig=control_plane.kubeconfig)
        assert done.returncode != 0
        assert "pre-upgrade" in done.stderr
        assert api.get(deployment)["metadata"]["generation"] == before
    finally:
        run("uninstall", RELEASE)
        api.call("DELETE", f"/apis/batch/v1/namespaces/{HOME}/jobs/{NAME}-migration", propagationPolicy="Background")
        api.call("DELETE", f"/api/v1/namespaces/{HOME}/configmaps/{NAME}-migration")
