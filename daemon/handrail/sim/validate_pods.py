"""Which pods and pod templates are refused, and with which causes.

Pure, as `validate` is; it covers what a remediation can get wrong about containers, not all that Kubernetes checks.
"""

from collections.abc import Iterator

from . import names
from .objects import Obj
from .quantity import amount
from .status import Cause, forbidden_change, required, unsupported, wrong

_MAY_CHANGE = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
_KNOWN = {
    "dnsPolicy": ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
    "protocol": ("SCTP", "TCP", "UDP"),
    "scheme": ("HTTP", "HTTPS"),
    "terminationMessagePolicy": ("FallbackToLogsOnError", "File"),
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "grpc", "httpGet", "tcpSocket")


def of_spec(spec: Obj, field: str) -> list[Cause]:
    """What is wrong with the spec of a pod or of a template."""
    containers = spec.get("containers") or []
    found = [] if containers else [required(f"{field}.containers")]
    seen: set[str] = set()
    for index, container in enumerate(containers):
        found += _container(container, f"{field}.containers[{index}]", seen)
    found += _one_of(spec, "dnsPolicy", field)
    for index, volume in enumerate(spec.get("volumes") or []):
        found += _named(volume.get("name") or "", f"{field}.volumes[{index}].name")
    return found


def of_update(spec: Obj, before: Obj) -> list[Cause]:
    """A pod may get another image and more tolerations; else it stays what it was."""
    if len(spec.get("containers") or []) != len(before.get("containers") or []):
        return [forbidden_change("spec.containers", "pod updates may not add or remove containers")]
    found = []
    if _pinned(spec) != _pinned(before):
        detail = "pod updates may not change fields other than `spec.containers[*].image` and a few others"
        found.append(forbidden_change("spec", detail))
    kept = [_bare(toleration) for toleration in spec.get("tolerations") or []]
    if any(_bare(toleration) not in kept for toleration in before.get("tolerations") or []):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        found.append(forbidden_change("spec.tolerations", detail))
    return found


def _pinned(spec: Obj) -> Obj:
    pinned = {key: value for key, value in spec.items() if key not in _MAY_CHANGE}
    pinned["containers"] = [{k: v for k, v in c.items() if k != "image"} for c in spec.get("containers") or []]
    return pinned


def _bare(toleration: Obj) -> Obj:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _one_of(holder: Obj, key: str, field: str) -> list[Cause]:
    value = holder.get(key)
    return [] if value in (None, *_KNOWN[key]) else [unsupported(f"{field}.{key}", value, _KNOWN[key])]


def _named(name: str, field: str) -> list[Cause]:
    return names.label(field, name) if name else [required(field)]


def _container(container: Obj, field: str, seen: set[str]) -> Iterator[Cause]:
    name = container.get("name") or ""
    if name and name in seen:
        yield Cause(f"{field}.name", "FieldValueDuplicate", f'Duplicate value: "{name}"')
    else:
        yield from _named(name, f"{field}.name")
    seen.add(name)
    if not container.get("image"):
        yield required(f"{field}.image")
    yield from _one_of(container, "imagePullPolicy", field)
    yield from _one_of(container, "terminationMessagePolicy", field)
    yield from _ports(container, field)
    for index, variable in enumerate(container.get("env") or []):
        if not variable.get("name"):
            yield required(f"{field}.env[{index}].name")
    for probe in _PROBES:
        if probe in container:
            yield from _probe(container[probe], f"{field}.{probe}")
    yield from _resources(container["resources"], f"{field}.resources")


def _ports(container: Obj, field: str) -> Iterator[Cause]:
    for index, port in enumerate(container.get("ports") or []):
        where = f"{field}.ports[{index}]"
        if not port.get("containerPort"):
            yield required(f"{where}.containerPort")
        elif not 0 < port["containerPort"] < 65536:
            yield wrong(f"{where}.containerPort", port["containerPort"], "must be between 1 and 65535, inclusive")
        yield from _one_of(port, "protocol", where)


def _probe(probe: Obj, field: str) -> Iterator[Cause]:
    handlers = [handler for handler in _HANDLERS if handler in probe]
    if not handlers:
        yield required(field, "must specify a handler type")
    for handler in ("httpGet", "tcpSocket"):
        port = probe.get(handler, {}).get("port", 0) if handler in handlers else 1
        if isinstance(port, int) and not 0 < port < 65536:
            yield wrong(f"{field}.{handler}.port", port, "must be between 1 and 65535, inclusive")
    yield from _one_of(probe.get("httpGet", {}), "scheme", f"{field}.httpGet")
    for key in ("timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold", "initialDelaySeconds"):
        if probe.get(key, 0) < 0:
            yield wrong(f"{field}.{key}", probe[key], names.NOT_NEGATIVE)


def _resources(resources: Obj, field: str) -> Iterator[Cause]:
    limits = resources.get("limits") or {}
    for key in ("limits", "requests"):
        for name, value in (resources.get(key) or {}).items():
            if amount(value) < 0:
                yield wrong(f"{field}.{key}[{name}]", str(value), names.NOT_NEGATIVE)
    for name, value in (resources.get("requests") or {}).items():
        if name in limits and amount(value) > amount(limits[name]):
            yield wrong(
                f"{field}.requests", str(value), f"must be less than or equal to {name} limit of {limits[name]}"
            )
