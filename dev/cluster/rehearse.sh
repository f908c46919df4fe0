#!/usr/bin/env bash
# Rehearses the operation of the connector on a real Kubernetes cluster with two nodes on this machine:
#
#   npm run cluster:rehearse
#
# Builds the image with a container engine, installs the chart, and restarts, kills, drains, upgrades and uninstalls the
# connector while a producer writes events. Exit codes: 0 if every event has exactly one terminal record, 1 if not or if a
# step fails, 2 if a requirement is missing.
#
# The engine and the cluster run in process and mount namespaces, and the cluster also in a network namespace without a
# connection to other machines. When the first process of a namespace ends, the kernel ends the other processes and removes
# the mounts, network interfaces and packet filter of the namespace.
set -euo pipefail

REPOSITORY=$(cd "$(dirname "$0")/../.." && pwd)
HERE=$REPOSITORY/dev/cluster
PATH=$REPOSITORY/node_modules/.bin:$PATH:/usr/local/go/bin
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/content-review-connector
KUBERNETES=$CACHE/kubernetes-$(cat "$HERE"/kubernetes/* | sha256sum | cut -c 1-12)
declare -A PACKAGES=(
  [/usr/bin/docker]=docker.io [containerd]=containerd [runc]=runc [debootstrap]=debootstrap [etcd]=etcd-server
  [/usr/lib/cni/bridge]=containernetworking-plugins [iptables]=iptables [ip]=iproute2 [dnsmasq]=dnsmasq-base
  [openssl]=openssl [java]=openjdk-17-jdk-headless [mvn]=maven
)

refuse() { echo "cluster:rehearse: $1" >&2; exit 2; }

[ -e /etc/debian_version ] || refuse 'requires Debian: run it in a virtual machine with Debian 12'
[ "$(id -u)" = 0 ] || refuse 'requires root, to create namespaces, containers and network interfaces'
missing=()
for program in "${!PACKAGES[@]}"; do
  [ -n "$(type -P "$program")" ] || missing+=("${PACKAGES[$program]}")
done
[ ${#missing[@]} = 0 ] || refuse "programs are missing: apt-get install --no-install-recommends ${missing[*]}"
go version >/dev/null 2>&1 || refuse 'Go 1.26 or later is missing: install it from https://go.dev/dl'
[ -x "$REPOSITORY/node_modules/.bin/node" ] || refuse 'the project is not installed: run npm ci'
mkdir -p "$CACHE"
exec 9>"$CACHE/cluster.lock"
flock --nonblock 9 || refuse 'another rehearsal is running on this machine'

STATE=$(mktemp --directory --tmpdir cluster-rehearsal-XXXXXX)
mkdir "$STATE/log" "$STATE/bin"
# Kubelets change these settings for the whole machine.
sysctl vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys \
  kernel.keys.root_maxbytes >"$STATE/kernel-settings"

clean_up() {
  local status=$?
  trap '' INT TERM HUP
  # When unshare is killed, it also kills the first process of the namespace.
  { kill -KILL "$(cat "$STATE/namespace.pid")" && wait; } 2>/dev/null || true
  flock --timeout 30 "$STATE/namespace.lock" true || echo 'processes of the rehearsal are still running' >&2
  sysctl --quiet --load "$STATE/kernel-settings" || true
  find /sys/fs/cgroup -depth -type d -path '*/cluster-rehearsal*' -exec rmdir {} \; 2>/dev/null || true
  if [ $status = 0 ]; then
    rm -rf --one-file-system "$STATE"
  else
    find "$STATE" -mindepth 1 -maxdepth 1 ! -name log -exec rm -rf --one-file-system {} +
    echo "logs: $STATE/log" >&2
  fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Runs a script in new namespaces, which end with it. All their processes hold a shared lock.
in_namespace() { # [OPTION OF UNSHARE…] SCRIPT
  flock --no-fork --shared "$STATE/namespace.lock" \
    unshare --mount --pid --mount-proc --fork --kill-child "$@" &
  echo $! >"$STATE/namespace.pid"
  wait $!
  rm "$STATE/namespace.pid"
}

# Compiles the programs of Kubernetes. Go verifies their sources against kubernetes/go.sum.
compile_kubernetes() {
  local component=k8s.io/component-base/version making=$KUBERNETES.making programs version major minor
  cd "$HERE/kubernetes"
  programs=$(sed -n 's/^\t_ "\(.*\)"/\1/p' tools.go)
  version=$(go list -mod=readonly -m -f '{{.Version}}' k8s.io/kubernetes)
  IFS=. read -r major minor _ <<<"${version#v}"
  mkdir -p "$making"
  # shellcheck disable=SC2086 # a list of packages
  CGO_ENABLED=0 nice go build -mod=readonly -buildvcs=false -o "$making/" \
    -ldflags "-s -w -X $component.gitVersion=$version -X $component.gitMajor=$major -X $component.gitMinor=$minor" $programs
  mv "$making" "$KUBERNETES"
}

prepare_tools() {
  [ -d "$KUBERNETES" ] || (compile_kubernetes)
  cd "$REPOSITORY"
  ln -s "$KUBERNETES"/* "$(node dev/helm/tools.ts | tail -n 1)/bin/helm" "$STATE/bin/"
  ln -s "$(node --input-type=module --eval "
    import { ensureJars } from '$REPOSITORY/dev/kafka/jars.ts';
    console.log(await ensureJars());")" "$STATE/jars"
}

export REPOSITORY CACHE STATE PATH="$STATE/bin:$PATH"
# shellcheck source=dev/cluster/step.sh
. "$HERE/step.sh"

step 'Kubernetes, Helm and Kafka in the cache' prepare_tools
step 'image built by a container engine' in_namespace "$HERE/image.sh"
in_namespace --net "$HERE/operations.sh"
