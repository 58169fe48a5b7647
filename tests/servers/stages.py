"""What becomes of nodes and pods on the test cluster: KWOK's stages, written by us.

Decides: how a pod behaves, by what its spec says (see BEHAVIOUR and the README). Never runs anything: the
text goes to KWOK, which patches statuses in place of kubelets.
"""

from __future__ import annotations

import json
from typing import Any

NEVER_READY = "handrail.test/never-ready"
START_DELAY = "handrail.test/start-delay"
NODE_DOWN = "handrail.test/node-down"

# Which fault a container has, in the two languages that KWOK speaks: jq for selectors, Go templates for patches.
EXITS = """((.image | test("crash|oom")) or ([.command[]?, .args[]?] | join(" ") | test("notfound")))"""
NO_PULL = """(.image | test("nopull|missing"))"""
PROBE_FAILS = """((.readinessProbe.httpGet.port // .readinessProbe.tcpSocket.port) == 9999)"""

EXITS_RUNNING = f"""
[.spec.containers[] | select({EXITS}) | .name] as $bad
| .status.containerStatuses[] | select(.state.running) | .name | select(. as $n | $bad | index($n))"""

READINESS_DIFFERS = f"""
(.metadata.annotations["{NEVER_READY}"] == null) as $may
| [.spec.containers[] | select(({EXITS} or {NO_PULL}) | not) | {{name, ready: ($may and ({PROBE_FAILS} | not))}}] as $want
| .status.containerStatuses[] as $is | $want[] | select(.name == $is.name and .ready != $is.ready) | .name"""

UNHEALTHY = f"""
(.metadata.annotations["{NEVER_READY}"] != null) as $never
| .spec.containers[] | select((({EXITS} or {NO_PULL}) | not) and ($never or {PROBE_FAILS})) | .name"""

