{{/*
Settings shared with the connector by a pod that connects in its place: everything that affects its network access and identity.
*/}}
{{- define "crc.toolPod" -}}
restartPolicy: Never
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
serviceAccountName: {{ include "crc.serviceAccountName" . }}
automountServiceAccountToken: {{ .Values.serviceAccount.automountServiceAccountToken }}
enableServiceLinks: false
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
volumes:
  - {{ include "crc.configVolume" . | nindent 4 | trim }}
  {{- with .Values.extraVolumes }}
  {{- tpl (toYaml .) $ | nindent 2 }}
  {{- end }}
{{- range $part := list "runtimeClassName" "nodeSelector" "tolerations" "affinity" "hostAliases" "dnsConfig" }}
{{- with get $.Values $part }}
{{ $part }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A container with the connector's configuration, secrets and variables: dict "root" $ "name" … "args" (list …) "resources" {…}. */}}
{{- define "crc.toolContainer" -}}
{{- $ := .root -}}
name: {{ .name }}
image: {{ include "crc.image" $ | quote }}
imagePullPolicy: {{ $.Values.image.pullPolicy }}
args:
  {{- toYaml .args | nindent 2 }}
  - --config
  - /etc/content-review-connector/config.yaml
{{- with $.Values.env }}
env:
  {{- tpl (toYaml .) $ | nindent 2 }}
{{- end }}
{{- with $.Values.envFrom }}
envFrom:
  {{- tpl (toYaml .) $ | nindent 2 }}
{{- end }}
resources:
  {{- toYaml .resources | nindent 2 }}
securityContext:
  {{- toYaml $.Values.securityContext | nindent 2 }}
volumeMounts:
  - {{ include "crc.configMount" $ | nindent 4 | trim }}
  {{- with $.Values.extraVolumeMounts }}
  {{- tpl (toYaml .) $ | nindent 2 }}
  {{- end }}
{{- end -}}
