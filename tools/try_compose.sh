#!/usr/bin/env bash
# Starts compose.yaml as a whole and tries what it is for: a session outlives the hub and the server that had it.
#
#   tools/try_compose.sh
#
# COMPOSE     how compose is called: podman-compose, else "docker compose"
# UP_OPTIONS  words for `up` (--build); --no-build takes images that are there
# PYTHON      a Python with dragoman (.venv/bin/python)
# FOLDER      a folder of the image and of this machine, with little in it (/srv)
#
# Takes the ports 8765 to 8767 of loopback, and removes its volumes. The exit status is the number of failures.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

if [ -z "${COMPOSE:-}" ]; then
    if command -v podman-compose >/dev/null; then COMPOSE=podman-compose; else COMPOSE="docker compose"; fi
fi
PYTHON=${PYTHON:-.venv/bin/python}
FOLDER=${FOLDER:-/srv}
declare -A ports=([left]=8765 [middle]=8766 [right]=8767)
failures=0
session=none
scratch=$(mktemp -d)

# Words of options are separated by blanks.
# shellcheck disable=SC2086
compose() { $COMPOSE --project-name dragoman-try "$@"; }
finish() {
    compose down --volumes >/dev/null 2>&1
    rm -rf "$scratch"
}
trap finish EXIT

check() { # WHAT COMMAND…
    local what=$1 started=$SECONDS
    shift
    if "$@" >"$scratch/out" 2>&1; then
        echo "ok      $what ($((SECONDS - started)) s)"
    else
        echo "FAILED  $what: $(tail -n 3 "$scratch/out" | tr '\n' ' ')"
        failures=$((failures + 1))
    fi
}
healthy() {
    local hub attempt
    for hub in "$@"; do
        for attempt in $(seq 120); do
            curl --silent --fail --max-time 5 "http://127.0.0.1:${ports[$hub]}/healthz" && continue 2
            sleep 0.5
        done
        compose logs "$hub"
        return 1
    done
}
# A prompt at a hub, with the token that it showed when it first started. Its events are in $scratch/events. `run` looks
# at the folder of this machine before the turn and after it, for 8 seconds each at most: /tmp may be large, /srv is not.
ask() { # HUB [OPTION…]
    local token
    token=$(compose logs "$1" 2>&1 | sed -n 's|.*shown only now: \([A-Za-z0-9_-]*\).*|\1|p' | tail -n 1)
    DRAGOMAN_TOKEN=$token "$PYTHON" -m dragoman run "Hello" --agent "ws://127.0.0.1:${ports[$1]}/acp" --cwd "$FOLDER" --no-history \
        --format json "${@:2}" | tee "$scratch/events"
}
opens() { ask "$1" && session=$(sed -n 's/.*"event":"session".*"sessionId":"\([^"]*\)".*/\1/p' "$scratch/events"); }
goes_on() {
    ask "$1" --session "$session" && grep -q '"event":"session".*"how":"\(loaded\|resumed\)"' "$scratch/events"
}

# shellcheck disable=SC2086
check "three hubs and three servers start" compose up --detach ${UP_OPTIONS:---build}
check "every hub is healthy" healthy left middle right
check "a session begins at left" opens left
check "left stops" compose stop left
check "the session goes on at middle" goes_on middle
check "middle is killed" compose kill middle
check "the session goes on at right" goes_on right
check "a server of NATS stops" compose stop nats1
check "the session goes on without it" goes_on right
check "left starts again" compose start left
check "left is healthy again" healthy left
check "the session goes on at left" goes_on left
exit "$failures"
