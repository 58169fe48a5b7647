"""What docs/security.md claims about a stolen token, line by line, as requests that a test sends.

Decides which request stands for a sentence of the page. Every request is a dry-run: nothing is changed, and a denial
comes before that matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.servers.api import JSON, JSON_PATCH

SHOP, BANK = "sec-shop", "sec-bank"
IMAGE = "registry.example:5000/shop/api"
DB = {"name": "P", "valueFrom": {"secretKeyRef": {"name": "db", "key": "p"}}}
OTHER_KEY = {"name": "Q", "valueFrom": {"secretKeyRef": {"name": "db", "key": "q"}}}
ROOT = {"name": "Q", "valueFrom": {"secretKeyRef": {"name": "root", "key": "p"}}}
APPARMOR = "container.apparmor.security.beta.kubernetes.io"
NODE = "/api/v1/nodes/node-1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

MAY_NOT_RUN = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "a", "image": "x"}]}}
TO_ADMIN = {
    "metadata": {"name": "sec-x"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"kind": "ServiceAccount", "name": "sec-x", "namespace": SHOP}],
}
TOKEN = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "x"}}


def deployments(namespace: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/deployments/api"


AUTOSCALER = f"/apis/autoscaling/v2/namespaces/{SHOP}/horizontalpodautoscalers/api"


@dataclass(frozen=True)
class Try:
    """One request. `{pod}`, `{uid}`, `{bare}` and so on in path and body are filled in with what is there."""

    method: str
    path: str
    body: Any = None
    kind: str = JSON


def patch(*operations: tuple[Any, ...], at: str = deployments(SHOP)) -> Try:
    """JSON-patch operations as (op, path[, value])."""
    body = [dict(zip(("op", "path", "value"), one, strict=False)) for one in operations]
    return Try("PATCH", at, body, JSON_PATCH)


def spec(key: str, value: Any) -> Try:
    return patch(("add", f"/spec/{key}", value))


def pod(key: str, value: Any) -> Try:
    return patch(("add", f"/spec/template/spec/{key}", value))


def container(key: str, value: Any) -> Try:
    return pod(f"containers/0/{key}", value)


def volume(**source: Any) -> Try:
    return pod("volumes", [{"name": "v", **source}])


def node(key: str, value: Any) -> Try:
    return patch(("add", key, value), at=NODE)


def bounds(**values: int) -> Try:
    return patch(*(("replace", f"/spec/{key}", value) for key, value in values.items()), at=AUTOSCALER)


def deletion(name: str, uid: str = "") -> Try:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]}
    if uid:
        options["preconditions"] = {"uid": uid}
    return Try("DELETE", f"/api/v1/namespaces/{SHOP}/pods/{name}", options)


def eviction(name: str, uid: str = "") -> Try:
    options: dict[str, Any] = {"dryRun": ["All"]}
    if uid:
        options["preconditions"] = {"uid": uid}
    meta = {"name": name, "namespace": SHOP}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta, "deleteOptions": options}
    return Try("POST", f"/api/v1/namespaces/{SHOP}/pods/{name}/eviction", body)


def read(path: str) -> Try:
    return Try("GET", path)


NO_UID = {
    "delete a pod without its UID": [deletion("{pod}")],
    "delete a pod that no controller makes again": [deletion("{bare}", "{bare_uid}")],
    "delete a pod of a Job": [deletion("{job_pod}", "{job_uid}")],
}
ON_NODES = {
    "taint a node": [node("/spec/taints", [{"key": "x", "effect": "NoExecute"}])],
    "label a node": [node("/metadata/labels/x", "y")],
    "write another annotation on a node": [node("/metadata/annotations/x", "y")],
    "evict or delete what runs there": [deletion("{pod}", "{uid}"), eviction("{pod}", "{uid}")],
}
CORDONS = {
    "cordon every node, and uncordon any": [node("/spec/unschedulable", True), node("/spec/unschedulable", False)]
}

MAY: dict[str, dict[str, list[Try]]] = {
    "": {
        "read the specs of all pods, with values of variables that stand there in the clear": [read("/api/v1/pods")],
        "read the logs of all pods": [read(f"/api/v1/namespaces/{BANK}/pods/{{bank_pod}}/log")],
        "list nodes, Services and events": [read(f"/api/v1/{kind}") for kind in ("nodes", "services", "events")],
        "ask the API server who owns another token that it has": [
            Try("POST", "/apis/authentication.k8s.io/v1/tokenreviews", REVIEW)
        ],
    },
    "annotate": {
        "write or take away Handrail's own annotations of a workload, such as a note or a maintenance mark": [
            patch(("add", "/metadata/annotations/handrail.dev~1maintenance", "x")),
            patch(("remove", "/metadata/annotations/handrail.dev~1paused-by")),
        ],
    },
    "rollout_restart": {
        "restart workloads again and again, as fast as they roll": [
            patch(("add", "/spec/template/metadata/annotations", {"kubectl.kubernetes.io/restartedAt": when}))
            for when in ("2026-11-29", "2026-11-30")
        ],
    },
    "scale_workload": {
        "scale a workload down to one replica": [spec("replicas", 1)],
        "double a workload, and double it again up to 100": [spec("replicas", 6)],
    },
    "rollout_undo": {
        "run another tag or digest of the same repositories, an old one with known holes too": [
            container("image", f"{IMAGE}:v0"),
            container("image", f"{IMAGE}@sha256:{'a' * 64}"),
        ],
        "run another command in the containers that are there, and so use what they may use: their account, their"
        " network, their Secrets": [container("command", ["sh", "-c", "id"]), container("args", ["x"])],
        "change variables, probes, resources": [
            container("env/-", {"name": "Q", "value": "1"}),
            container("livenessProbe", {"exec": {"command": ["x"]}}),
            container("resources", {"limits": {"memory": "1Gi"}}),
        ],
        "have the node connect to any address, by a probe": [
            container("livenessProbe", {"httpGet": {"host": "169.254.169.254", "port": 80}})
        ],
        "change how names resolve in the pods": [
            pod("hostAliases", [{"ip": "192.0.2.1", "hostnames": ["db"]}]),
            pod("dnsConfig", {"searches": ["example"]}),
        ],
        "mount any ConfigMap or claim of the namespace, and so read and write other workloads' data": [
            volume(configMap={"name": "c"}),
            volume(persistentVolumeClaim={"claimName": "c"}),
        ],
        "use another key of a Secret that the template names already": [container("env/-", OTHER_KEY)],
        "add labels and annotations to pods that others heed: a Service's selector, an injector of sidecars": [
            patch(("add", "/spec/template/metadata/labels/x", "y")),
            patch(("add", "/spec/template/metadata/annotations", {"inject.example/sidecar": "yes"})),
        ],
        "choose tolerations, a node selector and a priority class": [
            pod("tolerations", [{"operator": "Exists"}]),
            pod("nodeSelector", {"x": "y"}),
            pod("priorityClassName", "system-cluster-critical"),
        ],
        "delete pods of a StatefulSet, by UID": [deletion("{member}", "{member_uid}")],
    },
    "resume_rollout": {
        "resume a rollout that somebody paused, and pause one": [spec("paused", False), spec("paused", True)],
    },
    "delete_pod": {
        "delete pods of Deployments, StatefulSets and DaemonSets, by UID, all at once, past every disruption budget": [
            deletion("{pod}", "{uid}"),
            deletion("{pod2}", "{uid2}"),
            deletion("{member}", "{member_uid}"),
        ],
    },
    "evict_pod": {
        "evict pods by UID, as fast as disruption budgets allow, bare ones too": [eviction("{bare}", "{bare_uid}")],
    },
    "set_hpa_bounds": {
        "double an autoscaler's upper bound, and double it again up to 100": [bounds(maxReplicas=10)],
        "double its lower bound, as far as the upper one": [bounds(minReplicas=4)],
        "lower both bounds to one replica": [bounds(minReplicas=1, maxReplicas=1)],
    },
    "cordon": CORDONS,
    "uncordon": CORDONS,
}

MAY_NOT: dict[str, dict[str, list[Try]]] = {
    "": {
        "read a Secret": [read(f"/api/v1/namespaces/{SHOP}/secrets/db")],
        "list Secrets, not even their names": [read("/api/v1/secrets"), read(f"/api/v1/namespaces/{SHOP}/secrets")],
        "read a ConfigMap": [read(f"/api/v1/namespaces/{SHOP}/configmaps/kube-root-ca.crt")],
        "run a command in a pod": [Try("POST", f"/api/v1/namespaces/{SHOP}/pods/{{pod}}/exec?command=id&stdout=true")],
        "create a pod": [Try("POST", f"/api/v1/namespaces/{SHOP}/pods", MAY_NOT_RUN)],
        "create a Secret": [Try("POST", f"/api/v1/namespaces/{SHOP}/secrets", {"metadata": {"name": "x"}})],
        "delete a Deployment": [Try("DELETE", deployments(SHOP))],
        "delete all Deployments of a namespace": [Try("DELETE", deployments(SHOP).removesuffix("/api"))],
        "change a Deployment in a namespace that the policy does not name": [
            patch(("replace", "/spec/replicas", 2), at=deployments(BANK))
        ],
        "change a Deployment in Handrail's own namespace": [
            patch(("replace", "/spec/replicas", 2), at=deployments("handrail"))
        ],
        "change the status of a Deployment": [
            patch(("add", "/status/replicas", 9), at=f"{deployments(SHOP)}/status"),
        ],
        "change a Service": [
            patch(("add", "/metadata/labels", {"x": "y"}), at="/api/v1/namespaces/default/services/kubernetes")
        ],
        "label a namespace": [patch(("add", "/metadata/labels/x", "y"), at=f"/api/v1/namespaces/{SHOP}")],
        "delete a node": [Try("DELETE", NODE)],
        "make a ClusterRole": [Try("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "sec-x"}, "rules": []})],
        "bind itself to cluster-admin": [Try("POST", f"{RBAC}/clusterrolebindings", TO_ADMIN)],
        "delete the admission policy that holds it": [
            Try("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{me}-hands"),
            Try("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/{me}-hands"),
        ],
        "mint a token of another account": [
            Try("POST", "/api/v1/namespaces/kube-system/serviceaccounts/default/token", TOKEN)
        ],
        "act as another user": [Try("IMPERSONATE", "/api/v1/nodes")],
    },
    "annotate": {
        "write another annotation": [patch(("add", "/metadata/annotations/team", "mine"))],
        "change anything in the spec": [spec("replicas", 2), spec("paused", True), container("image", f"{IMAGE}:v0")],
        "change a label": [patch(("add", "/metadata/labels", {"x": "y"}))],
    },
    "rollout_restart": {
        "change another annotation of the pod template": [
            patch(("add", "/spec/template/metadata/annotations", {"inject.example/sidecar": "yes"}))
        ],
        "change an image": [container("image", f"{IMAGE}:v0")],
        "change the number of replicas": [spec("replicas", 2)],
    },
    "scale_workload": {
        "scale to nothing": [spec("replicas", 0)],
        "more than double in one write": [spec("replicas", 7)],
        "scale beyond 100": [spec("replicas", 101)],
        "change the template along with it": [
            patch(("replace", "/spec/replicas", 2), ("add", "/spec/template/spec/nodeSelector", {"x": "y"}))
        ],
    },
    "rollout_undo": {
        "run an image of another repository": [container("image", "registry.example:5000/evil/api:v1")],
        "run an image of another registry": [
            container("image", "evil.example:5000/shop/api:v1"),
            container("image", "registry.example:5001/shop/api:v1"),
        ],
        "add a container": [pod("containers/-", {"name": "x", "image": f"{IMAGE}:v1"})],
        "add an init container": [pod("initContainers", [{"name": "x", "image": f"{IMAGE}:v1"}])],
        "name another Secret in a variable": [container("env/-", ROOT)],
        "take all of a Secret into variables": [container("envFrom", [{"secretRef": {"name": "db"}}])],
        "mount a Secret": [volume(secret={"secretName": "db"})],
        "mount a Secret by a projected volume": [volume(projected={"sources": [{"secret": {"name": "db"}}]})],
        "mount a path of the node": [volume(hostPath={"path": "/"})],
        "use the node's network": [pod("hostNetwork", True)],
        "use the node's processes": [pod("hostPID", True), pod("hostIPC", True)],
        "take a port of the node": [container("ports", [{"containerPort": 80, "hostPort": 80}])],
        "run under another service account": [pod("serviceAccountName", "root")],
        "change whether a token is mounted": [pod("automountServiceAccountToken", True)],
        "add a capability": [container("securityContext", {"capabilities": {"add": ["SYS_ADMIN"]}})],
        "change the user that it runs as": [
            pod("securityContext", {"runAsUser": 0}),
            container("securityContext", {"runAsUser": 0}),
        ],
        "take off a profile of AppArmor or seccomp, by an annotation either": [
            container("securityContext", {"seccompProfile": {"type": "Unconfined"}}),
            patch(("add", "/spec/template/metadata/annotations", {f"{APPARMOR}/api": "unconfined"})),
        ],
        "use another pull secret": [pod("imagePullSecrets", [{"name": "db"}])],
        "choose a node by name": [pod("nodeName", "node-1")],
        "change replicas, strategy or selector": [
            spec("replicas", 2),
            patch(("replace", "/spec/strategy", {"type": "Recreate"})),
        ],
        **NO_UID,
        "delete a pod of a Deployment": [deletion("{pod}", "{uid}")],
    },
    "resume_rollout": {
        "change the template along with it": [
            patch(("add", "/spec/paused", False), ("replace", "/spec/template/spec/containers/0/image", f"{IMAGE}:v0"))
        ],
        "change the strategy": [patch(("replace", "/spec/strategy", {"type": "Recreate"}))],
    },
    "delete_pod": {**NO_UID, "delete all pods with one request": [Try("DELETE", f"/api/v1/namespaces/{SHOP}/pods")]},
    "evict_pod": {
        "evict a pod without its UID": [eviction("{pod}")],
        "delete a pod past its budget": [deletion("{pod}", "{uid}")],
    },
    "set_hpa_bounds": {
        "more than double it in one write": [bounds(maxReplicas=11)],
        "raise it beyond 100": [bounds(maxReplicas=101)],
        "more than double the lower bound in one write": [bounds(minReplicas=5)],
        "point the autoscaler at another workload": [
            patch(("replace", "/spec/scaleTargetRef/name", "other"), at=AUTOSCALER)
        ],
    },
    "cordon": ON_NODES,
    "uncordon": ON_NODES,
}

SIGNS: dict[str, Try] = {
    "annotate": patch(("add", "/metadata/annotations/team", "mine")),
    "cordon": node("/metadata/labels/x", "y"),
    "delete_pod": deletion("{pod}"),
    "evict_pod": eviction("{pod}"),
    "resume_rollout": spec("minReadySeconds", 7),
    "rollout_restart": spec("minReadySeconds", 7),
    "rollout_undo": spec("minReadySeconds", 7),
    "scale_workload": spec("minReadySeconds", 7),
    "set_hpa_bounds": bounds(minReplicas=5),
    "uncordon": node("/metadata/labels/x", "y"),
}
"""What RBAC alone would let through: once it is denied, the admission policies are at work."""
