{{/*
Groups of files/alerts.yaml and of values, without disabled alerts, as YAML. {{ $labels }} in them belongs to Prometheus and is not rendered.
Groups of the file select this release only, and link to the runbook; those of values are unchanged.
*/}}
{{- define "crc.ruleGroups" -}}
{{- $rules := .Values.prometheusRule -}}
{{- $selector := include "crc.ruleSelector" . -}}
{{- $recorded := include "crc.recordedLabels" $selector | fromYaml -}}
{{- $own := dig "groups" list (.Files.Get "files/alerts.yaml" | fromYaml) -}}
{{- $groups := list -}}
{{- range $index, $group := concat $own $rules.groups -}}
{{- $kept := list -}}
{{- range $group.rules -}}
{{- $rule := deepCopy . -}}
{{- if not (has (default "" $rule.alert) $rules.disabled) -}}
{{- if lt $index (len $own) -}}
{{- $_ := set $rule "expr" (include "crc.scoped" (dict "expr" $rule.expr "selector" $selector)) -}}
{{- if and $rule.record $recorded -}}{{- $_ := set $rule "labels" $recorded -}}{{- end -}}
{{- if and $rule.alert $rules.runbookBaseUrl -}}
{{- $_ := set $rule.annotations "runbook_url" (printf "%s/%s" (trimSuffix "/" $rules.runbookBaseUrl) (base $rule.annotations.runbook_url)) -}}
{{- end -}}
{{- end -}}
{{- if and $rule.alert $rules.ruleLabels -}}
{{- $_ := set $rule "labels" (mergeOverwrite (default dict $rule.labels) $rules.ruleLabels) -}}
{{- end -}}
{{- $kept = append $kept $rule -}}
{{- end -}}
{{- end -}}
{{- if $kept -}}{{- $groups = append $groups (merge (dict "rules" $kept) (omit $group "rules")) -}}{{- end -}}
{{- end -}}
{{- toYaml $groups -}}
{{- end -}}

{{/* Matchers for the series of this release. The operator sets `job`: namespace/name of a PodMonitor, the Service's name for a ServiceMonitor. */}}
{{- define "crc.ruleSelector" -}}
{{- $name := include "crc.fullname" . -}}
{{- if .Values.prometheusRule.selector -}}
{{- .Values.prometheusRule.selector -}}
{{- else if .Values.monitor.enabled -}}
{{- $job := ternary (printf "%s/%s" .Release.Namespace $name) $name (eq .Values.monitor.kind "PodMonitor") -}}
{{- printf "namespace=%q,job=%q" .Release.Namespace $job -}}
{{- end -}}
{{- end -}}

{{/* Matchers of a selector on labels that recorded series lack, because the rules do not group by them. One per line. */}}
{{- define "crc.ungroupedMatchers" -}}
{{- range regexFindAll "\\w+(=~|!~|!=|=)\"([^\"\\\\]|\\\\.)*\"" . -1 -}}
{{- if not (regexMatch "^(namespace|job|pipeline)\\W" .) }}{{ . }}
{{ end -}}
{{- end -}}
{{- end -}}

{{/* Labels of a selector that are added to recorded series, as YAML, because alerts select by them too. Prometheus and YAML quote in the same way. */}}
{{- define "crc.recordedLabels" -}}
{{- range $matcher := splitList "\n" (include "crc.ungroupedMatchers" . | trim) -}}
{{- if regexMatch "^\\w+=\"" $matcher }}{{ regexReplaceAll "^(\\w+)=" $matcher "\"${1}\": " }}
{{ end -}}
{{- end -}}
{{- end -}}

{{/*
`expr` with `selector` added to each metric, including recorded series: first to metrics with matchers, then to metrics without. Applied last,
because names of namespaces and releases may look like metrics.
*/}}
{{- define "crc.scoped" -}}
{{- if .selector -}}
{{- $metric := "\\b(up|(?:content_review|nodejs|process)[_:][\\w:]+)" -}}
{{- $marked := regexReplaceAll (printf "%s\\{" $metric) .expr "${1}{@@," -}}
{{- regexReplaceAll (printf "%s([^\\w:{]|$)" $metric) $marked "${1}{@@}${2}" | replace "@@" .selector -}}
{{- else -}}
{{- .expr -}}
{{- end -}}
{{- end -}}
