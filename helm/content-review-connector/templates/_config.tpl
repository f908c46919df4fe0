{{/*
Takes keys without a value out of a part of the configuration: to the connector they are not written. Changes it; prints nothing. Before
anything else in each template that looks into the configuration, as `dig` goes through mappings alone.
*/}}
{{- define "crc.dropEmptyKeys" -}}
{{- if kindIs "map" . -}}
{{- $map := . -}}
{{- range $key, $value := . -}}
{{- if kindIs "invalid" $value -}}{{- $_ := unset $map $key -}}{{- else -}}{{- include "crc.dropEmptyKeys" $value -}}{{- end -}}
{{- end -}}
{{- else if kindIs "slice" . -}}
{{- range . -}}{{- include "crc.dropEmptyKeys" . -}}{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The configuration as the connector gets it: `values.config`, with what only the chart knows. What `values.config` says goes first.
*/}}
{{- define "crc.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $http := merge (default dict $config.http) (dict "host" "0.0.0.0") -}}
{{- $_ := set $config "http" $http -}}
{{- range include "crc.secretMounts" . | fromYamlArray -}}
{{- if .option -}}
{{- include "crc.setOption" (dict "map" $config "path" (splitList "." .option) "value" .value) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.kafka.tls.existingSecret (not (hasKey (dig "kafka" "tls" dict $config) "enabled")) -}}
{{- include "crc.setOption" (dict "map" $config "path" (list "kafka" "tls" "enabled") "value" true) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{- define "crc.httpPort" -}}
{{- dig "http" "port" 9464 .Values.config | int -}}
{{- end -}}

{{/* Seconds from SIGTERM to SIGKILL. */}}
{{- define "crc.graceSeconds" -}}
{{- $timeout := include "crc.seconds" (dig "shutdown" "timeout" "5s" .Values.config) -}}
{{- if kindIs "invalid" .Values.terminationGracePeriodSeconds -}}
{{- add (default "0" $timeout | int64) 10 -}}
{{- else -}}
{{- .Values.terminationGracePeriodSeconds | int64 -}}
{{- end -}}
{{- end -}}

{{/* MiB that the container needs at least: docs/operations.md, Memory. */}}
{{- define "crc.neededMebibytes" -}}
{{- $budget := include "crc.mebibytes" (dig "memory" "budget" "64MiB" .Values.config) -}}
{{- addf 200.0 (mulf 1.5 (default "0" $budget | float64)) | ceil | int64 -}}
{{- end -}}

{{/* The same with items of up to 2 MB, without what the shards hold. */}}
{{- define "crc.neededMebibytesLarge" -}}
{{- $budget := include "crc.mebibytes" (dig "memory" "budget" "64MiB" .Values.config) -}}
{{- addf 200.0 (mulf 3.0 (default "0" $budget | float64)) | ceil | int64 -}}
{{- end -}}

{{/* The most replicas that have work, when every pipeline fixes its number of shards; empty otherwise. */}}
{{- define "crc.shards" -}}
{{- $shards := 0 -}}
{{- $known := true -}}
{{- range .Values.config.pipelines -}}
{{- $partitions := dig "journal" "partitions" "auto" . -}}
{{- if or (kindIs "string" $partitions) (kindIs "invalid" $partitions) -}}
{{- $known = false -}}
{{- else -}}
{{- $shards = max $shards (int $partitions) -}}
{{- end -}}
{{- end -}}
{{- if and $known (gt $shards 0) -}}{{- $shards -}}{{- end -}}
{{- end -}}

{{/* The brokers as one text with commas. */}}
{{- define "crc.brokers" -}}
{{- $brokers := dig "kafka" "brokers" "" .Values.config -}}
{{- if kindIs "slice" $brokers -}}{{- join "," $brokers -}}{{- else -}}{{- $brokers -}}{{- end -}}
{{- end -}}

{{/* The addresses of the registry as one text with commas; empty: there is none. So the next two. */}}
{{- define "crc.schemaRegistryAddresses" -}}
{{- $urls := dig "schemaRegistry" "urls" "" .Values.config -}}
{{- if kindIs "slice" $urls -}}{{- join "," $urls -}}{{- else -}}{{- $urls -}}{{- end -}}
{{- end -}}

{{/* Where the tokens for the brokers come from. */}}
{{- define "crc.tokenEndpointAddresses" -}}
{{- dig "kafka" "sasl" "oauth" "tokenEndpoint" "" .Values.config -}}
{{- end -}}

{{/* Where traces go: docs/tracing.md. */}}
{{- define "crc.tracesAddresses" -}}
{{- $addresses := list -}}
{{- range tpl (toYaml .Values.env) . | fromYamlArray -}}
{{- if has .name (list "OTEL_EXPORTER_OTLP_ENDPOINT" "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") -}}
{{- /* What comes from elsewhere is as little known here as a variable. */ -}}
{{- $addresses = append $addresses (default (ternary "${}" "" (hasKey . "valueFrom")) .value) -}}
{{- end -}}
{{- end -}}
{{- join "," $addresses -}}
{{- end -}}

{{/*
Every relative path of a file that the configuration names, one a line: a text anywhere in it that begins with secrets/ or files/.
*/}}
{{- define "crc.namedFiles" -}}
{{- if kindIs "map" . -}}
{{- range $key, $value := . }}{{ include "crc.namedFiles" $value }}{{ end -}}
{{- else if kindIs "slice" . -}}
{{- range . }}{{ include "crc.namedFiles" . }}{{ end -}}
{{- else if kindIs "string" . -}}
{{- range splitList "," . -}}
{{- if regexMatch "^\\s*(\\./)?(secrets|files)/." . }}{{ trim . | trimPrefix "./" }}{{ "\n" }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Every file that comes from a Secret: existingSecret, key, path below secrets/, and the option that names it with its value, where the
chart sets it. YAML.
*/}}
{{- define "crc.secretMounts" -}}
{{- $mounts := list -}}
{{- with .Values.apiKey -}}
{{- if .existingSecret -}}
{{- $mounts = append $mounts (dict "existingSecret" .existingSecret "key" .key "path" "api-key" "option" "service.apiKey" "value" (dict "file" "secrets/api-key")) -}}
{{- end -}}
{{- end -}}
{{- with .Values.kafka.sasl -}}
{{- if .existingSecret -}}
{{- if eq (dig "kafka" "sasl" "mechanism" "" $.Values.config) "oauthbearer" -}}
{{- $mounts = append $mounts (dict "existingSecret" .existingSecret "key" .clientSecretKey "path" "kafka-client-secret" "option" "kafka.sasl.oauth.clientSecret" "value" (dict "file" "secrets/kafka-client-secret")) -}}
{{- else -}}
{{- $mounts = append $mounts (dict "existingSecret" .existingSecret "key" .passwordKey "path" "kafka-password" "option" "kafka.sasl.password" "value" (dict "file" "secrets/kafka-password")) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.kafka.tls -}}
{{- if .existingSecret -}}
{{- if .caKey -}}
{{- $mounts = append $mounts (dict "existingSecret" .existingSecret "key" .caKey "path" "kafka-ca.crt" "option" "kafka.tls.ca" "value" (list "secrets/kafka-ca.crt")) -}}
{{- end -}}
{{- if .certificateKey -}}
{{- $mounts = append $mounts (dict "existingSecret" .existingSecret "key" .certificateKey "path" "kafka-client.crt" "option" "kafka.tls.certificate" "value" "secrets/kafka-client.crt") -}}
{{- $mounts = append $mounts (dict "existingSecret" .existingSecret "key" .privateKeyKey "path" "kafka-client.key" "option" "kafka.tls.key" "value" "secrets/kafka-client.key") -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.schemaRegistry -}}
{{- if .existingSecret -}}
{{- if dig "schemaRegistry" "username" "" $.Values.config -}}
{{- $mounts = append $mounts (dict "existingSecret" .existingSecret "key" .passwordKey "path" "registry-password" "option" "schemaRegistry.password" "value" (dict "file" "secrets/registry-password")) -}}
{{- else if .tokenKey -}}
{{- $mounts = append $mounts (dict "existingSecret" .existingSecret "key" .tokenKey "path" "registry-token" "option" "schemaRegistry.token" "value" (dict "file" "secrets/registry-token")) -}}
{{- end -}}
{{- if .caKey -}}
{{- $mounts = append $mounts (dict "existingSecret" .existingSecret "key" .caKey "path" "registry-ca.crt" "option" "schemaRegistry.ca" "value" (list "secrets/registry-ca.crt")) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml (concat $mounts .Values.secretFiles) -}}
{{- end -}}

{{/* Sets an option that is not written: dict "map" {…} "path" (list "kafka" "tls" "ca") "value" …. Changes the map; prints nothing. */}}
{{- define "crc.setOption" -}}
{{- $name := first .path -}}
{{- if eq (len .path) 1 -}}
{{- if not (hasKey .map $name) -}}{{- $_ := set .map $name .value -}}{{- end -}}
{{- else -}}
{{- if not (get .map $name) -}}{{- $_ := set .map $name dict -}}{{- end -}}
{{- include "crc.setOption" (dict "map" (get .map $name) "path" (rest .path) "value" .value) -}}
{{- end -}}
{{- end -}}

{{/* Every path that is mounted beside the configuration, one a line. */}}
{{- define "crc.mountedFiles" -}}
{{- range include "crc.secretMounts" . | fromYamlArray }}{{ printf "secrets/%s\n" .path }}{{ end -}}
{{- range .Values.configFiles }}{{ printf "files/%s\n" .path }}{{ end -}}
{{- end -}}

{{/*
One projected volume holds the configuration and the files that it names by relative paths: they change together, and the same
configuration works wherever its directory is.
*/}}
{{- define "crc.configVolume" -}}
name: config
projected:
  # The group may read it, nobody else.
  defaultMode: 0440
  sources:
    - configMap:
        name: {{ include "crc.fullname" . }}
        items:
          - {key: config.yaml, path: config.yaml}
    {{- range include "crc.secretMounts" . | fromYamlArray }}
    - secret:
        name: {{ .existingSecret }}
        items:
          - key: {{ .key }}
            path: secrets/{{ .path }}
    {{- end }}
    {{- range .Values.configFiles }}
    - configMap:
        name: {{ .configMap }}
        items:
          - key: {{ .key }}
            path: files/{{ .path }}
    {{- end }}
{{- end -}}

{{- define "crc.configMount" -}}
name: config
mountPath: /etc/content-review-connector
readOnly: true
{{- end -}}
