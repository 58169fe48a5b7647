"""The table of resources that the simulated cluster knows.

One row decides how a resource is named, scoped and versioned; a resource without a row is answered with 501, or
with 404 where Kubernetes has no such API either. No behaviour lives here.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One resource. `counts` says that it has a generation, `status` that it has that subresource,
    `returned` that a delete answers with the object and not with a Status."""

    group: str
    version: str
    name: str
    plural: str
    namespaced: bool = True
    counts: bool = False
    status: bool = False
    scale: bool = False
    returned: bool = False
    short: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """`deployments.apps`, as it stands in messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False, status=True, short=("ns",))
NODE = Kind("", "v1", "Node", "nodes", namespaced=False, status=True, short=("no",))
POD = Kind("", "v1", "Pod", "pods", counts=True, status=True, returned=True, short=("po",))
SERVICE = Kind("", "v1", "Service", "services", status=True, returned=True, short=("svc",))
ENDPOINTS = Kind("", "v1", "Endpoints", "endpoints", short=("ep",))
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", short=("cm",))
EVENT = Kind("", "v1", "Event", "events", short=("ev",))
SECRET = Kind("", "v1", "Secret", "secrets")
SLICE = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", counts=True)
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments", counts=True, status=True, scale=True, short=("deploy",))
REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets", counts=True, status=True, scale=True, short=("rs",))
STATEFUL_SET = Kind("apps", "v1", "StatefulSet", "statefulsets", counts=True, status=True, scale=True, short=("sts",))
DAEMON_SET = Kind("apps", "v1", "DaemonSet", "daemonsets", counts=True, status=True, short=("ds",))
REVISION = Kind("apps", "v1", "ControllerRevision", "controllerrevisions")
AUTOSCALER = Kind(
    "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", status=True, short=("hpa",)
)
JOB = Kind("batch", "v1", "Job", "jobs", counts=True, status=True)
"""Kept and listed; no controller runs it."""
BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", counts=True, status=True, short=("pdb",))

KINDS = (
    NAMESPACE,
    NODE,
    POD,
    SERVICE,
    ENDPOINTS,
    CONFIG_MAP,
    EVENT,
    SECRET,
    SLICE,
    DEPLOYMENT,
    REPLICA_SET,
    STATEFUL_SET,
    DAEMON_SET,
    REVISION,
    AUTOSCALER,
    BUDGET,
    JOB,
)

WITH_POD_TEMPLATE = (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET)

# Reviews are asked by POST and kept nowhere.
REVIEWS: dict[tuple[str, str], dict[str, str]] = {
    ("authorization.k8s.io", "v1"): {
        "selfsubjectaccessreviews": "SelfSubjectAccessReview",
        "subjectaccessreviews": "SubjectAccessReview",
    },
    ("authentication.k8s.io", "v1"): {"tokenreviews": "TokenReview"},
}

# What a real API server has besides: asked for, it is "not implemented" here and not "not found".
NOT_SIMULATED: dict[str, tuple[str, ...]] = {
    "": (
        "bindings",
        "componentstatuses",
        "limitranges",
        "persistentvolumeclaims",
        "persistentvolumes",
        "podtemplates",
        "replicationcontrollers",
        "resourcequotas",
        "serviceaccounts",
    ),
    "admissionregistration.k8s.io": (
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    ),
    "apiextensions.k8s.io": ("customresourcedefinitions",),
    "apiregistration.k8s.io": ("apiservices",),
    "authentication.k8s.io": ("selfsubjectreviews",),
    "authorization.k8s.io": ("localsubjectaccessreviews", "selfsubjectrulesreviews"),
    "batch": ("cronjobs",),
    "certificates.k8s.io": ("certificatesigningrequests",),
    "coordination.k8s.io": ("leases",),
    "events.k8s.io": ("events",),
    "flowcontrol.apiserver.k8s.io": ("flowschemas", "prioritylevelconfigurations"),
    "networking.k8s.io": ("ingressclasses", "ingresses", "ipaddresses", "networkpolicies", "servicecidrs"),
    "node.k8s.io": ("runtimeclasses",),
    "rbac.authorization.k8s.io": ("clusterrolebindings", "clusterroles", "rolebindings", "roles"),
    "scheduling.k8s.io": ("priorityclasses",),
    "storage.k8s.io": ("csidrivers", "csinodes", "storageclasses", "volumeattachments"),
}

_BY_PATH = {(k.group, k.version, k.plural): k for k in KINDS}
_BY_NAME = {(k.api_version, k.name): k for k in KINDS}


def by_path(group: str, version: str, plural: str) -> Kind | None:
    return _BY_PATH.get((group, version, plural))


def by_name(api_version: str, name: str) -> Kind | None:
    return _BY_NAME.get((api_version, name))


def by_resource(group: str, plural: str) -> Kind | None:
    """The kind of this resource in whatever version."""
    return next((k for k in KINDS if (k.group, k.plural) == (group, plural)), None)
