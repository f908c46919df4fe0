{{/*
Checks beyond the schema: inconsistent values. Every problem is reported at once, with its remedy.
*/}}
{{- define "crc.checks" -}}
{{- $problems := list -}}
{{- $config := .Values.config -}}

{{- if not (include "crc.brokers" .) -}}
{{- $problems = append $problems "config.kafka.brokers is missing: a list of host:port, or one string with commas" -}}
{{- end -}}
{{- $isOnlyNamed := and $config.services (not $config.service) -}}
{{- if not (or $isOnlyNamed (dig "service" "baseUrl" "" $config)) -}}
{{- $problems = append $problems "config.service.baseUrl is missing: the address of the Content Review Service" -}}
{{- end -}}
{{- if not $config.pipelines -}}
{{- $problems = append $problems "config.pipelines is missing: at least one, with name and source.topic" -}}
{{- end -}}

{{- $apiKey := dig "service" "apiKey" "" $config -}}
{{- if $isOnlyNamed -}}
{{- if .Values.apiKey.existingSecret -}}
{{- $problems = append $problems "apiKey.existingSecret is for config.service, which is missing: mount the keys of config.services with secretFiles" -}}
{{- end -}}
{{- else if and (not $apiKey) (not .Values.apiKey.existingSecret) -}}
{{- $problems = append $problems "apiKey.existingSecret is missing: a Secret with the API key of the service (kubectl create secret generic content-review --from-literal=api-key=…)" -}}
{{- else if and $apiKey .Values.apiKey.existingSecret -}}
{{- $problems = append $problems "both config.service.apiKey and apiKey.existingSecret are set: remove one of them" -}}
{{- end -}}
{{- range $path := splitList "\n" (include "crc.plainSecrets" (dict "value" $config "path" "config") | trim) -}}
{{- if $path -}}
{{- $problems = append $problems (printf "%s contains a secret in plain text, which would be stored in a ConfigMap: mount it with secretFiles and write {file: secrets/…}" $path) -}}
{{- end -}}
{{- end -}}

{{- if and .Values.kafka.sasl.existingSecret (has (dig "kafka" "sasl" "mechanism" "none" $config) (list "none" "aws-msk-iam")) -}}
{{- $problems = append $problems (printf "kafka.sasl.existingSecret is set, but config.kafka.sasl.mechanism is %s: write plain, scram-sha-256, scram-sha-512 or oauthbearer" (dig "kafka" "sasl" "mechanism" "none" $config)) -}}
{{- end -}}
{{- with .Values.kafka.tls -}}
{{- if and .existingSecret (ne (empty .certificateKey) (empty .privateKeyKey)) -}}
{{- $problems = append $problems "kafka.tls.certificateKey and kafka.tls.privateKeyKey go together: set both, or neither" -}}
{{- end -}}
{{- end -}}

{{- $mounted := splitList "\n" (include "crc.mountedFiles" . | trim) -}}
{{- range $file := splitList "\n" (include "crc.namedFiles" $config | trim) | uniq -}}
{{- if and $file (not (has $file $mounted)) -}}
{{- $problems = append $problems (printf "the configuration refers to %s, which is not mounted: add it to %s with path %s" $file (ternary "secretFiles" "configFiles" (hasPrefix "secrets/" $file)) (regexReplaceAll "^[a-z]+/" $file "" | quote)) -}}
{{- end -}}
{{- end -}}
{{- range $file := $mounted | uniq -}}
{{- $times := 0 -}}
{{- range $mounted -}}{{- if eq . $file -}}{{- $times = add1 $times -}}{{- end -}}{{- end -}}
{{- if gt (int $times) 1 -}}
{{- $problems = append $problems (printf "two entries of secretFiles or configFiles have the path %s" ($file | quote)) -}}
{{- end -}}
{{- end -}}

