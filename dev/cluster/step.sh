# Functions for the other scripts of the rehearsal, which source this file.
# shellcheck shell=bash
: "${STATE:?}" "${REPOSITORY:?}"

# Runs a command as one step, with its output in a log. Prints its verdict and time. A failed step ends the calling script.
step() { # TITLE COMMAND…
  local title=$1 started=$EPOCHREALTIME verdict=ok log
  shift
  log=$STATE/log/$(tr -cs 'a-z0-9\n' - <<<"${title,,}").log
  printf '%s\t%s\n' "$(date +%s%3N)" "$title" >>"$STATE/steps"
  # Runs the command in the background, because `set -e` has no effect within a condition.
  "$@" >"$log" 2>&1 &
  wait $! || verdict=FAILED
  awk -v verdict=$verdict -v from="$started" -v to="$EPOCHREALTIME" -v title="$title" \
    'BEGIN { printf "%-6s %7.1f s  %s\n", verdict, to - from, title }'
  [ $verdict = ok ] || { tail -n 25 "$log" >&2; exit 1; }
}

# Repeats a command twice a second until it succeeds, for at most two minutes.
until_succeeds() { # COMMAND…
  local deadline=$((SECONDS + 120))
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || { echo "still fails after two minutes: $*" >&2; return 1; }
    sleep 0.5
  done
}

# Starts a program that runs until its namespace ends, with a log of its own.
background() { # NAME COMMAND…
  setsid "${@:2}" >"$STATE/log/$1.log" 2>&1 </dev/null &
}

# Prints a file of config/ with the directories of this rehearsal.
configuration() { # FILE [NUMBER OF NODE]
  local number=${2:-}
  sed "s|@STATE@|$STATE|g; s|@NODE@|$STATE/node$number|g; s|@NUMBER@|$number|g" "$REPOSITORY/dev/cluster/config/$1"
}
