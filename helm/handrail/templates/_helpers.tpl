{{- define "handrail.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "handrail.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 55 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 55 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 55 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "handrail.selector" -}}
app.kubernetes.io/name: {{ include "handrail.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "handrail.labels" -}}
{{ include "handrail.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* The configuration that the pod reads: the operator's, with what only the chart can know. */}}
{{- define "handrail.config" -}}
{{- $kubernetes := merge (dict "mode" "in-cluster" "own_namespace" .Release.Namespace "hands_enabled" .Values.hands.enabled) (default dict .Values.config.kubernetes) -}}
{{- $kafka := deepCopy (default dict .Values.config.kafka) -}}
{{- if not (or $kafka.group_instance_id $kafka.group_instance_env) -}}
  {{- $_ := set $kafka "group_instance_env" "HOSTNAME" -}}
{{- end -}}
{{- $fixed := dict "kafka" $kafka "kubernetes" $kubernetes "policy" "/etc/handrail/policy/policy.yaml" "store" (dict "url" "sqlite:////var/lib/handrail/handrail.db") -}}
{{- $http := dict "http" (dict "listen" "0.0.0.0:8080" "socket" "/run/handrail/handrail.sock") -}}
{{- mergeOverwrite (deepCopy .Values.config) $fixed $http | toYaml -}}
{{- end -}}

{{/* Namespace -> steps that may write there, as JSON; the same rule as `handrail rbac` (a test compares the two). */}}
{{- define "handrail.enabled" -}}
{{- $known := (.Files.Get "files/rights.json" | fromJson) -}}
{{- $closed := concat (index $known "never") (default list .Values.policy.protected_namespaces) -}}
{{- $found := dict -}}
{{- range $rule := default list .Values.policy.rules -}}
  {{- range $namespace := $rule.namespaces -}}
    {{- if not (has $namespace $closed) -}}
      {{- range $step, $mode := $rule.steps -}}
        {{- if and (ne $mode "observe") (hasKey $known.steps $step) -}}
          {{- $_ := set $found $namespace (append (default list (get $found $namespace)) $step | uniq | sortAlpha) -}}
        {{- end -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $everywhere := default list (get $found "*") -}}
{{- $kept := dict -}}
{{- range $namespace, $steps := $found -}}
  {{- $more := false -}}
  {{- range $steps -}}{{- if not (has . $everywhere) -}}{{- $more = true -}}{{- end -}}{{- end -}}
  {{- if or (eq $namespace "*") $more -}}{{- $_ := set $kept $namespace $steps -}}{{- end -}}
{{- end -}}
{{- $kept | toJson -}}
{{- end -}}

{{/* The merged rules of some steps: one for each API group and verbs. Takes a dict of `files` and `steps`. */}}
{{- define "handrail.rules" -}}
{{- $known := (.files.Get "files/rights.json" | fromJson) -}}
{{- $merged := dict -}}
{{- range $step := .steps -}}
  {{- range $rule := index $known.steps $step -}}
    {{- /* A space sorts before every letter, so the core group comes first, as `handrail rbac` has it. */ -}}
    {{- $id := printf "%s %s" $rule.api_group ($rule.verbs | sortAlpha | join ",") -}}
    {{- $_ := set $merged $id (concat (default list (get $merged $id)) $rule.resources | uniq | sortAlpha) -}}
  {{- end -}}
{{- end -}}
{{- range $id := keys $merged | sortAlpha }}
{{- $parts := splitList " " $id }}
- apiGroups: [{{ index $parts 0 | quote }}]
  resources: {{ get $merged $id | toJson }}
  verbs: {{ splitList "," (index $parts 1) | toJson }}
{{- end }}
{{- end -}}
