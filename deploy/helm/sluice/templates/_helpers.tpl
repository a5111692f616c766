{{/* Labels of an object; `sluice.labels` of (dict "name" "sluice-gateway" "component" "gateway"). */}}
{{- define "sluice.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/part-of: sluice
{{- end }}

{{- define "sluice.image" -}}
{{ .root.Values.registry }}/{{ .image }}:{{ .root.Values.tag | default .root.Chart.Version }}
{{- end }}

{{/* What every pod has: no rights, no token, and none of the variables that Services make. */}}
{{- define "sluice.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "sluice.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- define "sluice.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        app.kubernetes.io/name: {{ . }}
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        app.kubernetes.io/name: {{ . }}
{{- end }}

{{/* Where pods of a gateway or a pool go, and before whom; nothing when its values say nothing. */}}
{{- define "sluice.placement" -}}
{{- range $member := list "nodeSelector" "tolerations" "affinity" "priorityClassName" "runtimeClassName" }}
{{- with get $ $member }}
{{ dict $member . | toYaml }}
{{- end }}
{{- end }}
{{- end }}

{{- define "sluice.annotations" -}}
{{- with . }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The StatefulSet of a pool: the first one's has no suffix. */}}
{{- define "sluice.pool" -}}
sluice-worker{{ if .index }}-{{ .pool.name }}{{ end }}
{{- end }}

{{/* The settings of every gateway, which its values may add to and change. */}}
{{- define "sluice.gatewaySettings" -}}
SLUICE_LISTEN: "0.0.0.0:8470"
SLUICE_DATABASE: "service=sluice"
PGSERVICEFILE: /etc/sluice/service.conf
{{- if .Values.endpointSlices }}
SLUICE_WORKERS: "kubernetes:sluice-worker:h2c"
{{- end }}
SLUICE_WORKERS_WANTED: {{ .Values.gateway.workersWanted | quote }}
SLUICE_WORKER_TOKEN_FILE: /etc/sluice/worker-token
SLUICE_PEPPER_FILE: /etc/sluice/pepper
SLUICE_DRAIN_DELAY: "{{ .Values.drainDelay }}s"
SLUICE_GRACE: "{{ .Values.grace }}s"
{{- end }}

{{/* The settings of every worker, which its values may add to and change. */}}
{{- define "sluice.workerSettings" -}}
SLUICE_LISTEN: "0.0.0.0:8471"
SLUICE_GATEWAY: "http://sluice-gateway-headless:8470"
SLUICE_TOKEN_FILE: /etc/sluice/worker-token
SLUICE_BLOB_FOLDER: /var/cache/sluice
SLUICE_BLOB_FOLDER_SIZE: {{ div (mul .Values.worker.blobs.gibibytes 4) 5 }}GiB
SLUICE_GRACE: "{{ .Values.grace }}s"
{{- end }}
