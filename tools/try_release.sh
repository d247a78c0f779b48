#!/usr/bin/env bash
# Tries what `make dist` built, as its users will: in empty environments, with nothing of the checkout.
#
#   tools/try_release.sh [FOLDER]       FOLDER is dist; `make try-release` builds it first
#
# Each Python at hand (or those of PYTHONS) gets `dragoman`, the zipapp, then each wheel and each extra alone. Then pip, the
# source archive, uv and pipx install it, uvx and pipx run it cold, which may take LIMIT seconds each (5); on a busy machine
# processor seconds are judged instead. As root, and with mmdebstrap, a Debian with Python and nothing else gets the zipapp
# and the wheel. Needs uv and pipx on PATH. The exit status is the number of failures.
set -uo pipefail

folder=$(cd "${1:-dist}" && pwd) || exit 2
wheel=$(ls "$folder"/dragoman-*.whl) || exit 2
LIMIT=${LIMIT:-5}
# The first interpreter of this version that runs: shims on PATH may have nothing behind them.
find_python() {
    local candidate
    for candidate in "$(command -v "python$1")" "$HOME/.pyenv/versions/$1".*/bin/python "$(uv python find --no-project "$1" 2>/dev/null)"; do
        if "$candidate" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" >/dev/null 2>&1; then
            "$candidate" -c 'import os, sys; print(os.path.realpath(sys.executable))'
            return
        fi
    done
    return 1
}

declare -A interpreters
names=${PYTHONS:-3.11 3.12 3.13 3.14}
for name in $names; do interpreters[$name]=$(find_python "$name"); done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# A newcomer's folder: `run` looks at where it is started, and what is installed here is no part of that.
mkdir "$scratch/project" && cd "$scratch/project" || exit 2
export HOME="$scratch/home" XDG_CACHE_HOME="$scratch/cache" XDG_DATA_HOME="$scratch/data" XDG_CONFIG_HOME="$scratch/config"
export PIPX_HOME="$scratch/pipx" PIPX_BIN_DIR="$scratch/pipx-bin"
mkdir -p "$HOME"
unset PYTHONPATH VIRTUAL_ENV PYTHONDONTWRITEBYTECODE
# Our wheels need each other.
export PIP_FIND_LINKS="$folder" UV_FIND_LINKS="$folder"
failures=0
used_before=0

# What a wheel or an extra is for: importing this needs it and nothing else that is optional.
declare -A shows=(
    [dragoman_sdk]="import dragoman_local.kit, dragoman; [getattr(dragoman, name) for name in dragoman.__all__]"
    [dragoman_sdk[ws]]="import dragoman.transport.websocket_runs"
    [dragoman_sdk[http]]="import httpx2, dragoman.transport.http_client"
    [dragoman_sdk[mcp]]="import dragoman_local.kit.mcp_wire"
    [dragoman_sdk[official]]="import acp, dragoman.sdk.official.adapter"
    [dragoman_sdk[sealed]]="import keyring, dragoman_local.journal.sealed_cipher"
    [dragoman_check]="import dragoman_check.agent.examination, dragoman_check.trace"
    [dragoman_review]="import ruff, ast_grep_py, dragoman_review.structure"
    [dragoman]="import dragoman_app.cli.hub, dragoman_hub.api.listener, dragoman_app.tui.terminal, dragoman_app.apps.chat.command, dragoman_app.cli.check_agent, dragoman_app.cli.review, dragoman_hub.push.encryption"
    [dragoman[all]]="import dragoman_app.agents.code.history, dragoman_hub.nats.private, dragoman_hub.api.observability.otel, PIL, textual_image"
    [dragoman[code]]="import mcp, dragoman_app.agents.code.history"
    [dragoman[cluster]]="import dragoman_hub.nats.private"
    [dragoman[otel]]="import dragoman_hub.api.observability.otel"
    [dragoman[pictures]]="import PIL, textual_image"
)

# Processor seconds of everything that was started and has ended: what a busy machine does not stretch.
# `times` is not asked in a subshell, which has started nothing.
processor() { tail -n 1 "$scratch/times" | tr 'ms' '  ' | awk '{ print $1 * 60 + $2 + $3 * 60 + $4 }'; }
is_busy() { awk -v processors="$(nproc)" '{ exit !($1 > processors) }' /proc/loadavg 2>/dev/null; }

seconds_since() { echo "$(date +%s%N) $1" | awk '{ printf "%.1f", ($1 - $2) / 1e9 }'; }

# report NAME STARTED STATUS [LIMIT]
report() {
    local took used verdict=ok
    times >"$scratch/times"
    used=$(processor | awk -v before="$used_before" '{ printf "%.1f", $1 - before }')
    used_before=$(processor)
    took=$(seconds_since "$2")
    [ "$3" = 0 ] || verdict="FAILED (status $3)"
    if [ "$3" = 0 ] && [ -n "${4:-}" ] && awk "BEGIN { exit !($took > $4) }"; then
        verdict="FAILED (more than $4 s)"
        if is_busy && awk "BEGIN { exit !($used <= $4) }"; then verdict="ok (more than $4 s, but this machine is busy)"; fi
    fi
    if [ "${verdict%% *}" != ok ]; then
        failures=$((failures + 1))
        tail -n 20 "$scratch/log"
    fi
    printf '%6s s %6s s CPU  %-30s %s\n' "$took" "$used" "$1" "$verdict"
}

