#!/usr/bin/env bash
# Runs the demo and two minutes of kills of replicas against several versions of Kafka's broker:
#
#   npm run kafka:versions [-- VERSION …]
#
# The default is every version with a manifest in dev/kafka/jars. Exit code 1 if any run fails.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
logs=$(mktemp -d)
status=0

# Runs a command. Prints its duration, and the lines of its output that match a pattern.
run() {
  local version=$1 name=$2 pattern=$3 start=$SECONDS verdict=passed
  shift 3
  KAFKA_VERSION=$version "$@" >"$logs/$version-$name.log" 2>&1 || { verdict=FAILED status=1; }
  echo "Kafka $version: $name $verdict after $((SECONDS - start)) s"
  grep -E "$pattern" "$logs/$version-$name.log" | sed 's/^ */    /'
}

if [ $# -eq 0 ]; then
  mapfile -t versions < <(basename -s .sha256 dev/kafka/jars/*.sha256)
else
  versions=("$@")
fi
for version in "${versions[@]}"; do
  run "$version" demo 'missing|decided within' npm run --silent demo
  run "$version" kills '^(fault|kill|pipeline|review|import|lookup|VIOLATED) ' \
    npm run --silent chaos -- --minutes 2 --faults 'kill -9 of a replica'
done
echo "output: $logs"
exit $status
