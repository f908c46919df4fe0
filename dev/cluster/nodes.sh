#!/usr/bin/env bash
# Starts a Kubernetes cluster with two nodes: one control plane, and a containerd and a kubelet for each node, which have
# their own directories, cgroups and pod addresses. Returns when both nodes are ready.
set -euo pipefail
cd "$STATE"
# shellcheck source=dev/cluster/step.sh
. "$REPOSITORY/dev/cluster/step.sh"

# The API server and its only user have the same certificate.
make_certificates() {
  openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=rehearsal-ca
  openssl req -newkey rsa:2048 -nodes -keyout admin.key -out admin.csr -subj /O=system:masters/CN=admin
  openssl x509 -req -in admin.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out admin.crt \
    -extfile <(echo 'subjectAltName=IP:127.0.0.1,IP:10.96.0.1')
  openssl genrsa -out accounts.key 2048
}

start_control_plane() {
  # Without fsync, because the data is discarded at the end.
  background etcd etcd --data-dir etcd --unsafe-no-fsync
  background kube-apiserver kube-apiserver --etcd-servers http://127.0.0.1:2379 --authorization-mode RBAC \
    --bind-address 127.0.0.1 --advertise-address 10.88.0.1 --endpoint-reconciler-type none \
    --service-cluster-ip-range 10.96.0.0/16 --service-account-issuer https://kubernetes.default.svc \
    --service-account-key-file accounts.key --service-account-signing-key-file accounts.key \
    --client-ca-file ca.crt --tls-cert-file admin.crt --tls-private-key-file admin.key \
    --kubelet-client-certificate admin.crt --kubelet-client-key admin.key
  until_succeeds kubectl get --raw /readyz
  background kube-controller-manager kube-controller-manager --kubeconfig "$KUBECONFIG" --leader-elect=false \
    --bind-address 127.0.0.1 --root-ca-file ca.crt --service-account-private-key-file accounts.key
  background kube-scheduler kube-scheduler --kubeconfig "$KUBECONFIG" --leader-elect=false --bind-address 127.0.0.1
}

start_node() { # NUMBER
  local name=node$1 root=$STATE/node$1
  mkdir -p "$root/cni"
  make_cgroup "cluster-rehearsal-$name"
  configuration bridge.conflist "$1" >"$root/cni/bridge.conflist"
  configuration containerd.toml "$1" >"$root/containerd.toml"
  configuration kubelet.yaml "$1" >"$root/kubelet.yaml"
  background "containerd-$name" containerd --config "$root/containerd.toml"
  until_succeeds ctr --address "$root/containerd.sock" version
  ctr --address "$root/containerd.sock" --namespace k8s.io images import images.tar
  background "kubelet-$name" kubelet --config "$root/kubelet.yaml" --kubeconfig "$KUBECONFIG" --hostname-override "$name" \
    --root-dir "$root/kubelet" --cert-dir "$root/certificates" --node-ip 10.88.0.1 \
    --node-labels "topology.kubernetes.io/zone=zone$1"
}

# Creates the parent cgroup of a node's pods. The first form is for cgroup v2, the second for v1.
make_cgroup() { # NAME
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    echo '+cpuset +cpu +io +memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
    mkdir "/sys/fs/cgroup/$1"
    return
  fi
  mkdir /sys/fs/cgroup/{cpu,cpuacct,cpuset,memory,devices,freezer,blkio,pids,systemd}/"$1"
  # These settings are not inherited, and a group without them cannot have processes.
  for file in cpuset.cpus cpuset.mems; do
    cat "/sys/fs/cgroup/cpuset/$file" >"/sys/fs/cgroup/cpuset/$1/$file"
  done
}

make_certificates
configuration kubeconfig.yaml >"$KUBECONFIG"
start_control_plane
start_node 1
start_node 2
configuration kube-proxy.yaml >proxy.yaml
background kube-proxy kube-proxy --config proxy.yaml
until_succeeds kubectl get node/node1 node/node2
kubectl wait --for=condition=Ready --timeout 3m node/node1 node/node2
