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

{{- define "pennyblack.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag }}{{ end }}
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

{{- /* The argument is .Values.server or .Values.worker. */}}
{{- define "pennyblack.scheduling" -}}
{{- if .priorityClassName }}
priorityClassName: {{ .priorityClassName }}
{{- end }}
{{- if .nodeSelector }}
nodeSelector:
  {{- toYaml .nodeSelector | nindent 2 }}
{{- end }}
{{- if .tolerations }}
tolerations:
  {{- toYaml .tolerations | nindent 2 }}
{{- end }}
{{- if .affinity }}
affinity:
  {{- toYaml .affinity | nindent 2 }}
{{- end }}
{{- end }}

{{- define "pennyblack.extraEnv" -}}
{{- if .extraEnv }}
env:
  {{- toYaml .extraEnv | nindent 2 }}
{{- end }}
{{- end }}

{{- define "pennyblack.volumeMounts" -}}
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- if .volumeMounts }}
  {{- toYaml .volumeMounts | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "pennyblack.volumes" -}}
volumes:
  - name: tmp
    emptyDir:
      sizeLimit: {{ .tmpSizeLimit }}
  {{- if .volumes }}
  {{- toYaml .volumes | nindent 2 }}
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
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 3
{{- end }}