# One step forward for each container; what a step is depends on the fault and on where the container stands.
BEHAVIOUR = """
{{- $now := Now -}}
{{- $pod := . -}}
{{- $never := hasKey (or .metadata.annotations dict) "@NEVER_READY@" -}}
{{- $allReady := true -}}
{{- $pulling := false }}
containerStatuses:
{{ range .spec.containers }}
  {{- $spec := . -}}
  {{- $was := dict -}}
  {{- range $pod.status.containerStatuses }}{{ if eq .name $spec.name }}{{ $was = . }}{{ end }}{{ end -}}
  {{- $running := dig "state" "running" "startedAt" "" $was -}}
  {{- $waiting := dig "state" "waiting" "reason" "" $was -}}
  {{- $command := printf "%s %s" (toJson .command) (toJson .args) -}}
  {{- $code := 0 -}}
  {{- if regexMatch "crash" .image }}{{ $code = 1 }}{{ end -}}
  {{- if regexMatch "notfound" $command }}{{ $code = 127 }}{{ end -}}
  {{- if regexMatch "oom" .image }}{{ $code = 137 }}{{ end -}}
  {{- $noPull := regexMatch "nopull|missing" .image -}}
  {{- $port := dig "readinessProbe" "httpGet" "port" (dig "readinessProbe" "tcpSocket" "port" 0 .) . -}}
  {{- $ready := not (or $never $noPull (ne $code 0) (eq (toString $port) "9999")) -}}
  {{- $restarts := int (dig "restartCount" 0 $was) -}}
  {{- $reason := "" -}}
  {{- $crashed := and (ne $code 0) (ne $running "") -}}
  {{- if $noPull -}}
    {{- $pulling = true -}}
    {{- $reason = ternary "ImagePullBackOff" "ErrImagePull" (eq $waiting "ErrImagePull") -}}
  {{- else if $crashed -}}
    {{- /* As with a kubelet, the first restart comes at once and the later ones after a pause. */ -}}
    {{- if eq $restarts 0 }}{{ $restarts = 1 }}{{ else }}{{ $reason = "CrashLoopBackOff" }}{{ end -}}
  {{- else if eq $waiting "CrashLoopBackOff" -}}
    {{- $restarts = int (add1 $restarts) -}}
  {{- end -}}
  {{- if not $ready }}{{ $allReady = false }}{{ end }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: {{ $ready }}
  started: {{ eq $reason "" }}
  restartCount: {{ $restarts }}
  {{- if $noPull }}
  imageID: ""
  {{- else }}
  imageID: {{ printf "test://%s" .image | Quote }}
  containerID: {{ printf "test://%s-%s-%d" $pod.metadata.uid .name $restarts | Quote }}
  {{- end }}
  state:
  {{- if eq $reason "CrashLoopBackOff" }}
    waiting:
      reason: CrashLoopBackOff
      message: {{ printf "back-off 10s restarting failed container=%s pod=%s_%s(%s)" .name $pod.metadata.name $pod.metadata.namespace $pod.metadata.uid | Quote }}
  {{- else if eq $reason "ErrImagePull" }}
    waiting:
      reason: ErrImagePull
      message: {{ printf "failed to pull and unpack image %q: not found" .image | Quote }}
  {{- else if eq $reason "ImagePullBackOff" }}
    waiting:
      reason: ImagePullBackOff
      message: {{ printf "Back-off pulling image %q" .image | Quote }}
  {{- else }}
    running:
      startedAt: {{ if or $crashed (eq $running "") }}{{ $now | Quote }}{{ else }}{{ $running | Quote }}{{ end }}
  {{- end }}
  {{- if $crashed }}
  lastState:
    terminated:
      exitCode: {{ $code }}
      reason: {{ ternary "OOMKilled" "Error" (eq $code 137) }}
      startedAt: {{ $running | Quote }}
      finishedAt: {{ $now | Quote }}
      containerID: {{ printf "test://%s-%s-%d" $pod.metadata.uid .name (int (dig "restartCount" 0 $was)) | Quote }}
  {{- else if $was.lastState }}
  lastState: {{ toJson $was.lastState }}
  {{- end }}
{{ end }}
{{- with .spec.initContainers }}
initContainerStatuses:
{{ range . }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: {{ printf "test://%s" .image | Quote }}
  ready: true
  restartCount: 0
  started: {{ eq (toString .restartPolicy) "Always" }}
  state:
  {{- if eq (toString .restartPolicy) "Always" }}
    running: {startedAt: {{ or $pod.status.startTime $now | Quote }}}
  {{- else }}
    terminated: {exitCode: 0, reason: Completed, startedAt: {{ or $pod.status.startTime $now | Quote }}, finishedAt: {{ or $pod.status.startTime $now | Quote }}}
  {{- end }}
{{ end }}
{{- end }}
{{- $since := dict }}{{ $stood := dict }}
{{- range .status.conditions }}{{ $_ := set $since .type .lastTransitionTime }}{{ $_ := set $stood .type .status }}{{ end }}
{{- $status := ternary "True" "False" $allReady }}
conditions:
{{- range list "Ready" "ContainersReady" }}
- type: {{ . }}
  status: {{ $status | Quote }}
  lastTransitionTime: {{ if eq (toString (get $stood .)) $status }}{{ get $since . | Quote }}{{ else }}{{ $now | Quote }}{{ end }}
  {{- if $allReady }}
  reason: null
  message: null
  {{- else }}
  reason: ContainersNotReady
  message: containers with unready status
  {{- end }}
{{- end }}
{{- range list "Initialized" "PodReadyToStartContainers" }}
- type: {{ . }}
  status: "True"
  lastTransitionTime: {{ or (get $since .) $now | Quote }}
{{- end }}
{{- range .spec.readinessGates }}
- type: {{ .conditionType | Quote }}
  status: "True"
  lastTransitionTime: {{ or (get $since .conditionType) $now | Quote }}
{{- end }}
phase: {{ ternary "Pending" "Running" $pulling }}
startTime: {{ or .status.startTime $now | Quote }}
{{- with NodeIPWith .spec.nodeName }}
hostIP: {{ . | Quote }}
{{- end }}
{{- /* An address is for life: asked again, KWOK would name another one. */ -}}
{{- if not .status.podIP }}{{ with PodIPWith .spec.nodeName (or .spec.hostNetwork false) .metadata.uid .metadata.name .metadata.namespace }}
podIP: {{ . | Quote }}
podIPs: [{ip: {{ . | Quote }}}]
{{- end }}{{ end }}
""".replace("@NEVER_READY@", NEVER_READY)

