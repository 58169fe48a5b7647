"""docs/security.md, tried line by line: what a stolen token of the daemon may do, and what it may not.

For each step an account of its own has what `handrail rbac` and `handrail admission` give for this step alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import handrail_remediations
from handrail.core import admission, rbac
from handrail.model.policy import Policy
from tests.admission.claims import AUTOSCALER, BANK, DB, IMAGE, MAY, MAY_NOT, SHOP, SIGNS, Try, deployments
from tests.helm.chart import collection
from tests.servers.api import MERGE, Answer, Api
from tests.servers.cluster import Cluster
from tests.servers.process import wait_until

PAGE = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
STEPS = handrail_remediations.catalogue()
HOME = "handrail"

Said = dict[str, dict[str, list[str]]]


def on_the_page() -> Said:
    """{"may": {step: lines}, "may not": {step: lines}}; the step "" is the section about none."""
    found: Said = {"may": {}, "may not": {}}
    (part,) = re.findall(r"## What a stolen token may still do\n(.*?)\n## ", PAGE, re.S)
    for section in part.split("\n### ")[1:]:
        title, _, text = section.partition("\n")
        may, _, may_not = text.partition("It may not:")
        step = title.strip("`") if title.startswith("`") else ""
        found["may"][step] = re.findall(r"^- (.+)$", may, re.M)
        found["may not"][step] = re.findall(r"^- (.+)$", may_not, re.M)
    return found


def test_the_page_has_every_step_and_claims_exactly_what_is_tried() -> None:
    said = on_the_page()
    assert set(said["may"]) == {"", *STEPS}
    assert said["may"] == {step: list(claims) for step, claims in MAY.items()}
    assert said["may not"] == {step: list(claims) for step, claims in MAY_NOT.items()}


class Thieves:
    """One account for each step; `""` has none."""

    def __init__(self, cluster: Cluster) -> None:
        self.admin = cluster.api
        self._cluster = cluster
        self._apis: dict[str, Api] = {}
        self.words: dict[str, str] = {}

    def does(self, step: str, wanted: Try) -> Answer:
        filled = _filled(wanted, {**self.words, "me": name_of(step)})
        if filled.method == "IMPERSONATE":
            return self._as_admin(step)
        query = {} if filled.method == "GET" else {"dryRun": "All"}
        path, _, rest = filled.path.partition("?")
        query |= dict(pair.split("=") for pair in rest.split("&") if pair)
        return self._apis[step].call(filled.method, path, filled.body, filled.kind, **query)

    def _as_admin(self, step: str) -> Answer:
        """By the questions that the API server answers itself: no request can be sent with headers of our own."""
        spec = {"resourceAttributes": {"verb": "impersonate", "resource": "users", "name": "admin"}}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
        answer = self._apis[step].call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
        return Answer(200 if answer.body["status"]["allowed"] else 403, answer.text)

    def enter(self, step: str) -> list[dict[str, Any]]:
        name = name_of(step)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": HOME}}
        self.admin.apply(f"/api/v1/namespaces/{HOME}/serviceaccounts/{name}", account)
        policy = policy_for(step)
        made = [make(policy, STEPS, name, HOME, name) for make in (rbac.objects, admission.objects)]
        for one in (flat := [one for part in made for one in part]):
            self.admin.apply(f"{collection(one)}/{one['metadata']['name']}", one)
        self._apis[step] = self._cluster.as_token(self._cluster.service_account_token(HOME, name))
        return flat


def policy_for(step: str) -> Policy:
    where = "*" if step and "Node" in STEPS[step].kinds else SHOP
    rules = [{"namespaces": [where], "steps": {step: "ask"}}] if step else []
    return Policy.model_validate({"version": 1, "rules": rules})


def name_of(step: str) -> str:
    return f"sec-{step.replace('_', '-') or 'none'}"


def _filled(wanted: Try, words: dict[str, str]) -> Try:
    path, body = wanted.path, json.dumps(wanted.body)
    for word, value in words.items():
        path, body = path.replace(f"{{{word}}}", value), body.replace(f"{{{word}}}", value)
    return Try(wanted.method, path, json.loads(body), wanted.kind)


def _deployment(namespace: str) -> dict[str, Any]:
    labels = {"app": "api"}
    containers = [{"name": "api", "image": f"{IMAGE}:v1", "env": [DB]}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    notes = {"team": "shop", "handrail.dev/paused-by": "Ann"}
    meta = {"name": "api", "namespace": namespace, "annotations": notes}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


def _autoscaler() -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}
    spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 5}
    meta = {"name": "api", "namespace": SHOP}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta, "spec": spec}


def _world(admin: Api) -> dict[str, str]:
    """The workloads that are tried, and the names of what is there."""
    for namespace in (SHOP, BANK, HOME):
        admin.apply(deployments(namespace), _deployment(namespace))
    admin.apply(AUTOSCALER, _autoscaler())
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare"}}
    bare["spec"] = {"containers": [{"name": "a", "image": f"{IMAGE}:v1"}]}
    admin.apply(f"/api/v1/namespaces/{SHOP}/pods/bare", bare)

    def pods(namespace: str) -> list[dict[str, Any]]:
        found = admin.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
        return [p for p in found if "app" in p["metadata"].get("labels", {}) and p["status"]["phase"] == "Running"]

    wait_until(lambda: len(pods(SHOP)) >= 3 and len(pods(BANK)) >= 1, 60, "the pods of the Deployments")
    first, second = (pod["metadata"] for pod in pods(SHOP)[:2])
    member, of_job = _others(admin)
    alone = admin.get(f"/api/v1/namespaces/{SHOP}/pods/bare")["metadata"]
    return {
        "pod": first["name"],
        "uid": first["uid"],
        "member": member["name"],
        "member_uid": member["uid"],
        "job_pod": of_job["name"],
        "job_uid": of_job["uid"],
        "pod2": second["name"],
        "uid2": second["uid"],
        "bare": "bare",
        "bare_uid": alone["uid"],
        "bank_pod": pods(BANK)[0]["metadata"]["name"],
    }


MEMBERS, JOB = f"/apis/apps/v1/namespaces/{SHOP}/statefulsets/db", f"/apis/batch/v1/namespaces/{SHOP}/jobs/nightly"


def _others(admin: Api) -> tuple[dict[str, Any], ...]:
    """A pod of a StatefulSet and one of a Job."""
    labels = {"tier": "db"}
    spec = {"containers": [{"name": "db", "image": f"{IMAGE}:v1"}]}
    members = {"serviceName": "db", "selector": {"matchLabels": labels}}
    members["template"] = {"metadata": {"labels": labels}, "spec": spec}
    job = {"template": {"spec": {**spec, "restartPolicy": "Never"}}}
    for path, kind, body in ((MEMBERS, "apps/v1 StatefulSet", members), (JOB, "batch/v1 Job", job)):
        version, _, name = kind.partition(" ")
        meta = {"name": path.rpartition("/")[2], "namespace": SHOP}
        admin.apply(path, {"apiVersion": version, "kind": name, "metadata": meta, "spec": body})

    def pods(kind: str) -> list[dict[str, Any]]:
        found = [p["metadata"] for p in admin.get(f"/api/v1/namespaces/{SHOP}/pods")["items"]]
        return [one for one in found if any(o["kind"] == kind for o in one.get("ownerReferences", ()))]

    wait_until(lambda: all(pods(kind) for kind in ("StatefulSet", "Job")), 60, "their pods")
    return pods("StatefulSet")[0], pods("Job")[0]


@pytest.fixture(scope="module")
def thieves(control_plane: Cluster) -> Iterator[Thieves]:
    for namespace in (SHOP, BANK, HOME):
        control_plane.ensure_namespace(namespace)
    found = Thieves(control_plane)
    found.words = _world(found.admin)
    control_plane.set_logs("api", ["a line"], namespace=BANK)
    made = [one for step in ("", *STEPS) for one in found.enter(step)]
    for step, sign in SIGNS.items():
        denied = lambda step=step, sign=sign: "Handrail may not" in found.does(step, sign).text  # noqa: E731
        wait_until(denied, 30, f"the admission policy of {step} at work")
    yield found
    for one in reversed(made):
        found.admin.call("DELETE", f"{collection(one)}/{one['metadata']['name']}")
    for path in (
        *map(deployments, (SHOP, BANK, HOME)),
        AUTOSCALER,
        MEMBERS,
        JOB,
        f"/api/v1/namespaces/{SHOP}/pods/bare",
    ):
        found.admin.call("DELETE", path)


def each(claims: dict[str, dict[str, list[Try]]]) -> list[Any]:
    return [
        pytest.param(step, tries, id=f"{step}: {line}") for step, of in claims.items() for line, tries in of.items()
    ]


@pytest.mark.server
@pytest.mark.parametrize(("step", "tries"), each(MAY))
def test_what_the_page_says_a_thief_may_still_do_is_let_through(thieves: Thieves, step: str, tries: list[Try]) -> None:
    for one in tries:
        answer = thieves.does(step, one)
        assert answer.ok, answer.text


@pytest.mark.server
@pytest.mark.parametrize(("step", "tries"), each(MAY_NOT))
def test_what_the_page_says_a_thief_may_not_do_is_denied(thieves: Thieves, step: str, tries: list[Try]) -> None:
    for account in (step,) if step else ("", *STEPS):
        for one in tries:
            answer = thieves.does(account, one)
            assert answer.status == 403, f"{account}: {answer.status} {answer.text}"


@pytest.mark.server
def test_a_budget_does_not_hold_a_delete_but_holds_an_eviction(thieves: Thieves) -> None:
    path = f"/apis/policy/v1/namespaces/{SHOP}/poddisruptionbudgets/api"
    spec = {"minAvailable": 3, "selector": {"matchLabels": {"app": "api"}}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "api"}, "spec": spec}
    thieves.admin.apply(path, budget)
    try:
        observed = lambda: "observedGeneration" in thieves.admin.get(path).get("status", {})  # noqa: E731
        wait_until(observed, 60, "the budget counted")
        (evicts,) = MAY["evict_pod"].values()
        of_the_workload = json.loads(json.dumps(evicts[0].body).replace("bare", "pod").replace("pod_uid", "uid"))
        eviction = Try("POST", evicts[0].path.replace("bare", "pod"), of_the_workload)
        assert thieves.does("evict_pod", eviction).status == 429
        assert all(thieves.does("delete_pod", one).ok for tries in MAY["delete_pod"].values() for one in tries)
    finally:
        thieves.admin.call("DELETE", path)


@pytest.mark.server
def test_the_stop_of_a_namespace_holds_a_thief_too(thieves: Thieves) -> None:
    path = f"/api/v1/namespaces/{SHOP}"
    (tries, *_) = MAY["rollout_undo"].values()
    thieves.admin.call("PATCH", path, {"metadata": {"annotations": {"handrail.dev/stop": "stolen"}}}, MERGE)
    try:
        wait_until(lambda: thieves.does("rollout_undo", tries[0]).status == 403, 60, "the stop")
    finally:
        thieves.admin.call("PATCH", path, {"metadata": {"annotations": {"handrail.dev/stop": None}}}, MERGE)
    wait_until(lambda: thieves.does("rollout_undo", tries[0]).ok, 60, "the end of the stop")
