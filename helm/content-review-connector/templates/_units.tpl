{{/* Seconds of a duration in the configuration ("90s", "1.5m"), rounded up; empty if it is invalid. */}}
{{- define "crc.seconds" -}}
{{- $text := toString . | trim -}}
{{- if regexMatch "^[0-9]+(\\.[0-9]+)? *(ms|s|m|h|d)$" $text -}}
{{- $unit := regexFind "[a-z]+$" $text -}}
{{- $factor := get (dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0 "d" 86400.0) $unit -}}
{{- mulf (regexFind "^[0-9.]+" $text | float64) $factor | ceil | int64 -}}
{{- end -}}
{{- end -}}

{{/* MiB, with a fraction, of a size in the configuration ("64MiB"); empty if it is invalid. */}}
{{- define "crc.mebibytes" -}}
{{- $text := toString . | trim -}}
{{- if regexMatch "^[0-9]+(\\.[0-9]+)? *(B|KiB|MiB|GiB)$" $text -}}
{{- $unit := regexFind "[A-Za-z]+$" $text -}}
{{- $factor := get (dict "B" 1.0 "KiB" 1024.0 "MiB" 1048576.0 "GiB" 1073741824.0) $unit -}}
{{- divf (mulf (regexFind "^[0-9.]+" $text | float64) $factor) 1048576.0 -}}
{{- end -}}
{{- end -}}

{{/* MiB, with a fraction, of a Kubernetes quantity ("512Mi", "1G", 536870912); empty if it is invalid. */}}
{{- define "crc.quantityMebibytes" -}}
{{- $text := ternary (. | toString) (. | int64 | toString) (kindIs "string" .) -}}
{{- if regexMatch "^[0-9]+(\\.[0-9]+)?([kMGT]|[KMGT]i)?$" $text -}}
{{- $unit := regexFind "[A-Za-z]*$" $text -}}
{{- $factors := dict "" 1.0 "k" 1000.0 "M" 1000000.0 "G" 1000000000.0 "T" 1000000000000.0 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 -}}
{{- divf (mulf (regexFind "^[0-9.]+" $text | float64) (get $factors $unit)) 1048576.0 -}}
{{- end -}}
{{- end -}}
