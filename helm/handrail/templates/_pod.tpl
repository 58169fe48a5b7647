{{/* What runs, whoever keeps it running: the StatefulSet of SQLite or the Deployment of PostgreSQL. */}}
{{- define "handrail.pod" -}}
{{- $replicated := include "handrail.replicated" . -}}
metadata:
  labels: {{- include "handrail.selector" . | nindent 4 }}
  annotations:
    checksum/config: {{ include "handrail.config" . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "handrail.fullname" . }}
  # The daemon speaks to the API server; nothing else that might use this account gets its token by itself.
  automountServiceAccountToken: true
  enableServiceLinks: false
  terminationGracePeriodSeconds: 30
  securityContext: {{- include "handrail.podSecurity" . | nindent 4 }}
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  containers:
    - name: handrail
      image: {{ include "handrail.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      command: [handrail]
      args: [run, --config, /etc/handrail/config/handrail.yaml]
      env:
        - name: HANDRAIL_SOCKET
          value: /run/handrail/handrail.sock
      ports:
        - name: http
          containerPort: 8080
        {{- if include "handrail.intake" . }}
        - name: intake
          containerPort: 8081
        {{- end }}
      # Five minutes for the schema of a large file to be brought up to date.
      startupProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 5
        failureThreshold: 60
      livenessProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /readyz
          port: http
        periodSeconds: 10
        timeoutSeconds: 5
      resources: {{- toYaml .Values.resources | nindent 8 }}
      securityContext: {{- include "handrail.containerSecurity" . | nindent 8 }}
      volumeMounts:
        {{- if not $replicated }}
        - name: data
          mountPath: /var/lib/handrail
        {{- end }}
        - name: config
          mountPath: /etc/handrail/config
          readOnly: true
        - name: policy
          mountPath: /etc/handrail/policy
          readOnly: true
        - name: run
          mountPath: /run/handrail
        - name: tmp
          mountPath: /tmp
        {{- range .Values.secrets }}
        - name: secret-{{ .name }}
          mountPath: /etc/handrail/secrets/{{ .name }}
          readOnly: true
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "handrail.fullname" . }}
    - name: policy
      configMap:
        name: {{ include "handrail.fullname" . }}-policy
    - name: run
      emptyDir: {sizeLimit: 1Mi}
    - name: tmp
      emptyDir: {sizeLimit: 64Mi}
    {{- range .Values.secrets }}
    - name: secret-{{ .name }}
      secret:
        secretName: {{ .secretName }}
        defaultMode: 0440
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.topologySpreadConstraints }}
  topologySpreadConstraints: {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
  {{- else if $replicated }}
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "handrail.selector" $ | nindent 10 }}
      matchLabelKeys: [pod-template-hash]
    {{- end }}
  {{- end }}
{{- end -}}

{{- define "handrail.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "handrail.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Not those of the daemon: neither its Service nor its budget may take the Job's pod for one of its own. */}}
{{- define "handrail.migrationLabels" -}}
app.kubernetes.io/name: {{ include "handrail.name" . | trunc 53 }}-migration
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}
