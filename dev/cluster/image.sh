#!/usr/bin/env bash
# Builds the image of the connector with a container engine, and saves it with a pause image to $STATE/images.tar.
# Runs in namespaces of rehearse.sh. The engine and its mounts end with this script.
#
# No image registry is needed. Images with the names of the Dockerfile's base images are assembled from Debian's packages
# (DEBIAN_MIRROR may name a mirror) and from the project's own Node. They lack only files that the connector does not use.
set -euo pipefail
# shellcheck source=dev/cluster/step.sh
. "$REPOSITORY/dev/cluster/step.sh"

export DOCKER_HOST=unix://$STATE/docker.sock DOCKER_BUILDKIT=1
DATA=$CACHE/cluster-images
IMAGE=content-review-connector:rehearsal
PAUSE_IMAGE=localhost/rehearsal-pause:1
DEBIAN=$DATA/trixie
# Packages of the distroless base image.
RUNTIME=(base-files netbase tzdata media-types libc6 libssl3t64 zlib1g libzstd1 libgomp1 libstdc++6 libgcc-s1 gcc-14-base ca-certificates)

# Debian's client, because another one may lack the plugin for BuildKit.
docker() { /usr/bin/docker "$@"; }

# Prints the default of a build argument in the Dockerfile.
argument() { sed -n "s/^ARG $1=//p" "$REPOSITORY/Dockerfile"; }

# Starts the engine without its own network, because builds use the network of the machine. Keeps the packet filter unchanged.
start_engine() {
  mkdir -p "$DATA"
  background dockerd dockerd --host "$DOCKER_HOST" --data-root "$DATA/docker" --exec-root "$STATE/docker" \
    --pidfile "$STATE/docker.pid" --cgroup-parent /cluster-rehearsal-engine --bridge none --iptables=false --ip6tables=false
  until_succeeds docker version
}

# Creates the directory of a minimal Debian, with its packages in var/cache/apt/archives.
make_debian() {
  local packages making=$DEBIAN.making
  [ ! -d "$DEBIAN" ] || return 0
  packages=$(IFS=,; echo "${RUNTIME[*]},libatomic1")
  rm -rf "$making"
  debootstrap --variant=minbase --include="$packages" trixie "$making" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"}
  mv "$making" "$DEBIAN"
}

# Imports a directory as an image.
import() { # DIRECTORY NAME OPTION…
  # Replaces Debian's certificates with those of this machine, which may include the authority of a proxy.
  cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
  tar -C "$1" -c . | docker import "${@:3}" - "$2"
}

import_node() {
  local root=$STATE/node
  cp -a "$DEBIAN" "$root"
  rm -rf "$root"/var/cache/apt/archives "$root"/usr/share/{doc,man,locale}
  mkdir -p "$root/usr/local/bin"
  cp "$REPOSITORY/node_modules/node/bin/node" "$root/usr/local/bin/"
  npm install --global --prefix "$root/usr/local" --no-audit --no-fund npm@11
  import "$root" "$(argument NODE_IMAGE)" --change 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt'
}

import_base() {
  local root=$STATE/base package
  mkdir -p "$root"/usr/{lib,lib64,bin,sbin} "$root"/{tmp,proc,dev,sys,root,home/nonroot}
  for directory in lib lib64 bin sbin; do ln -s usr/$directory "$root/$directory"; done
  for package in "${RUNTIME[@]}"; do
    dpkg-deb --fsys-tarfile "$DEBIAN/var/cache/apt/archives/${package}"_*.deb |
      tar -x --keep-directory-symlink -C "$root" --exclude=./usr/share/{doc,man,locale} --exclude='./usr/*bin/*'
  done
  chmod 1777 "$root/tmp"
  echo 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin' >"$root/etc/passwd"
  echo 'nonroot:x:65532:' >"$root/etc/group"
  import "$root" "$(argument BASE_IMAGE)" --change 'USER 65532' --change 'ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt'
  # First process of each pod. It only keeps the pod's namespaces.
  cp "$DEBIAN/bin/sleep" "$root/usr/bin/"
  import "$root" $PAUSE_IMAGE --change 'ENTRYPOINT ["/usr/bin/sleep", "infinity"]'
}

start_engine
make_debian
docker image inspect "$(argument NODE_IMAGE)" >/dev/null 2>&1 || import_node
docker image inspect "$(argument BASE_IMAGE)" $PAUSE_IMAGE >/dev/null 2>&1 || import_base
docker build --network host --tag $IMAGE "$REPOSITORY"
docker save --output "$STATE/images.tar" $IMAGE $PAUSE_IMAGE
