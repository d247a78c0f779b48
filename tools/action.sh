#!/usr/bin/env bash
# What action.yml runs: installs this version of dragoman beside nothing else, examines or reviews, and says where
# the results are. Inputs come in DRAGOMAN_ACTION_…, never as text of a script. DRAGOMAN names a program that is
# used as it is; then nothing is installed. Python runs with -I: the folder under review holds no module of ours.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
output=${DRAGOMAN_ACTION_OUTPUT:-dragoman-results}
mode=${DRAGOMAN_ACTION_MODE:-}

fail() {
    local words=${1//'%'/%25} # a line break would begin a command of the runner
    words=${words//$'\r'/%0D}
    printf '::error::dragoman: %s\n' "${words//$'\n'/%0A}"
    exit 2
}

case $mode in
check | review) ;;
*) fail "mode must be check or review, and is '$mode'" ;;
esac

if [ -z "${DRAGOMAN:-}" ]; then
    environment=$(mktemp -d)
    python3 -I -m venv "$environment" && "$environment/bin/python" -I -m pip install --quiet --disable-pip-version-check "$root" \
        || fail "it cannot be installed"
    DRAGOMAN=$environment/bin/dragoman
fi

case $output in
*[$'\r\n']*) fail "output is one line: the name of a folder" ;;
-*) output=./$output ;;
esac
mkdir -p "$output" || fail "the folder $output cannot be made"

check() {
    local -a options=(--save "$output/recordings" --format text --format "sarif=$output/dragoman.sarif"
        --format "junit=$output/dragoman.xml" --format "html=$output/dragoman.html" --format "badge=$output/badge.svg")
    local -a agent
    [ -n "${DRAGOMAN_ACTION_AGENT:-}" ] || fail "the input agent is missing: the command of the agent"
    # The agent's words are split as a shell would, and nothing in them is run.
    mapfile -d '' agent < <(python3 -I -c 'import os, shlex
print(*shlex.split(os.environ["DRAGOMAN_ACTION_AGENT"]), sep="\0", end="\0")')
    [ -n "${agent[*]}" ] || fail "the input agent is no command: $DRAGOMAN_ACTION_AGENT"
    [ "${DRAGOMAN_ACTION_STRICT:-false}" = true ] && options+=(--strict)
    [ -n "${DRAGOMAN_ACTION_WAIVERS:-}" ] && options+=(--waivers="$DRAGOMAN_ACTION_WAIVERS")
    "$DRAGOMAN" check agent "${options[@]}" -- "${agent[@]}"
}

review() {
    local -a options=(--fail-on="${DRAGOMAN_ACTION_FAIL_ON:-low}") paths=()
    local path
    [ -n "${DRAGOMAN_ACTION_BASE:-}" ] && options+=(--diff="$DRAGOMAN_ACTION_BASE")
    while IFS= read -r path; do
        [ -n "$path" ] && paths+=("$path")
    done <<<"${DRAGOMAN_ACTION_PATHS:-}"
    "$DRAGOMAN" review "${options[@]}" --format sarif -- ${paths[@]+"${paths[@]}"} >"$output/dragoman.sarif"
    local status=$?
    # The second look is answered by the cache; it puts the findings beside the lines of a pull request.
    "$DRAGOMAN" review "${options[@]}" --format github -- ${paths[@]+"${paths[@]}"}
    [ "$status" -ge 2 ] || write_badge
    return "$status"
}

write_badge() {
    python3 -I - "$output/dragoman.sarif" >"$output/badge.json" <<'PYTHON'
import json, sys

count = sum(len(run["results"]) for run in json.load(open(sys.argv[1], encoding="utf-8"))["runs"])
message, color = (f"{count} findings", "orange") if count else ("clean", "brightgreen")
print(json.dumps({"schemaVersion": 1, "label": "review", "message": message, "color": color}))
PYTHON
}

"$mode"
status=$?
badge=$output/badge.svg
[ "$mode" = review ] && badge=$output/badge.json
{
    printf 'sarif=%s\n' "$output/dragoman.sarif"
    printf 'badge=%s\n' "$badge"
    printf 'status=%s\n' "$status"
} >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$status"