says_hi() { "$@" run --agent echo hi 2>>"$scratch/log" | grep -q 'You said: hi'; }

install() { # PYTHON ENVIRONMENT REQUIREMENT
    uv venv --quiet --no-project --python "$1" "$2" && uv pip install --quiet --python "$2" "$3"
}

try_wheel() {
    local environment="$scratch/bare-$1" started
    started=$(date +%s%N)
    install "$2" "$environment" "$wheel" >"$scratch/log" 2>&1 \
        && "$environment/bin/dragoman" --version >>"$scratch/log" \
        && says_hi "$environment/bin/dragoman"
    report "$1 wheel" "$started" $?
}

try_part() { # NAME PYTHON WHEEL-OR-EXTRA
    local environment="$scratch/part-$1" file started
    file=$(ls "$folder/${3%%\[*}"-*.whl)
    started=$(date +%s%N)
    install "$2" "$environment" "$file${3#"${3%%\[*}"}" >"$scratch/log" 2>&1 \
        && "$environment/bin/python" -c "${shows[$3]}" >>"$scratch/log" 2>&1
    report "$1 $3" "$started" $?
    rm -rf "$environment"
}

try_pyz() {
    local started
    started=$(date +%s%N)
    says_hi "$2" "$folder/dragoman.pyz"
    report "$1 dragoman.pyz, first start" "$started" $? "$LIMIT"
    started=$(date +%s%N)
    says_hi "$2" "$folder/dragoman.pyz"
    report "$1 dragoman.pyz, second start" "$started" $? "$LIMIT"
}

# A venv of pip's own, as the first line of docs/install.md has it.
try_pip() { # NAME PYTHON ARCHIVE
    local environment="$scratch/pip-$1" started
    started=$(date +%s%N)
    "$2" -m venv "$environment" >"$scratch/log" 2>&1 \
        && "$environment/bin/python" -m pip install --quiet "$3" >>"$scratch/log" 2>&1 \
        && says_hi "$environment/bin/dragoman"
    report "pip install, $1" "$started" $?
}

try_tools() {
    local started
    started=$(date +%s%N)
    UV_TOOL_DIR="$scratch/tools" UV_TOOL_BIN_DIR="$scratch/tools-bin" uv tool install --quiet "$wheel" >"$scratch/log" 2>&1 \
        && says_hi "$scratch/tools-bin/dragoman"
    report "uv tool install" "$started" $?
    started=$(date +%s%N)
    pipx install --quiet "$wheel" >"$scratch/log" 2>&1 && says_hi "$PIPX_BIN_DIR/dragoman"
    report "pipx install" "$started" $?
}

# Runs a command in the home of a root of its own, with /proc and /dev, and with nothing of our environment.
below() { # ROOT COMMAND…
    unshare --mount --pid --fork bash -c '
        root=$1
        shift
        mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" \
            && exec env -i PATH=/usr/sbin:/usr/bin:/bin HOME=/root chroot "$root" env --chdir=/root "$@"' below "$@"
}

# Debian, Python and no pip beside the one that venv brings. Of this machine it has names, certificates and the index.
try_empty_root() {
    local root="$scratch/root" started
    started=$(date +%s%N)
    if ! { [ "$(id -u)" = 0 ] && command -v mmdebstrap >/dev/null; }; then
        echo "                     an empty root is not tried: that needs root and mmdebstrap"
        return
    fi
    mmdebstrap --quiet --variant=essential --include=python3,python3-venv,ca-certificates "${SUITE:-bookworm}" "$root" \
        >"$scratch/log" 2>&1
    report "an empty root is made" "$started" $?
    cp "$folder/dragoman.pyz" "$folder"/*.whl "$root/"
    cp -L /etc/resolv.conf "$root/etc/" 2>/dev/null
    cp -L /etc/pip.conf "$root/etc/" 2>/dev/null
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null
    started=$(date +%s%N)
    says_hi below "$root" python3 /dragoman.pyz
    report "empty root, dragoman.pyz" "$started" $? "$LIMIT"
    started=$(date +%s%N)
    below "$root" sh -c 'python3 -m venv /opt/dragoman && /opt/dragoman/bin/pip install --quiet --find-links / /dragoman-*.whl' >"$scratch/log" 2>&1 \
        && says_hi below "$root" /opt/dragoman/bin/dragoman
    report "empty root, pip install" "$started" $?
}

(cd "$folder" && sha256sum --quiet --check SHA256SUMS) || failures=$((failures + 1))
for name in $names; do
    python=${interpreters[$name]}
    [ -n "$python" ] || { echo "                     $name is not at hand"; continue; }
    try_wheel "$name" "$python"
    try_pyz "$name" "$python"
    for part in "${!shows[@]}"; do try_part "$name" "$python" "$part"; done
done
newest=
for name in $names; do newest=${interpreters[$name]:-$newest}; done
try_pip wheel "$newest" "$wheel"
try_pip sdist "$newest" "$(ls "$folder"/dragoman-*.tar.gz)"
try_tools
try_empty_root
export UV_CACHE_DIR="$scratch/empty-cache" PIP_NO_CACHE_DIR=1
started=$(date +%s%N)
says_hi uvx --from "$wheel" dragoman
report "uvx, cold" "$started" $? "$LIMIT"
started=$(date +%s%N)
says_hi pipx run --spec "$wheel" dragoman
report "pipx run, cold" "$started" $? "$LIMIT"
[ "$failures" = 0 ] || echo "$failures failed"
exit "$failures"
