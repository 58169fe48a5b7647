"""One step on one kind as a CEL expression: exactly the requests that it could make. Pure, and whatever the policy is.

Maps are compared key by key, so a field that a later Kubernetes adds is pinned too. What an undo of a template never
needs to change is pinned by name: image repositories, Secrets, host access, identities, privileges.
"""

from __future__ import annotations

from collections.abc import Iterable

from handrail.core.rights import needs_of
from handrail.model.step import Bound, Rule, Step

Tree = dict[str, "Tree"]

UID_OF_DELETE = "request.options.?preconditions.?uid.hasValue()"
UID_OF_EVICTION = "object.?deleteOptions.?preconditions.?uid.hasValue()"
MAKERS = {"Deployment": "ReplicaSet"}
"""What makes the pods of a kind, where it does not make them itself."""

TEMPLATE = "/spec/template"
FREE_VOLUMES = ("name", "configMap", "emptyDir", "downwardAPI", "persistentVolumeClaim")
"""Kinds of volumes that an undo may bring back; every other one must be there already (hostPath, secret, csi, …)."""

PINNED_OF_POD = (
    "serviceAccountName",
    "serviceAccount",
    "automountServiceAccountToken",
    "hostNetwork",
    "hostPID",
    "hostIPC",
    "hostUsers",
    "shareProcessNamespace",
    "securityContext",
    "imagePullSecrets",
    "runtimeClassName",
    "nodeName",
    "ephemeralContainers",
    "resourceClaims",
)
PINNED_OF_CONTAINER = ("securityContext", "volumeDevices")
PINNED_ANNOTATIONS = ("container.apparmor.security.beta.kubernetes.io/", "seccomp.security.alpha.kubernetes.io/")
"""Of the pod template: the API server still turns the first into a security context (Pod docs, AppArmor)."""


def form(step: Step, kind: str) -> str:
    """The requests of a step on a kind: one alternative for each right that it declares."""
    found = [
        _request(step, kind, (rule, resource, verb))
        for rule in needs_of(step, kind)
        for resource in rule.resources
        for verb in rule.verbs
    ]
    return " || ".join(f"({one})" for one in dict.fromkeys(one for one in found if one))


def _request(step: Step, kind: str, right: tuple[Rule, str, str]) -> str:
    rule, resource, verb = right
    what = f"variables.what == '{rule.api_group}/{resource}'"
    if verb in ("patch", "update"):
        return f"{what} && variables.same_meta && {_fields(step.admits)}{_bounds(step.bounds)}"
    if verb == "delete":
        controlled = f" && {_made_by(kind)}" if resource == "pods" else ""
        return f"{what} && request.operation == 'DELETE' && {UID_OF_DELETE}{controlled}"
    if verb == "create" and resource.endswith("/eviction"):
        return f"{what} && request.operation == 'CREATE' && {UID_OF_EVICTION}"
    return ""


def _made_by(kind: str) -> str:
    """Only a pod that such a workload makes again. What an eviction names can't be seen, so this holds deletes."""
    mine = f"o.?controller.orValue(false) && o.kind == '{MAKERS.get(kind, kind)}'"
    return f"oldObject.metadata.?ownerReferences.orValue([]).exists(o, {mine})"


def _fields(pointers: Iterable[str]) -> str:
    """Nothing but these fields differs (metadata apart, which `same_meta` holds; status is not ours to write)."""
    pointers = tuple(pointers)
    root = tree(pointers)
    top = sorted({"metadata", "status", *root})
    parts = [_same("object", "oldObject", top)]
    for key, below in root.items():
        parts += _below(f"object.{key}", f"oldObject.{key}", below)
    if TEMPLATE in pointers:
        parts.append(pinned_template())
    return " && ".join(parts)


def _bounds(bounds: Iterable[Bound]) -> str:
    """A number that is missing counts as 1, as the API server would default it."""
    return "".join(f" && {_bound(bound)}" for bound in bounds)


def _bound(bound: Bound) -> str:
    path = "".join(f".?{part}" for part in bound.pointer.lstrip("/").split("/"))
    new, old = f"object{path}.orValue(1)", f"oldObject{path}.orValue(1)"
    within = f"{new} >= {bound.least} && {new} <= {bound.most}"
    same = f"{new} == {old}"
    if bound.times:
        within += f" && ({new} <= {bound.times} * {old} || {new} <= {bound.times})"
    return f"({same} || ({within}))"