# The pod of a Job, at its end: one that would exit with an error fails.
ENDED = """
{{- $now := Now -}}
{{- $failed := false }}
containerStatuses:
{{ range $i, $spec := .spec.containers }}
{{- $bad := or (regexMatch "crash|oom" .image) (regexMatch "notfound" (printf "%s %s" (toJson .command) (toJson .args))) -}}
{{- if $bad }}{{ $failed = true }}{{ end }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: {{ printf "test://%s" .image | Quote }}
  ready: false
  started: false
  restartCount: 0
  state:
    terminated:
      exitCode: {{ ternary 1 0 $bad }}
      reason: {{ ternary "Error" "Completed" $bad }}
      startedAt: {{ $.status.startTime | Quote }}
      finishedAt: {{ $now | Quote }}
{{ end }}
conditions:
{{- range list "Ready" "ContainersReady" }}
- {type: {{ . }}, status: "False", reason: {{ ternary "PodFailed" "PodCompleted" $failed }}, lastTransitionTime: {{ $now | Quote }}}
{{- end }}
phase: {{ ternary "Failed" "Succeeded" $failed }}
"""

HELD = """
conditions:
{{- range list "Ready" "ContainersReady" }}
- {type: {{ . }}, status: "False", reason: PodTerminating, lastTransitionTime: {{ Now | Quote }}}
{{- end }}
"""

NODE_UP = """
{{- $now := Now }}
conditions:
{{- range NodeConditions }}
- type: {{ .type }}
  status: {{ .status | Quote }}
  reason: {{ .reason }}
  message: {{ .message | Quote }}
  lastHeartbeatTime: {{ $now | Quote }}
  lastTransitionTime: {{ $now | Quote }}
{{- end }}
addresses:
- {type: InternalIP, address: {{ NodeIP | Quote }}}
- {type: Hostname, address: {{ .metadata.name | Quote }}}
daemonEndpoints:
  kubeletEndpoint: {Port: {{ NodePort }}}
allocatable: {{ toJson (or .status.allocatable (dict "cpu" "16" "memory" "64Gi" "pods" "250")) }}
capacity: {{ toJson (or .status.capacity (dict "cpu" "16" "memory" "64Gi" "pods" "250")) }}
nodeInfo:
  architecture: amd64
  bootID: ""
  containerRuntimeVersion: test://1
  kernelVersion: test
  kubeProxyVersion: ""
  kubeletVersion: v1.36.3
  machineID: ""
  operatingSystem: linux
  osImage: test
  systemUUID: ""
phase: Running
"""

NODE_DOWN_STATUS = """
conditions:
- type: Ready
  status: "False"
  reason: KubeletNotReady
  message: container runtime is down
  lastHeartbeatTime: {{ Now | Quote }}
  lastTransitionTime: {{ Now | Quote }}
"""

ALIVE = (".metadata.deletionTimestamp", "DoesNotExist")
READY = '.status.conditions[] | select(.type == "Ready") | .status'
WAITING = ".status.containerStatuses[].state.waiting.reason"
Rule = tuple[str, str] | tuple[str, str, list[str]]


def documents() -> str:
    """All stages as one YAML stream (JSON documents are YAML)."""
    return "\n---\n".join(json.dumps(stage, indent=1) for stage in [*_nodes(), *_pods()]) + "\n"


def _nodes() -> list[dict[str, Any]]:
    down = f'.metadata.annotations["{NODE_DOWN}"]'
    return [
        _stage("Node", "node-up", [(READY, "NotIn", ["True"]), (down, "DoesNotExist")], NODE_UP),
        _stage("Node", "node-down", [(READY, "In", ["True"]), (down, "Exists")], NODE_DOWN_STATUS),
    ]


