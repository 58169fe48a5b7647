"""What differs between two pod templates, as far as it can explain a symptom. Pure; decides no cause."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.model.value import Raw, canonical


def pulls_alike(one: Raw, other: Raw, container: str) -> bool:
    """The container's image would be pulled in the same way from both: going back can't help."""
    return canonical(_pull(one, container)) == canonical(_pull(other, container))


def placed_alike(one: Raw, other: Raw) -> bool:
    """Both ask the scheduler for the same."""
    return canonical(_placing(one)) == canonical(_placing(other))


def needs_new_config(new: Raw, old: Raw) -> bool:
    """The new template refers to a ConfigMap, a Secret or a key that the old one does not."""
    return bool(set(_references(_spec(new))) - set(_references(_spec(old))))


def _spec(template: Raw) -> Raw:
    return template.get("spec") or {}


def _containers(template: Raw) -> tuple[Raw, ...]:
    spec = _spec(template)
    return (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))


def _pull(template: Raw, container: str) -> Raw:
    spec = _spec(template)
    found = next((c for c in _containers(template) if c.get("name") == container), {})
    return {
        "image": found.get("image"),
        "policy": found.get("imagePullPolicy"),
        "secrets": spec.get("imagePullSecrets"),
        "account": spec.get("serviceAccountName"),
    }


def _placing(template: Raw) -> Raw:
    spec = _spec(template)
    keys = ("nodeName", "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "hostNetwork")
    asked = [(c.get("resources"), c.get("ports")) for c in _containers(template)]
    return {**{key: spec.get(key) for key in (*keys, "priorityClassName", "volumes")}, "asked": asked}


REFERENCES = frozenset({"configMapKeyRef", "secretKeyRef", "configMapRef", "secretRef", "configMap", "secret"})


def _references(part: object) -> Iterator[str]:
    """Every reference to a ConfigMap or a Secret below `part`, each as one canonical text."""
    if isinstance(part, dict):
        for key, inner in part.items():
            if key in REFERENCES and isinstance(inner, dict):
                yield canonical(
                    [key, inner.get("name") or inner.get("secretName"), inner.get("key"), inner.get("items")]
                )
            yield from _references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _references(inner)
