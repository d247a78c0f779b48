"""Runs the whole suite in parallel, and what failed once more, alone.

Thousands of tests with real processes share few cores. A test that fails among the others and passes alone is
unsteady: it is named at the end, in so many words, and is a fault to mend, but it does not say that the tree
is broken. One that fails alone too, or more than a handful of failures, does.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FAILED = 1
"""pytest's exit status for tests that failed; any other means that they were not all run."""

HANDFUL = 5
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main(arguments: list[str]) -> int:
    pytest = [sys.executable, "-m", "pytest", "-q"]
    LAST_FAILED.unlink(missing_ok=True)
    status = subprocess.run([*pytest, *arguments], check=False).returncode
    failed = _failed()
    if status != FAILED or not 0 < len(failed) <= HANDFUL:
        return status
    print(f"\n{len(failed)} failed among the others and are now run alone", flush=True)
    status = subprocess.run([*pytest, "-p", "no:cacheprovider", *failed], check=False).returncode
    for test in failed if status == 0 else ():
        print(f"UNSTEADY, failed among others and passed alone: {test}", flush=True)
    return status


def _failed() -> list[str]:
    try:
        return list(json.loads(LAST_FAILED.read_bytes()))
    except FileNotFoundError:
        return []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
