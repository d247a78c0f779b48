#!/usr/bin/env bash
# Builds the image of the Containerfile and tries it as its users run it: read-only root, no capabilities, a volume.
#
#   tools/try_image.sh                  `make image` calls it
#
# ENGINE         podman, else docker
# BASE           the image below ours; `debian` makes one with mmdebstrap, for machines that reach no registry
# SUITE          the release of Debian for that (bookworm)
# BUILD_OPTIONS  more words for `build`, such as --volume for an index of packages
# RUN_OPTIONS    more words for `run`
# PYTHON         a Python with dragoman, for an agent in the container (--in); without one that is left out
#
# Needs curl. The exit status is the number of failures.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

ENGINE=${ENGINE:-$(command -v podman || command -v docker)}
[ -n "$ENGINE" ] || { echo "there is no podman and no docker here; install one of them" >&2; exit 2; }
LIMIT=$((120 * 1000 * 1000))
PORT=${PORT:-18765}
name=dragoman-try-$$
image=localhost/$name
failures=0
scratch=$(mktemp -d)

finish() {
    "$ENGINE" rm --force "$name" >/dev/null 2>&1
    "$ENGINE" volume rm "$name" >/dev/null 2>&1
    "$ENGINE" rmi --force "$image" "$image-base" >/dev/null 2>&1
    rm -rf "$scratch"
}
trap finish EXIT

check() { # WHAT COMMAND…
    local what=$1
    shift
    if "$@" >"$scratch/out" 2>&1; then
        echo "ok      $what"
    else
        echo "FAILED  $what: $(tail -n 3 "$scratch/out" | tr '\n' ' ')"
        failures=$((failures + 1))
    fi
}

base=()
if [ "${BASE:-}" = debian ]; then
    mmdebstrap --quiet --variant=essential --include=python3,python3-venv,ca-certificates,passwd \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' "${SUITE:-bookworm}" "$scratch/base.tar" >&2 || exit 2
    "$ENGINE" import "$scratch/base.tar" "$image-base" >/dev/null || exit 2
    base=(--build-arg "BASE=$image-base")
elif [ -n "${BASE:-}" ]; then
    base=(--build-arg "BASE=$BASE")
fi

: "${BUILD_OPTIONS:=}"
case $(basename "$ENGINE") in podman*) BUILD_OPTIONS="--format docker $BUILD_OPTIONS" ;; esac

# Words of options are separated by blanks.
# shellcheck disable=SC2086
"$ENGINE" build $BUILD_OPTIONS "${base[@]}" --tag "$image" --file Containerfile . || exit 2

start() {
    # shellcheck disable=SC2086
    "$ENGINE" run --detach --name "$name" --read-only --tmpfs /tmp --cap-drop ALL --volume "$name:/data" \
        --publish "127.0.0.1:$PORT:8765" ${RUN_OPTIONS:-} "$image" >/dev/null
}
healthy() {
    local attempt
    for attempt in $(seq 120); do
        curl --silent --fail "http://127.0.0.1:$PORT/healthz" && return
        sleep 0.5
    done
    "$ENGINE" logs "$name"
    return 1
}
inside() { "$ENGINE" exec "$name" "$@"; }

unpacked=$("$ENGINE" image inspect --format '{{.Size}}' "$image")
size=$("$ENGINE" save "$image" | gzip | wc -c)
echo "the image has $((size / 1000000)) MB as it is pulled, $((unpacked / 1000000)) MB on the disk"
check "at most $((LIMIT / 1000000)) MB are pulled" test "$size" -le "$LIMIT"
check "it starts with a root that nobody can write to" start
check "it is healthy" healthy
check "it runs as user 10001" test "$(inside id -u)" = 10001
check "its root cannot be written" inside sh -c '! touch /opt/dragoman/x 2>/dev/null && ! touch /x 2>/dev/null'
check "its health check passes" inside python -c \
    "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz', timeout=2)"
check "a token can be added" inside dragoman hub token add laptop
check "the journal is in the volume" inside sh -c 'ls -R /data/share | grep -q hub.db'
if [ -n "${PYTHON:-}" ]; then
    check "an agent in the container answers" "$PYTHON" -m dragoman run "Hello" --agent echo \
        --in "$(basename "$ENGINE"):$name" --cwd /data --no-history
fi
check "it ends within its time" "$ENGINE" stop --time 45 "$name"
"$ENGINE" rm "$name" >/dev/null
check "it starts again with the same volume" start
check "it is healthy again" healthy
check "the token is still there" sh -c "'$ENGINE' exec '$name' dragoman hub token list | grep -q laptop"
exit "$failures"
