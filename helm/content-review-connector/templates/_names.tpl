{{- define "crc.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 52 characters, so that suffixes (-dashboard-…, -test) still fit into a name. */}}
{{- define "crc.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := printf "%s-%s" .Release.Name $name -}}
{{- if contains $name .Release.Name -}}{{- $full = .Release.Name -}}{{- end -}}
{{- default $full .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "crc.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "crc.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "crc.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Constant for the life of a release, because a Deployment's selector is immutable. */}}
{{- define "crc.selectorLabels" -}}
app.kubernetes.io/name: {{ include "crc.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Label that distinguishes the workers from the pods of `helm test`. */}}
{{- define "crc.workerLabels" -}}
{{ include "crc.selectorLabels" . }}
app.kubernetes.io/component: connector
{{- end -}}

{{- define "crc.labels" -}}
{{- $own := dict "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- $own = set $own "app.kubernetes.io/version" (.Chart.AppVersion | trunc 63) -}}
{{- $own = set $own "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $own = merge $own (fromYaml (include "crc.selectorLabels" .)) -}}
{{- toYaml (merge $own .Values.commonLabels) -}}
{{- end -}}

{{/* `metadata` of a resource: dict "root" $ "suffix" "-test" "labels" {…} "annotations" {…} "namespace" "". */}}
{{- define "crc.metadata" -}}
{{- $root := .root -}}
name: {{ include "crc.fullname" $root }}{{ .suffix }}
namespace: {{ default $root.Release.Namespace .namespace }}
labels:
  {{- toYaml (merge (fromYaml (include "crc.labels" $root)) (default dict .labels)) | nindent 2 }}
{{- with merge (dict) (default dict .annotations) $root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
