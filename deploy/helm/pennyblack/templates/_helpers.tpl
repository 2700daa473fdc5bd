{{- define "pennyblack.labels" -}}
app.kubernetes.io/name: pennyblack
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "pennyblack.selectorLabels" -}}
app.kubernetes.io/name: pennyblack
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "pennyblack.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "pennyblack.imagePullSecrets" -}}
{{- if .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml .Values.image.pullSecrets | nindent 2 }}
{{- end }}
{{- end }}

{{- define "pennyblack.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop:
    - ALL
{{- end }}

{{- define "pennyblack.probes" -}}
startupProbe:
  httpGet:
    path: /livez
    port: ops
  periodSeconds: 2
  failureThreshold: 30
livenessProbe:
  httpGet:
    path: /livez
    port: ops
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet:
    path: /readyz
    port: ops
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 1
{{- end }}
