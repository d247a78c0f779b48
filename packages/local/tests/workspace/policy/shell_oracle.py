"""What bash really runs: the other end for what we read in a command line.

One bash reads many lines. Each is evaluated in a subshell in which no program can be reached and every
command, the shell's own ones included, only writes its words down. Programs that we look through run what
they are given, as the real ones do.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dragoman.testing.pace import patience

Words = tuple[str, ...]

BASH: Final = shutil.which("bash") or "/bin/bash"

_DRIVER: Final = r"""
exec 8>>"$RECORDS"
record() {
  builtin local words
  builtin printf -v words '%s\037' "$@"
  builtin printf '%s\036' "$words" >&8
  builtin return $STATUS
}
command_not_found_handle() {
  case $1 in
    timeout) builtin shift; builtin shift; "$@" ;;
    nohup | time) builtin shift; "$@" ;;
    sh | bash)
      builtin shift
      if [[ $1 == -l ]]; then builtin shift; fi
      if [[ $1 == -c || $1 == -lc ]]; then builtin eval "$2"; else record bash "$@"; fi ;;
    *) record "$@" ;;
  esac
}
# A function costs no process. What is not among them ends in command_not_found_handle.
for name in $(compgen -b) git ls cat grep npm make rm cp mv mkdir python node pytest; do
  case $name in
    builtin | command | . | \[) ;;
    *) builtin eval "$name() { record $name \"\$@\"; }" ;;
  esac
done
command() { "$@"; }
while IFS= builtin read -r -d $'\036' STATUS && IFS= builtin read -r -d $'\036' LINE; do
  ( builtin eval "$LINE" ) </dev/null >/dev/null 2>&1
  builtin printf '\035' >&8
done
builtin exit 0
"""


def what_bash_runs(lines: Sequence[tuple[str, int]], folder: Path) -> list[Counter[Words]]:
    """For each line, and the status that all its commands end with: the commands that bash ran."""
    scratch, records = folder / "scratch", folder / "records"
    scratch.mkdir(exist_ok=True)
    records.write_bytes(b"")
    # A home of this name makes a tilde stay what it is.
    env = {"PATH": "/nowhere", "HOME": "~", "RECORDS": str(records), "LC_ALL": "C.UTF-8"}
    subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", _DRIVER],
        input="".join(f"{status}\x1e{line}\x1e" for line, status in lines).encode(),
        cwd=scratch,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
        timeout=patience(120),
    )
    assert list(scratch.iterdir()) == []  # nothing was written
    chunks = records.read_bytes().decode().split("\x1d")[:-1]
    assert len(chunks) == len(lines)
    return [
        Counter(tuple(record.split("\x1f")[:-1]) for record in chunk.split("\x1e")[:-1]) for chunk in chunks
    ]