{{- $port := dig "http" "port" 9464 $config -}}
{{- if or (kindIs "string" $port) (lt (int $port) 1) -}}
{{- $problems = append $problems (printf "config.http.port is %v: write a number from 1 to 65535, as the probes and the Service need it too" $port) -}}
{{- end -}}
{{- $host := dig "http" "host" "0.0.0.0" $config -}}
{{- if has $host (list "127.0.0.1" "localhost" "::1") -}}
{{- $problems = append $problems (printf "config.http.host is %s: the port would be unreachable from outside the container, even for the probes; omit it, or write 0.0.0.0 or ::" $host) -}}
{{- end -}}

{{- $timeout := dig "shutdown" "timeout" "5s" $config -}}
{{- $seconds := include "crc.seconds" $timeout -}}
{{- $grace := .Values.terminationGracePeriodSeconds -}}
{{- if not $seconds -}}
{{- if kindIs "invalid" $grace -}}
{{- $problems = append $problems (printf "config.shutdown.timeout is %v: write a duration such as 5s, or set terminationGracePeriodSeconds" $timeout) -}}
{{- end -}}
{{- else if and (not (kindIs "invalid" $grace)) (lt (int64 $grace) (add (int64 $seconds) 5)) -}}
{{- $problems = append $problems (printf "terminationGracePeriodSeconds is %d, but config.shutdown.timeout is %v: the process would be killed during its shutdown; write at least %d, or null" (int64 $grace) $timeout (add (int64 $seconds) 5)) -}}
{{- end -}}

{{- $budget := dig "memory" "budget" "64MiB" $config -}}
{{- $limit := dig "limits" "memory" "" .Values.resources -}}
{{- if $limit -}}
{{- $limitMebibytes := include "crc.quantityMebibytes" $limit -}}
{{- if not $limitMebibytes -}}
{{- $problems = append $problems (printf "resources.limits.memory is %v: write a quantity such as 512Mi" $limit) -}}
{{- else if and (include "crc.mebibytes" $budget) (lt (float64 $limitMebibytes) (include "crc.neededMebibytes" . | float64)) -}}
{{- $problems = append $problems (printf "resources.limits.memory is %v, but config.memory.budget is %v: at least %sMi are needed (200 MiB + 1.5 × budget), and %sMi with items of up to 2 MB" $limit $budget (include "crc.neededMebibytes" .) (include "crc.neededMebibytesLarge" .)) -}}
{{- end -}}
{{- end -}}

