"""What becomes of nodes and pods on the test cluster: KWOK's stages, written by us.

Decides: which pod moves when, by what its spec says (the README has the table). What a move writes is in
stages/*.tmpl. Never runs anything: KWOK patches statuses in place of kubelets.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

NEVER_READY = "handrail.test/never-ready"
FLAPPING = "handrail.test/flapping"
START_DELAY = "handrail.test/start-delay"
NODE_DOWN = "handrail.test/node-down"

TEMPLATES = Path(__file__).resolve().parent / "stages"

# The faults in jq, for selectors; stages/pod.yaml.tmpl says the same in KWOK's template language.
EXITS = '((.image | test("crash|oom")) or ([.command[]?, .args[]?] | join(" ") | test("notfound")))'
NO_PULL = '(.image | test("nopull|missing"))'
PROBE_FAILS = "((.readinessProbe.httpGet.port // .readinessProbe.tcpSocket.port) == 9999)"

EXITS_RUNNING = (
    f"[.spec.containers[] | select({EXITS}) | .name] as $bad"
    " | .status.containerStatuses[] | select(.state.running) | .name | select(. as $n | $bad | index($n))"
)
READINESS_DIFFERS = (
    f'select(.metadata.annotations["{FLAPPING}"] == null) | (.metadata.annotations["{NEVER_READY}"] == null) as $may'
    f" | [.spec.containers[] | select(({EXITS} or {NO_PULL}) | not)"
    f" | {{name, ready: ($may and ({PROBE_FAILS} | not))}}] as $want"
    " | .status.containerStatuses[] as $is | $want[] | select(.name == $is.name and .ready != $is.ready) | .name"
)
UNHEALTHY = (
    f'(.metadata.annotations["{NEVER_READY}"] != null) as $never'
    f" | .spec.containers[] | select((({EXITS} or {NO_PULL}) | not) and ($never or {PROBE_FAILS})) | .name"
)
FAULTY = f"[.spec.containers[] | select({EXITS} or {NO_PULL}) | .name] | .[]"
FLAPS = f'.metadata.annotations["{FLAPPING}"]'
READY = '.status.conditions[] | select(.type == "Ready") | .status'
PHASE = ".status.phase"
WAITING = ".status.containerStatuses[].state.waiting.reason"
OWNER = ".metadata.ownerReferences[].kind"
ENDING = ".metadata.deletionTimestamp"


def documents() -> str:
    """All stages as one YAML stream (JSON documents are YAML)."""
    return "\n---\n".join(json.dumps(stage, indent=1) for stage in [*_nodes(), *_pods()]) + "\n"


def _nodes() -> list[dict[str, Any]]:
    down = f'.metadata.annotations["{NODE_DOWN}"]'
    return [
        _stage("Node", "node-up", [_not(READY, "True"), _none(down)], _patch("node-up")),
        _stage("Node", "node-down", [_is(READY, "True"), _some(down)], _patch("node-down")),
    ]


def _pods() -> list[dict[str, Any]]:
    alive, running = _none(ENDING), _is(PHASE, "Running")
    job, no_job = _is(OWNER, "Job"), _not(OWNER, "Job")
    fresh = [alive, _is(PHASE, "Pending"), _none(".status.containerStatuses")]
    step = _patch("pod")
    back_off = _event("BackOff", "Back-off restarting failed container")
    not_pulled = _event("Failed", "Failed to pull image: not found")
    flapping, beat = [alive, running, no_job, _some(FLAPS), _none(FAULTY)], _patch("pod-flap")
    unhealthy = _event("Unhealthy", "Readiness probe failed: connect: connection refused")
    return [
        _stage("Pod", "pod-start", fresh, step, wait=(300, 700), wait_from=START_DELAY),
        _stage("Pod", "pod-crash", [alive, no_job, _some(EXITS_RUNNING)], back_off, step, wait=(1500, 2500)),
        _stage("Pod", "pod-restart", [alive, _is(WAITING, "CrashLoopBackOff")], step, wait=(2000, 3000)),
        _stage("Pod", "pod-pull", [alive, _is(WAITING, "ErrImagePull")], not_pulled, step, wait=(1000, 2000)),
        _stage("Pod", "pod-pull-again", [alive, _is(WAITING, "ImagePullBackOff")], step, wait=(4000, 6000)),
        _stage("Pod", "pod-readiness", [alive, running, no_job, _some(READINESS_DIFFERS)], step, weight=5),
        # Weight 0 loses to every other stage, so this event never keeps a pod from moving on.
        _stage("Pod", "pod-unhealthy", [alive, running, no_job, _some(UNHEALTHY)], unhealthy, weight=0),
        # Up for longer than down, so that all pods of a workload are ready at once now and then.
        _stage("Pod", "pod-flap-down", [*flapping, _is(READY, "True")], beat, wait=(1000, 2000), weight=1000),
        _stage(
            "Pod", "pod-flap-up", [*flapping, _is(READY, "False")], _patch("pod-flap"), wait=(300, 600), weight=1000
        ),
        _stage("Pod", "pod-end", [alive, running, job], _patch("pod-ended"), wait=(1000, 2000)),
        _stage("Pod", "pod-delete", [_some(ENDING)], {"delete": True}),
        # KWOK deletes without grace; while a finalizer holds the pod it must at least stop being ready.
        _stage(
            "Pod",
            "pod-held",
            [_some(ENDING), _some(".metadata.finalizers[]"), _is(READY, "True")],
            _patch("pod-held"),
            weight=1000,
        ),
    ]


def _stage(
    kind: str,
    name: str,
    rules: Sequence[dict[str, Any]],
    *steps: dict[str, Any],
    wait: tuple[int, int] | None = None,
    wait_from: str | None = None,
    weight: int = 1,
) -> dict[str, Any]:
    """A stage; `wait` is from and to in milliseconds, `wait_from` an annotation that says it instead ("5s")."""
    spec: dict[str, Any] = {
        "resourceRef": {"apiGroup": "v1", "kind": kind},
        "selector": {"matchExpressions": [{"jq": rule} for rule in rules]},
        "weight": weight,
        "steps": list(steps),
    }
    if wait:
        spec["delay"] = {"durationMilliseconds": wait[0], "jitterDurationMilliseconds": wait[1]}
    if wait_from:
        source = {"jq": {"expression": f'.metadata.annotations["{wait_from}"]'}}
        spec["delay"] |= {"durationFrom": source, "jitterDurationFrom": source}
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": spec}


def _is(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": [value]}


def _not(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "operator": "NotIn", "values": [value]}


def _some(key: str) -> dict[str, Any]:
    return {"key": key, "operator": "Exists"}


def _none(key: str) -> dict[str, Any]:
    return {"key": key, "operator": "DoesNotExist"}


def _event(reason: str, message: str) -> dict[str, Any]:
    return {"event": {"type": "Warning", "reason": reason, "message": message}}


def _patch(template: str) -> dict[str, Any]:
    text = (TEMPLATES / f"{template}.yaml.tmpl").read_text(encoding="utf-8")
    return {"patch": {"subresource": "status", "root": "status", "type": "strategic", "template": text}}
