"""What `kubectl logs` says of the test cluster's containers.

Decides: where the lines lie, and in which form KWOK wants them. Never invents lines.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.servers.api import Api

GROUP = "kwok.x-k8s.io"
FIRST = datetime.datetime(2026, 11, 29, 15, 0, 0, tzinfo=datetime.UTC)
KINDS = {"ClusterLogs": ("clusterlogs", "Cluster"), "Logs": ("logs", "Namespaced")}

# A line that begins with its own time in RFC 3339 keeps it; the others get one second each from FIRST.
STAMPED = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z) (.*)$")


def definitions() -> list[dict[str, Any]]:
    """The two kinds by which KWOK is told at run time where logs lie."""
    return [_definition(kind, plural, scope) for kind, (plural, scope) in KINDS.items()]


def in_container_form(lines: Iterable[str]) -> str:
    """Lines as a container runtime writes them: time, stream, `F` for a full line, text."""
    written = []
    for number, line in enumerate(lines):
        stamped = STAMPED.match(line)
        at = FIRST + datetime.timedelta(seconds=number)
        when, text = stamped.groups() if stamped else (f"{at:%Y-%m-%dT%H:%M:%S}.000000000Z", line)
        written.append(f"{when} stderr F {text}\n")
    return "".join(written)


def set_logs(
    api: Api,
    folder: Path,
    container: str,
    current: Iterable[str],
    previous: Iterable[str] = (),
    *,
    pod: str | None = None,
    namespace: str = "default",
) -> None:
    """Say what a container of this name writes: in every pod, or in one pod only."""
    name = f"{namespace}.{pod}.{container}" if pod else container
    now, before = folder / f"{name}.log", folder / f"{name}.previous.log"
    folder.mkdir(parents=True, exist_ok=True)
    now.write_text(in_container_form(current), encoding="utf-8")
    before.write_text(in_container_form(previous), encoding="utf-8")
    entry = {"containers": [container], "logsFile": str(now), "previousLogsFile": str(before)}
    if pod is None:
        _apply(api, f"/apis/{GROUP}/v1alpha1/clusterlogs/{container}", "ClusterLogs", container, [entry])
        return
    path = f"/apis/{GROUP}/v1alpha1/namespaces/{namespace}/logs/{pod}"
    known = api.call("GET", path)
    entries = known.body["spec"]["logs"] if known.ok else []
    kept = [e for e in entries if e["containers"] != [container]]
    _apply(api, path, "Logs", pod, [*kept, entry])


def _apply(api: Api, path: str, kind: str, name: str, entries: list[dict[str, Any]]) -> None:
    body = {"apiVersion": f"{GROUP}/v1alpha1", "kind": kind, "metadata": {"name": name}}
    api.apply(path, {**body, "spec": {"logs": entries}})


def _definition(kind: str, plural: str, scope: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{GROUP}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests only"},
        },
        "spec": {
            "group": GROUP,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": plural},
            "scope": scope,
            "versions": [version],
        },
    }
