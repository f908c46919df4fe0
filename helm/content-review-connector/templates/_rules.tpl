{{/* The groups of files/alerts.yaml and of values, without disabled alerts, as YAML. Its {{ $labels }} are Prometheus's: not rendered. */}}
{{- define "crc.ruleGroups" -}}
{{- $rules := .Values.prometheusRule -}}
{{- $groups := list -}}
{{- range concat (dig "groups" list (.Files.Get "files/alerts.yaml" | fromYaml)) $rules.groups -}}
{{- $kept := list -}}
{{- range .rules -}}
{{- $rule := deepCopy . -}}
{{- if not (has (default "" $rule.alert) $rules.disabled) -}}
{{- if and $rule.alert $rules.ruleLabels -}}
{{- $_ := set $rule "labels" (mergeOverwrite (default dict $rule.labels) $rules.ruleLabels) -}}
{{- end -}}
{{- $kept = append $kept $rule -}}
{{- end -}}
{{- end -}}
{{- if $kept -}}{{- $groups = append $groups (merge (dict "rules" $kept) (omit . "rules")) -}}{{- end -}}
{{- end -}}
{{- toYaml $groups -}}
{{- end -}}