def _pods() -> list[dict[str, Any]]:
    phase = ".status.phase"
    job = [".metadata.ownerReferences[].kind", "In", ["Job"]]
    running: Rule = (phase, "In", ["Running"])
    is_job: Rule = (job[0], "In", ["Job"])  # type: ignore[assignment]
    not_job: Rule = (job[0], "NotIn", ["Job"])  # type: ignore[assignment]
    held: list[Rule] = [(".metadata.deletionTimestamp", "Exists"), (".metadata.finalizers[]", "Exists")]
    back_off = _event("BackOff", "Back-off restarting failed container")
    unhealthy = _event("Unhealthy", "Readiness probe failed: connect: connection refused")
    failed = _event("Failed", "Failed to pull image: not found")
    fresh: Rule = (".status.containerStatuses", "DoesNotExist")
    begin: list[Rule] = [ALIVE, (phase, "In", ["Pending"]), fresh]
    delay = f'.metadata.annotations["{START_DELAY}"]'
    return [
        _stage("Pod", "pod-start", begin, BEHAVIOUR, wait=(300, 700), wait_from=delay),
        _stage("Pod", "pod-crash", [ALIVE, not_job, (EXITS_RUNNING, "Exists")], BEHAVIOUR, back_off, (1500, 2500)),
        _stage("Pod", "pod-restart", [ALIVE, (WAITING, "In", ["CrashLoopBackOff"])], BEHAVIOUR, wait=(2000, 3000)),
        _stage("Pod", "pod-pull", [ALIVE, (WAITING, "In", ["ErrImagePull"])], BEHAVIOUR, failed, (1000, 2000)),
        _stage("Pod", "pod-pull-again", [ALIVE, (WAITING, "In", ["ImagePullBackOff"])], BEHAVIOUR, wait=(4000, 6000)),
        _stage("Pod", "pod-readiness", [ALIVE, running, not_job, (READINESS_DIFFERS, "Exists")], BEHAVIOUR, weight=5),
        _stage("Pod", "pod-unhealthy", [ALIVE, running, not_job, (UNHEALTHY, "Exists")], None, unhealthy, weight=0),
        _stage("Pod", "pod-end", [ALIVE, running, is_job], ENDED, wait=(1000, 2000)),
        _stage("Pod", "pod-delete", [(".metadata.deletionTimestamp", "Exists")], None, {"delete": True}),
        # KWOK deletes without grace; while a finalizer holds the pod it must at least stop being ready.
        _stage("Pod", "pod-held", [*held, (READY, "In", ["True"])], HELD, weight=1000),
    ]


def _event(reason: str, message: str) -> dict[str, Any]:
    return {"event": {"type": "Warning", "reason": reason, "message": message}}


def _stage(
    kind: str,
    name: str,
    rules: list[Rule],
    template: str | None,
    also: dict[str, Any] | None = None,
    wait: tuple[int, int] | None = None,
    *,
    wait_from: str | None = None,
    weight: int = 1,
) -> dict[str, Any]:
    patch = {"subresource": "status", "root": "status", "template": template, "type": "strategic"}
    steps: list[dict[str, Any]] = ([also] if also else []) + ([{"patch": patch}] if template else [])
    spec: dict[str, Any] = {
        "resourceRef": {"apiGroup": "v1", "kind": kind},
        "selector": {"matchExpressions": [{"jq": _rule(*rule)} for rule in rules]},
        "weight": weight,
        "steps": steps,
    }
    if wait:
        spec["delay"] = {"durationMilliseconds": wait[0], "jitterDurationMilliseconds": wait[1]}
        if wait_from:
            spec["delay"] |= {
                "durationFrom": {"jq": {"expression": wait_from}},
                "jitterDurationFrom": {"jq": {"expression": wait_from}},
            }
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": spec}


def _rule(key: str, operator: str, values: list[str] | None = None) -> dict[str, Any]:
    rule: dict[str, Any] = {"key": " ".join(key.split()), "operator": operator}
    return {**rule, "values": values} if values else rule
