"""Label and field selectors: which objects a request means.

An unreadable selector raises `ApiError` (400) and never selects everything.
"""

import re
from collections.abc import Callable

from .kinds import EVENT, NODE, POD, REPLICA_SET, Kind
from .objects import Obj, at, labels_of
from .status import bad_request

Selector = Callable[[Obj], bool]
Labels = dict[str, str]

_COMMA_OUTSIDE_BRACKETS = re.compile(r",(?![^(]*\))")
_SET = re.compile(r"^\s*(\S+)\s+(in|notin)\s+\(([^)]*)\)\s*$")
_PAIR = re.compile(r"^\s*([^\s=!]+)\s*(=|==|!=)\s*([^\s=!]*)\s*$")
_PRESENT = re.compile(r"^\s*(!?)\s*([^\s=!(),]+)\s*$")

_ALWAYS = ("metadata.name", "metadata.namespace")
_FIELDS: dict[Kind, tuple[str, ...]] = {
    POD: ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
          "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"),
    EVENT: ("involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
            "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
            "reason", "reportingComponent", "source", "type"),
    NODE: ("spec.unschedulable",),
    REPLICA_SET: ("status.replicas",),
}  # fmt: skip


def by_labels(text: str) -> Selector:
    """Parse a label selector as it stands in a query."""
    if not text.strip():
        return lambda obj: True
    tests = [_label_test(part, text) for part in _COMMA_OUTSIDE_BRACKETS.split(text)]
    return lambda obj: all(test(labels_of(obj)) for test in tests)


def _label_test(part: str, text: str) -> Callable[[Labels], bool]:
    if found := _SET.match(part):
        key, operator, listed = found.groups()
        return _in(key, {value.strip() for value in listed.split(",")}, inside=operator == "in")
    if found := _PAIR.match(part):
        key, operator, value = found.groups()
        return _in(key, {value}, inside=operator != "!=")
    if found := _PRESENT.match(part):
        absent, key = found.groups()
        return lambda labels: (key in labels) is not bool(absent)
    raise bad_request(f'unable to parse requirement: found "{part.strip()}" in "{text}"')


def _in(key: str, values: set[str], *, inside: bool) -> Callable[[Labels], bool]:
    return lambda labels: (labels.get(key) in values) is inside


def by_fields(kind: Kind, text: str) -> Selector:
    """Parse a field selector: equality on the fields that this kind lets you select by."""
    if not text.strip():
        return lambda obj: True
    tests = [_field_test(kind, part, text) for part in text.split(",")]
    return lambda obj: all(test(obj) for test in tests)


def _field_test(kind: Kind, part: str, text: str) -> Selector:
    found = _PAIR.match(part)
    if found is None:
        raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    field, operator, value = found.groups()
    if field not in (*_ALWAYS, *_FIELDS.get(kind, ())):
        raise bad_request(f"field label not supported: {field}")
    return lambda obj: (_shown(obj, field) == value) is (operator != "!=")


def _shown(obj: Obj, field: str) -> str:
    if field == "source":
        field = "source.component"
    value = at(obj, *field.split("."), default="")
    return str(value).lower() if isinstance(value, bool) else str(value)


def matches(selector: Obj | None, labels: Labels) -> bool:
    """Does a `LabelSelector` of an object's spec match? A missing one matches nothing."""
    if selector is None:
        return False
    pairs = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in pairs.items()):
        return False
    return all(_meets(one, labels) for one in selector.get("matchExpressions") or [])


def _meets(expression: Obj, labels: Labels) -> bool:
    key, operator = expression["key"], expression["operator"]
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    return (labels.get(key) in (expression.get("values") or [])) is (operator == "In")