def tree(pointers: Iterable[str]) -> Tree:
    """JSON pointers as nested keys; an empty subtree means that the whole value may change."""
    root: Tree = {}
    for pointer in pointers:
        level = root
        for part in pointer.lstrip("/").split("/"):
            level = level.setdefault(part.replace("~1", "/").replace("~0", "~"), {})
    return root


def _below(new: str, old: str, below: Tree) -> list[str]:
    if not below:
        return []
    parts = [_same(new, old, sorted(below))]
    for key, deeper in below.items():
        if deeper:
            parts += _below(f"{new}.?{key}.orValue({{}})", f"{old}.?{key}.orValue({{}})", deeper)
    return parts


def _same(new: str, old: str, but: list[str]) -> str:
    """Equal maps, but for these keys."""
    free = "k in [" + ", ".join(f"'{key}'" for key in but) + "]"
    return f"{new}.all(k, {free} || (k in {old} && {new}[k] == {old}[k])) && {old}.all(k, {free} || k in {new})"


def pinned_template() -> str:
    """What a pod template keeps when a revision is undone."""
    new, old = "object.spec.template.spec", "oldObject.spec.template.spec"
    parts = [_kept(new, old, field) for field in PINNED_OF_POD]
    parts += [_containers(new, old, "containers"), _containers(new, old, "initContainers")]
    parts += [_volumes(new, old), _annotations_kept()]
    return " && ".join(parts)


def _annotations_kept() -> str:
    new, old = (f"{one}.spec.template.?metadata.?annotations.orValue({{}})" for one in ("object", "oldObject"))
    other = " && ".join(f"!k.startsWith('{prefix}')" for prefix in PINNED_ANNOTATIONS)
    return f"{new}.all(k, ({other}) || (k in {old} && {new}[k] == {old}[k])) && {old}.all(k, ({other}) || k in {new})"


def _kept(new: str, old: str, field: str) -> str:
    return f"{new}.?{field} == {old}.?{field}"


def _containers(new: str, old: str, field: str) -> str:
    """The same names in the same order; each keeps its repository, privileges, host ports and Secrets."""
    ours, theirs = f"{new}.?{field}.orValue([])", f"{old}.?{field}.orValue([])"
    names = f"{ours}.map(c, c.name) == {theirs}.map(c, c.name)"
    same = " && ".join(f"c.?{field} == o.?{field}" for field in PINNED_OF_CONTAINER)
    each = f"o.name == c.name && {_repository('c')} == {_repository('o')} && {same} && {_ports()}"
    env = f"{ours}.all(c, {_secrets_kept('env', 'valueFrom.?secretKeyRef', theirs)})"
    env_from = f"{ours}.all(c, {_secrets_kept('envFrom', 'secretRef', theirs)})"
    return f"{names} && {ours}.all(c, {theirs}.exists(o, {each})) && {env} && {env_from}"


def _repository(container: str) -> str:
    """An image without its tag and digest: a registry's port is no tag."""
    return f"{container}.?image.orValue('').split('@')[0].find('^(.*/)?[^/:]*')"


def _ports() -> str:
    return "c.?ports.orValue([]).all(p, !has(p.hostPort) || o.?ports.orValue([]).exists(q, q.?hostPort == p.?hostPort))"


def _secrets_kept(field: str, path: str, theirs: str) -> str:
    """Every Secret that a container names is named by a container of the running template already."""
    mine, other = f"e.?{path}", f"f.?{path}"
    known = f"{theirs}.exists(o, o.?{field}.orValue([]).exists(f, {other}.?name == {mine}.?name))"
    return f"c.?{field}.orValue([]).all(e, !{mine}.hasValue() || {known})"


def _volumes(new: str, old: str) -> str:
    free = ", ".join(f"'{kind}'" for kind in FREE_VOLUMES)
    return f"{new}.?volumes.orValue([]).all(v, v.all(k, k in [{free}]) || {old}.?volumes.orValue([]).exists(o, o == v))"
