"""What the API server itself refuses to our service account: admission policies in CEL, from the enabled steps. Pure.

RBAC can't say which fields a patch may change; these policies can, so that even a stolen token does no more than the
enabled steps could. Two policies: `…-hands` says what may be written and where, `…-stop` holds the stop of a namespace.
Neither matches anybody but our own service account, and neither has parameters: a policy that waits for a parameter
object denies everybody's writes while it is missing (kubernetes/kubernetes#130887).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from handrail.core.admission_forms import form
from handrail.core.allow import NEVER
from handrail.core.rights import Deed, deeds, enabled
from handrail.model.policy import Policy
from handrail.model.step import Step
from handrail.model.value import Raw

API = "admissionregistration.k8s.io/v1"
STOP_ANNOTATION = "handrail.dev/stop"
"""On a namespace: no write of ours goes there, and the denial says what the annotation says."""

LONGEST_WHY = 1000
"""Characters of it: a denial beyond 5 KiB, or of two lines, is replaced by the bare expression (apiserver's CEL), and
nobody could tell that a stop was met."""

REVIEWS = "variables.what.startsWith('authentication.k8s.io/') || variables.what.startsWith('authorization.k8s.io/')"
"""Questions to the API server that are written as objects: who is this, and what may I do."""

_WHAT = (
    "request.resource.group + '/' + request.resource.resource"
    " + (request.?subResource.orValue('') == '' ? '' : '/' + request.subResource)"
)
_WHERE = "request.?namespace.orValue('')"
_KEPT = (
    "object.metadata.?labels.orValue({}) == oldObject.metadata.?labels.orValue({})"
    " && object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([])"
    " && object.metadata.?finalizers.orValue([]) == oldObject.metadata.?finalizers.orValue([])"
)
_NEW, _OLD = "object.metadata.?annotations.orValue({})", "oldObject.metadata.?annotations.orValue({})"
_OURS = f"(k.startsWith('handrail.dev/') && k != '{STOP_ANNOTATION}')"
_ANNOTATIONS = (
    f"{_NEW}.all(k, {_OURS} || (k in {_OLD} && {_NEW}[k] == {_OLD}[k])) && {_OLD}.all(k, {_OURS} || (k in {_NEW}))"
)

VARIABLES: tuple[tuple[str, str], ...] = (
    ("what", _WHAT),
    ("where", _WHERE),
    ("same_meta", f"request.operation == 'UPDATE' && {_KEPT} && {_ANNOTATIONS}"),
)
"""What every form may use."""

DENIED = (
    "'Handrail may not ' + request.operation + ' ' + variables.what"
    " + (variables.where == '' ? '' : ' in ' + variables.where)"
    " + ' like this: no step that its policy enables there does'"
)


def step_forms(steps: Mapping[str, Step]) -> dict[str, str]:
    """The CEL form of every known step on each of its kinds, whatever the policy says: the chart chooses from these."""
    return {deed.key: form(steps[deed.step], deed.kind) for deed in deeds(steps)}


def parts(steps: Mapping[str, Step]) -> Raw:
    """What does not depend on a policy: the chart puts its policies together from this."""
    variables, validation = _stop()
    return {
        "variables": _variables(VARIABLES),
        "steps": step_forms(steps),
        "reviews": REVIEWS,
        "denied": DENIED,
        "stop": {"variables": _variables(variables), "validations": [_validation(validation)]},
    }


def objects(policy: Policy, steps: Mapping[str, Step], name: str, namespace: str, service_account: str) -> list[Raw]:
    """Both policies with their bindings, in a fixed order. With no step enabled every write is refused."""
    user = f"system:serviceaccount:{namespace}:{service_account}"
    where = wherever(policy, steps, namespace)
    forms = {deed: form(steps[deed.step], deed.kind) for deed in deeds(steps) if deed in where}
    allowed = [f"({REVIEWS})", *(f"(variables.step_{deed.key} && {where[deed]})" for deed in forms)]
    variables = [*VARIABLES, *((f"step_{deed.key}", text) for deed, text in forms.items())]
    stop_variables, stop = _stop()
    return [
        _policy(f"{name}-hands", user, variables, (" || ".join(allowed), DENIED)),
        _binding(f"{name}-hands"),
        _policy(f"{name}-stop", user, stop_variables, stop),
        _binding(f"{name}-stop"),
    ]


def _stop() -> tuple[list[tuple[str, str]], tuple[str, str]]:
    """The stop that a namespace's own annotation holds: it needs no daemon, no database and no parameter."""
    text = f"namespaceObject.?metadata.?annotations[?'{STOP_ANNOTATION}'].orValue('')"
    why = f"(variables.stop.size() > {LONGEST_WHY} ? variables.stop.substring(0, {LONGEST_WHY}) : variables.stop)"
    said = f"'{STOP_ANNOTATION} on namespace ' + variables.where + ': ' + {why}.replace('\\n', ' ')"
    return [("where", _WHERE), ("stop", text)], ("variables.where == '' || variables.stop == ''", said)


def wherever(policy: Policy, steps: Mapping[str, Step], own_namespace: str) -> dict[Deed, str]:
    """What is enabled -> the CEL condition on the namespace that it may write in."""
    named: dict[Deed, list[str]] = {}
    for namespace, some in enabled(policy, steps).items():
        for deed in some:
            named.setdefault(deed, []).append(namespace)
    never = sorted(NEVER | {own_namespace} | set(policy.protected_namespaces))
    return {deed: _where(names, never) for deed, names in named.items()}


def _where(names: list[str], never: list[str]) -> str:
    barred = f"!(variables.where in {cel_list(never)})"
    if "*" in names:
        return barred
    return f"variables.where in {cel_list([name for name in sorted(names) if name not in never])}"


def cel_list(texts: list[str]) -> str:
    """Kubernetes names hold no quotes and no backslashes; what does is no name and matches nothing."""
    return "[" + ", ".join(f"'{text}'" for text in texts if "'" not in text and "\\" not in text) + "]"


def _policy(name: str, user: str, variables: list[tuple[str, str]], validation: tuple[str, str]) -> Raw:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
    return {
        "apiVersion": API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": _meta(name),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [everything]},
            "matchConditions": [{"name": "ours", "expression": f"request.userInfo.username == '{user}'"}],
            "variables": _variables(variables),
            "validations": [_validation(validation)],
        },
    }


def _variables(named: Iterable[tuple[str, str]]) -> list[Raw]:
    return [{"name": key, "expression": text} for key, text in named]


def _validation(validation: tuple[str, str]) -> Raw:
    return {"expression": validation[0], "messageExpression": validation[1], "reason": "Forbidden"}


def _binding(name: str) -> Raw:
    return {
        "apiVersion": API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": _meta(name),
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def _meta(name: str) -> Raw:
    return {"name": name, "labels": {"app.kubernetes.io/name": "handrail", "handrail.dev/part": "admission"}}
