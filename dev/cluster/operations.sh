#!/usr/bin/env bash
# Operates the connector on the cluster, step by step, while a producer writes. Runs in namespaces of rehearse.sh.
set -euo pipefail
cd "$REPOSITORY"
# shellcheck source=dev/cluster/step.sh
. dev/cluster/step.sh

export KUBECONFIG=$STATE/kubeconfig.yaml
CHART=(posts helm/content-review-connector --namespace review --values dev/cluster/config/values.yaml)
PODS=(--selector app.kubernetes.io/component=connector)
SETTINGS=$STATE/settings/config.yaml
BROKER=10.88.0.1:9092

in_review() { kubectl --namespace review "$@"; }

# The bridge connects pods, broker and sandbox. No other interface leads out of the namespace.
make_network() {
  ip link set lo up
  ip link add rehearsal0 type bridge
  ip address add 10.88.0.1/16 dev rehearsal0
  ip link set rehearsal0 up
  sysctl --quiet --write net.ipv4.ip_forward=1
  # Container runtimes and kubelets write to these directories, regardless of their configuration.
  mount -t tmpfs tmpfs /run
  mount -t tmpfs tmpfs /var/log
}

start_services() {
  configuration kafka.properties >"$STATE/kafka.properties"
  java -cp "$STATE/jars/*" kafka.tools.StorageTool format --cluster-id 5L6g3nShT-eMCtK--X86sw --config "$STATE/kafka.properties"
  background kafka java -Xmx512m -cp "$STATE/jars/*" kafka.Kafka "$STATE/kafka.properties"
  SANDBOX_API_KEYS=sandbox-key background sandbox node src/cli/main.ts sandbox \
    --host 10.88.0.1 --port 8090 --policy config/sandbox-policy.yaml
  until_succeeds bash -c ': </dev/tcp/10.88.0.1/9092 && : </dev/tcp/10.88.0.1/8090'
}

# Creates the topics with the chart's own configuration, from outside the cluster.
create_topics() {
  mkdir -p "$STATE/settings/secrets"
  printf sandbox-key >"$STATE/settings/secrets/api-key"
  helm template "${CHART[@]}" --show-only templates/configmap.yaml |
    kubectl create --dry-run=client --filename - --output 'jsonpath={.data.config\.yaml}' >"$SETTINGS"
  # The coordinators of a new broker are not ready immediately.
  until_succeeds node src/cli/main.ts topics create --config "$SETTINGS" --yes
}

install_chart() { helm install "${CHART[@]}" --wait --timeout 3m; }

install_first() {
  kubectl create namespace review
  kubectl label namespace review pod-security.kubernetes.io/enforce=restricted
  in_review create secret generic content-review --from-literal=api-key=sandbox-key
  # Records the exit codes of all containers, including the ones of deleted pods.
  background exits kubectl --namespace review get pods "${PODS[@]}" --watch \
    --output 'jsonpath={.metadata.name} {.status.containerStatuses[*].state.terminated.exitCode} {.status.containerStatuses[*].lastState.terminated.exitCode}{"\n"}'
  install_chart
  # Resolves the name of the Service, in place of a DNS server that watches the cluster.
  in_review get services >"$STATE/hosts" --output \
    'jsonpath={range .items[*]}{.spec.clusterIP} {.metadata.name}.review.svc.cluster.local{"\n"}{end}'
  background dnsmasq dnsmasq --keep-in-foreground --listen-address 10.88.0.1 --bind-interfaces --user=root --pid-file= \
    --no-resolv --no-hosts --addn-hosts "$STATE/hosts" --local /cluster.local/
}

# Writes about 100 events a second until the file $STATE/stop exists.
produce() {
  local number=0
  while [ ! -e "$STATE/stop" ]; do
    for _ in {1..10}; do
      number=$((number + 1))
      echo "{\"type\":\"comment\",\"content\":\"Event $number of the rehearsal\",\"metadata\":{\"number\":$number}}"
    done
    sleep 0.1
  done | node dev/topic/produce.ts posts --brokers "$BROKER" >"$STATE/sent"
}

# Runs a command as a step. The step ends when the Deployment is complete and any pause of the partitions must have ended.
disturb() { step "$1" settled_after "${@:2}"; }

settled_after() { # COMMAND…
  "$@"
  in_review rollout status deployment/posts-content-review-connector --timeout 5m
  sleep 15
}

kill_process() {
  local pod node container process
  read -r pod node container < <(in_review get pods "${PODS[@]}" --output \
    'jsonpath={.items[0].metadata.name} {.items[0].spec.nodeName} {.items[0].status.containerStatuses[0].containerID}{"\n"}')
  process=$(ctr --address "$STATE/$node/containerd.sock" --namespace k8s.io tasks list |
    awk -v container="${container#containerd://}" '$1 == container { print $2 }')
  kill -KILL "$process"
  in_review wait "pod/$pod" --for='jsonpath={.status.containerStatuses[0].restartCount}=1' --timeout 2m
  in_review wait "pod/$pod" --for=condition=Ready --timeout 2m
}

delete_pod() {
  in_review delete --force --grace-period 0 "$(in_review get pods "${PODS[@]}" --output name | head -n 1)"
}

drain() { # NODE
  kubectl drain "$1" --delete-emptydir-data --timeout 5m 2>&1 | tee "$STATE/drained"
  kubectl uncordon "$1"
}

# The node has both pods after the other was drained, so the disruption budget must defer the second eviction.
drain_both_pods() { # NODE
  drain "$1"
  grep --quiet 'disruption budget' "$STATE/drained"
}

uninstall() {
  helm uninstall posts --namespace review --wait --timeout 3m
  in_review wait pod --for=delete "${PODS[@]}" --timeout 2m
}

stop_producer() {
  touch "$STATE/stop"
  tail --pid "$producer" --follow /dev/null
  until_succeeds everything_settled
}

everything_settled() {
  node src/cli/main.ts audit --config "$SETTINGS" --json >"$STATE/audit.json"
  node --eval "const { waiting, live } = JSON.parse(fs.readFileSync('$STATE/audit.json')).totals; process.exit(waiting || live ? 1 : 0)"
}

# Checks that only the killed process has exited with 137 (128 + 9), and all others with 0 after SIGTERM.
judge_exits() {
  awk '{ for (field = 2; field <= NF; field++) print $1, $field }' "$STATE/log/exits.log" | sort -u | tee "$STATE/exits"
  [ "$(awk '$2 != 0 { print $2 }' "$STATE/exits")" = 137 ]
}

step 'network' make_network
step 'Kafka and sandbox outside the cluster' start_services
step 'cluster with two nodes' dev/cluster/nodes.sh
step 'topics' create_topics
step 'chart installed with two replicas' install_first
produce &
producer=$!
step 'undisturbed for 20 s' sleep 20
disturb 'rolling restart' in_review rollout restart deployment/posts-content-review-connector
disturb 'process killed with SIGKILL' kill_process
disturb 'pod deleted by force' delete_pod
disturb 'node drained' drain node1
disturb 'node with both pods drained' drain_both_pods node2
disturb 'upgrade with a changed option' helm upgrade "${CHART[@]}" --wait --timeout 5m \
  --set 'config.pipelines[0].batch.maxAge=1s'
step 'helm test' helm test posts --namespace review
step 'uninstalled under load' uninstall
disturb 'installed again' install_chart
step 'producer stopped, every event settled' stop_producer
wait "$producer"
step 'uninstalled' uninstall
step 'exit codes' judge_exits
step 'audit' node src/cli/main.ts audit --config "$SETTINGS"
node dev/cluster/judge.ts "$STATE" "$BROKER"