{{- if and .Values.autoscaling.enabled .Values.keda.enabled -}}
{{- $problems = append $problems "autoscaling.enabled and keda.enabled are both true: both would scale the same Deployment; disable one of them" -}}
{{- end -}}
{{- $shards := include "crc.shards" . -}}
{{- range $name := list "autoscaling" "keda" -}}
{{- $scaler := get $.Values $name -}}
{{- if $scaler.enabled -}}
{{- if lt (int $scaler.maxReplicas) (int $scaler.minReplicas) -}}
{{- $problems = append $problems (printf "%s.maxReplicas is %d, less than minReplicas, %d" $name (int $scaler.maxReplicas) (int $scaler.minReplicas)) -}}
{{- end -}}
{{- if and $shards (gt (int $scaler.maxReplicas) (int $shards)) -}}
{{- $problems = append $problems (printf "%s.maxReplicas is %d, but no pipeline has more than %s shards (journal.partitions): replicas beyond that are idle" $name (int $scaler.maxReplicas) $shards) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.autoscaling -}}
{{- if and .enabled (kindIs "invalid" .targetCPUUtilizationPercentage) (kindIs "invalid" .targetLagPerReplica) (not .metrics) -}}
{{- $problems = append $problems "autoscaling is enabled without a metric: set targetCPUUtilizationPercentage, targetLagPerReplica or metrics" -}}
{{- end -}}
{{- end -}}
{{- with .Values.keda -}}
{{- if .enabled -}}
{{- if and (not .kafkaLag.enabled) (not .eventAge.enabled) (not .triggers) -}}
{{- $problems = append $problems "keda is enabled without a trigger: enable kafkaLag or eventAge, or write triggers" -}}
{{- end -}}
{{- if and .kafkaLag.enabled (not .kafkaLag.bootstrapServers) (contains "${" (include "crc.brokers" $)) -}}
{{- $problems = append $problems "config.kafka.brokers comes from a variable, which KEDA cannot see: set keda.kafkaLag.bootstrapServers" -}}
{{- end -}}
{{- if and .eventAge.enabled (not .eventAge.serverAddress) -}}
{{- $problems = append $problems "keda.eventAge.serverAddress is missing: the address of a Prometheus" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- with .Values.networkPolicy -}}
{{- if and .enabled .egress.enabled -}}
{{- if and (not .egress.kafka.ports) (contains "${" (include "crc.brokers" $)) -}}
{{- $problems = append $problems "config.kafka.brokers comes from a variable: set networkPolicy.egress.kafka.ports" -}}
{{- end -}}
{{- $egress := .egress -}}
{{- range $name, $option := dict "schemaRegistry" "config.schemaRegistry.urls" "tokenEndpoint" "config.kafka.sasl.oauth.tokenEndpoint" "traces" "config.metrics.otlp or OTEL_EXPORTER_OTLP_ENDPOINT" -}}
{{- if and (not (get $egress $name).ports) (regexMatch "[$]{|[$][(][^)]*[)](/|,|$)" (include (printf "crc.%sAddresses" $name) $)) -}}
{{- $problems = append $problems (printf "%s comes from a variable: set networkPolicy.egress.%s.ports" $option $name) -}}
{{- end -}}
{{- end -}}
{{- if and (not .egress.service.ports) (contains "${" (include "crc.serviceAddresses" $)) -}}
{{- $problems = append $problems "config.service.baseUrl or a baseUrl in config.services comes from a variable: set networkPolicy.egress.service.ports" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- if and .Values.monitor.enabled (eq .Values.monitor.kind "ServiceMonitor") (not .Values.service.enabled) -}}
{{- $problems = append $problems "monitor.kind is ServiceMonitor, but service.enabled is false: enable the Service, or use a PodMonitor" -}}
{{- end -}}
{{- if and .Values.prometheusRule.enabled (not (include "crc.ruleGroups" . | fromYamlArray)) -}}
{{- $problems = append $problems "prometheusRule.enabled is true, but there are no alerts: this chart has no files/alerts.yaml; write prometheusRule.groups" -}}
{{- end -}}
{{- if .Values.prometheusRule.enabled -}}
{{- range $matcher := splitList "\n" (include "crc.ungroupedMatchers" .Values.prometheusRule.selector | trim) -}}
{{- if and $matcher (not (regexMatch "^\\w+=\"" $matcher)) -}}
{{- $problems = append $problems (printf "prometheusRule.selector has %s: labels other than namespace, job and pipeline need the form name=\"value\", because they are added to recorded series; use that form, or select by namespace, job or pipeline" $matcher) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.dashboards.enabled (not (.Files.Glob "files/dashboards/*.json")) -}}
{{- $problems = append $problems "dashboards.enabled is true, but this chart has no files/dashboards/*.json" -}}
{{- end -}}

{{- if $problems -}}
{{- fail (printf "\n\nThese values are inconsistent (docs/kubernetes.md):\n  - %s\n" (join "\n  - " $problems)) -}}
{{- end -}}
{{- end -}}

{{/* Paths of options that are secrets by their name and hold a literal text, one per line. */}}
{{- define "crc.plainSecrets" -}}
{{- $path := .path -}}
{{- if kindIs "map" .value -}}
{{- range $key, $value := .value -}}
{{- if and (kindIs "string" $value) (regexMatch "^(apiKey|password|token|clientAssertion|credentials|secret|clientSecret|passphrase|secretAccessKey|sessionToken)$" $key) (not (contains "${" $value)) }}{{ printf "%s.%s\n" $path $key }}
{{- else }}{{ include "crc.plainSecrets" (dict "value" $value "path" (printf "%s.%s" $path $key)) }}
{{- end -}}
{{- end -}}
{{- else if kindIs "slice" .value -}}
{{- range $index, $value := .value }}{{ include "crc.plainSecrets" (dict "value" $value "path" (printf "%s[%d]" $path $index)) }}{{ end -}}
{{- end -}}
{{- end -}}
