{{- define "handrail.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* 52: a StatefulSet's pods bear its name and eleven characters more in a label, which holds 63. */}}
{{- define "handrail.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
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

{{- define "handrail.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}

{{/* "yes" where replicas share a PostgreSQL, "" where one process has a file. */}}
{{- define "handrail.replicated" -}}
{{- $url := dig "store" "url" "" .Values.config -}}
{{- if hasPrefix "postgresql" $url -}}
yes
{{- else if not (has $url (list "" "sqlite:////var/lib/handrail/handrail.db")) -}}
{{- fail "config.store.url: SQLite lies in the volume of the chart, so leave it out; or name a postgresql:// for replicas" -}}
{{- else if gt (int (default 1 .Values.replicas)) 1 -}}
{{- fail "replicas: SQLite has one writer; more than one replica needs config.store.url: postgresql://..." -}}
{{- end -}}
{{- end -}}

{{/* What `kubectl exec` and `kubectl logs` take. */}}
{{- define "handrail.workload" -}}
{{ ternary "deployment" "statefulset" (eq "yes" (include "handrail.replicated" .)) }}/{{ include "handrail.fullname" . }}
{{- end -}}

{{/* "yes" where alerts are taken by HTTP: at a port of their own, so that a NetworkPolicy can tell senders apart. */}}
{{- define "handrail.intake" -}}
{{- if dig "intake" "http" "tokens" list .Values.config -}}yes{{- end -}}
{{- end -}}

{{/* The configuration that the pod reads: the operator's, with what only the chart can know. Set and not merged: a merge
     takes false for missing. */}}
{{- define "handrail.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $kubernetes := default dict $config.kubernetes -}}
{{- $_ := set $kubernetes "mode" "in-cluster" -}}
{{- $_ := set $kubernetes "own_namespace" .Release.Namespace -}}
{{- $_ := set $kubernetes "hands_enabled" .Values.hands.enabled -}}
{{- $_ := set $config "kubernetes" $kubernetes -}}
{{- if not (or $config.kafka.group_instance_id $config.kafka.group_instance_env) -}}
  {{- $_ := set $config.kafka "group_instance_env" "HOSTNAME" -}}
{{- end -}}
{{- $http := dict "listen" "0.0.0.0:8080" "socket" "/run/handrail/handrail.sock" -}}
{{- if include "handrail.intake" . -}}{{- $_ := set $http "intake" "0.0.0.0:8081" -}}{{- end -}}
{{- $_ := set $config "http" $http -}}
{{- $_ := set $config "policy" "/etc/handrail/policy/policy.yaml" -}}
{{- if not (include "handrail.replicated" .) -}}
  {{- $_ := set $config "store" (dict "url" "sqlite:////var/lib/handrail/handrail.db") -}}
{{- end -}}
{{- $text := toYaml $config -}}
{{- $mounted := list -}}
{{- range .Values.secrets -}}{{- $mounted = append $mounted .name -}}{{- end -}}
{{- range regexFindAll "/etc/handrail/secrets/[^/\\s]+" $text -1 -}}
  {{- if not (has (base .) $mounted) -}}
    {{- fail (printf "config names a file in %s, but no entry of `secrets` has the name %s" . (base .)) -}}
  {{- end -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{/* Namespace -> what may be written there (step_kind), as JSON; the same rule as `handrail rbac` (a test compares the
     two). A cluster-wide kind belongs to no namespace: only "*" reaches it. */}}
{{- define "handrail.enabled" -}}
{{- $known := (.Files.Get "files/rights.json" | fromJson) -}}
{{- $closed := concat (index $known "never") (default list .Values.policy.protected_namespaces) -}}
{{- $found := dict -}}
{{- range $rule := default list .Values.policy.rules -}}
  {{- range $namespace := $rule.namespaces -}}
    {{- if not (has $namespace $closed) -}}
      {{- range $key, $deed := $known.deeds -}}
        {{- $writes := ne "observe" (default "observe" (get $rule.steps $deed.step)) -}}
        {{- $of_kind := or (empty $rule.kinds) (has $deed.kind (default list $rule.kinds)) -}}
        {{- if and $writes $of_kind (or (eq $namespace "*") (not $deed.everywhere)) -}}
          {{- $_ := set $found $namespace (append (default list (get $found $namespace)) $key | uniq | sortAlpha) -}}
        {{- end -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $everywhere := default list (get $found "*") -}}
{{- $kept := dict -}}
{{- range $namespace, $deeds := $found -}}
  {{- $more := false -}}
  {{- range $deeds -}}{{- if not (has . $everywhere) -}}{{- $more = true -}}{{- end -}}{{- end -}}
  {{- if or (eq $namespace "*") $more -}}{{- $_ := set $kept $namespace $deeds -}}{{- end -}}
{{- end -}}
{{- $kept | toJson -}}
{{- end -}}

{{/* The merged rules of some of these: one for each API group and verbs. Takes a dict of `files` and `deeds`. */}}
{{- define "handrail.rules" -}}
{{- $known := (.files.Get "files/rights.json" | fromJson) -}}
{{- $merged := dict -}}
{{- range $key := .deeds -}}
  {{- range $rule := (index $known.deeds $key).rules -}}
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
