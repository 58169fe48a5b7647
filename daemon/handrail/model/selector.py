"""Label selectors as Kubernetes reads them. Pure; an operator that is not known matches nothing."""

from __future__ import annotations

from handrail.model.value import Raw


def labels_of(raw: Raw) -> dict[str, str]:
    return raw["metadata"].get("labels") or {}


def selects(selector: Raw | None, labels: dict[str, str]) -> bool:
    """Whether a LabelSelector matches. None matches nothing, an empty one everything (policy/v1, apps/v1)."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != text for key, text in wanted.items()):
        return False
    return all(_holds(term, labels) for term in selector.get("matchExpressions") or ())


def _holds(term: Raw, labels: dict[str, str]) -> bool:
    key, values = str(term.get("key")), tuple(term.get("values") or ())
    match term.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False
