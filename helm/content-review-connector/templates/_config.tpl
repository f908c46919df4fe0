{{/*
Removes keys without a value from a part of the configuration: the connector treats them as absent. Changes it in place, and prints nothing. Called
first in each template that reads the configuration, because `dig` supports mappings only.
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
Configuration of the connector: `values.config`, with defaults that only the chart knows. `values.config` takes precedence.
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

{{/* Minimum memory of the container in MiB: docs/operating.md, Memory. */}}
{{- define "crc.neededMebibytes" -}}
{{- $budget := include "crc.mebibytes" (dig "memory" "budget" "64MiB" .Values.config) -}}
{{- addf 200.0 (mulf 1.5 (default "0" $budget | float64)) | ceil | int64 -}}
{{- end -}}

{{/* Minimum memory in MiB with items of up to 2 MB, without the largest records of the shards. */}}
{{- define "crc.neededMebibytesLarge" -}}
{{- $budget := include "crc.mebibytes" (dig "memory" "budget" "64MiB" .Values.config) -}}
{{- addf 200.0 (mulf 3.0 (default "0" $budget | float64)) | ceil | int64 -}}
{{- end -}}

{{/* Maximum number of replicas with work, if every pipeline sets its number of shards; otherwise empty. */}}
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

{{/* Brokers, separated by commas. */}}
{{- define "crc.brokers" -}}
{{- $brokers := dig "kafka" "brokers" "" .Values.config -}}
{{- if kindIs "slice" $brokers -}}{{- join "," $brokers -}}{{- else -}}{{- $brokers -}}{{- end -}}
{{- end -}}

{{/* Base addresses of all services, separated by commas. */}}
{{- define "crc.serviceAddresses" -}}
{{- $addresses := list (dig "service" "baseUrl" "" .Values.config) -}}
{{- range .Values.config.services }}{{- $addresses = append $addresses .baseUrl -}}{{- end -}}
{{- join "," (compact $addresses) -}}
{{- end -}}

{{/* Addresses of the registry, separated by commas; empty if there are none. The next two templates work in the same way. */}}
{{- define "crc.schemaRegistryAddresses" -}}
{{- $urls := dig "schemaRegistry" "urls" "" .Values.config -}}
{{- if kindIs "slice" $urls -}}{{- join "," $urls -}}{{- else -}}{{- $urls -}}{{- end -}}
{{- end -}}

{{/* Endpoint of the tokens for the brokers. */}}
{{- define "crc.tokenEndpointAddresses" -}}
{{- dig "kafka" "sasl" "oauth" "tokenEndpoint" "" .Values.config -}}
{{- end -}}

{{/* Addresses of the collector of traces and metrics: docs/tracing.md, docs/endpoints.md. */}}
{{- define "crc.tracesAddresses" -}}
{{- $addresses := list (dig "metrics" "otlp" "" .Values.config) -}}
{{- range tpl (toYaml .Values.env) . | fromYamlArray -}}
{{- if has .name (list "OTEL_EXPORTER_OTLP_ENDPOINT" "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") -}}
{{- /* A value from another source (`valueFrom`) is unknown here, and treated like a variable. */ -}}
{{- $addresses = append $addresses (default (ternary "${}" "" (hasKey . "valueFrom")) .value) -}}
{{- end -}}
{{- end -}}
{{- join "," (compact $addresses) -}}
{{- end -}}

{{/*
Every relative path of a file in the configuration, one per line: any text in it that begins with secrets/ or files/.
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
Every file from a Secret, as YAML: existingSecret, key, path below secrets/, and, if the chart sets it, the option that refers to it, with
its value.
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

{{/* Sets an option that is absent: dict "map" {…} "path" (list "kafka" "tls" "ca") "value" …. Changes the map; prints nothing. */}}
{{- define "crc.setOption" -}}
{{- $name := first .path -}}
{{- if eq (len .path) 1 -}}
{{- if not (hasKey .map $name) -}}{{- $_ := set .map $name .value -}}{{- end -}}
{{- else -}}
{{- if not (get .map $name) -}}{{- $_ := set .map $name dict -}}{{- end -}}
{{- include "crc.setOption" (dict "map" (get .map $name) "path" (rest .path) "value" .value) -}}
{{- end -}}
{{- end -}}

{{/* Every path that is mounted next to the configuration, one per line. */}}
{{- define "crc.mountedFiles" -}}
{{- range include "crc.secretMounts" . | fromYamlArray }}{{ printf "secrets/%s\n" .path }}{{ end -}}
{{- range .Values.configFiles }}{{ printf "files/%s\n" .path }}{{ end -}}
{{- end -}}

{{/*
One projected volume with the configuration and the files to which it refers by relative paths: they change together, and the same
configuration works in any directory.
*/}}
{{- define "crc.configVolume" -}}
name: config
projected:
  # Readable by the group only.
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
