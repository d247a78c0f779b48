"""Runs the whole suite in parallel, and what failed once more, alone.

Thousands of tests with real processes share few cores. A test that fails among the others and passes alone is
unsteady: it is named at the end, in so many words, and is a fault to mend, but it does not say that the tree
is broken. One that fails alone too, or more than a handful of failures, does.

A worker that is killed from outside is replaced, and the run sometimes waits for ever for what it had taken
along: a run that takes far too long is ended and begun once more, and that is said.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FAILED = 1
"""pytest's exit status for tests that failed; any other means that they were not all run."""

HANDFUL = 5
FAR_TOO_LONG = 1500
"""Seconds; a whole run takes half of it on two cores."""

CACHE = ".pytest_cache"


def main(arguments: list[str]) -> int:
    """`--cache DIR` first: what failed is remembered there, beside that of another run."""
    cache = CACHE
    if arguments[:1] == ["--cache"]:
        cache, arguments = arguments[1], arguments[2:]
    pytest = [sys.executable, "-m", "pytest", "-q", "-o", f"cache_dir={cache}"]
    last_failed = Path(cache, "v/cache/lastfailed")
    last_failed.unlink(missing_ok=True)
    status = _run([*pytest, *arguments])
    failed = _read(last_failed)
    if status != FAILED or not 0 < len(failed) <= HANDFUL:
        return status
    print(f"\n{len(failed)} failed among the others and are now run alone", flush=True)
    status = subprocess.run([*pytest, *failed], check=False).returncode
    for test in failed if status == 0 else ():
        print(f"UNSTEADY, failed among others and passed alone: {test}", flush=True)
    return status


def _run(command: list[str]) -> int:
    try:
        return subprocess.run(command, check=False, timeout=FAR_TOO_LONG).returncode
    except subprocess.TimeoutExpired:  # it was killed, and its workers end with it
        print(f"\nUNSTEADY: no end after {FAR_TOO_LONG} s; everything is run once more", flush=True)
        return subprocess.run(command, check=False).returncode


def _read(last_failed: Path) -> list[str]:
    try:
        return list(json.loads(last_failed.read_bytes()))
    except FileNotFoundError:
        return []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
