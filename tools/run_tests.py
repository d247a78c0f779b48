"""Runs pytest and answers for everything that it started.

A test that failed has failed: pytest runs what failed once more, one test after the other, only to show
whether it depends on the load or on other tests, and the run fails all the same. What passes alone is named
as UNSTEADY at the end. No fixed time ends a run
(`tests/progress.py` ends one in which nothing happens). When pytest is over, no process that a test started
may be left: on Linux this process adopts orphans, so that it sees every one of them, names it with the test
that started it, ends it, and the run fails. With `--costs` it ends with a table of what each file has taken
of a processor, programs included (`tests/costs.py`).
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

FAILED = 1
"""pytest's exit status for tests that failed."""

FEW = 10
"""After so many that fail again, the others are not tried: the tree is broken, no single test is to blame."""

GOODBYE = 15.0
"""Seconds for processes that are about to end anyway, such as the servers of a cluster."""

PR_SET_CHILD_SUBREAPER = 36

COSTS = "DRAGOMAN_COSTS"
"""What `tests/costs.py` calls so."""

orphan_seconds = 0.0
"""Of a processor, that adopted processes have taken; nobody can say any more which test started them."""


def main(arguments: list[str]) -> int:
    """`--cache DIR` first: what failed is remembered there, beside that of another run."""
    cache = ".pytest_cache"
    if arguments[:1] == ["--cache"]:
        cache, arguments = arguments[1], arguments[2:]
    plugins = ["-p", "tests.progress", "-p", "tests.workers"]
    record = Path("build/costs.tsv").absolute() if "--costs" in arguments else None
    if record is not None:
        arguments.remove("--costs")
        record.parent.mkdir(exist_ok=True)
        record.write_text("")
        os.environ[COSTS] = str(record)
        plugins += ["-p", "tests.costs"]
    pytest = [sys.executable, "-m", "pytest", "-q", *plugins, "-o", f"cache_dir={cache}"]
    adopt_orphans()
    status = run([*pytest, "--cache-clear", *arguments])
    if status == FAILED:
        failed = _failed(cache)
        print(
            "\nwhat failed is run once more, one test after the other; it has failed all the same", flush=True
        )
        again = ["--workers", "1", "--last-failed", "--maxfail", str(FEW), "--tb=no", "-rfEp"]
        if run([*pytest, *arguments, *again]) == 0:
            for test in failed:
                print(f"UNSTEADY: {test} failed beside other tests and passed alone", flush=True)
    left = end_orphans()
    for process in left:
        print(f"LEFT RUNNING: {process}", flush=True)
    if record is not None:
        subprocess.run(
            [sys.executable, "-m", "tests.costs", str(record), f"{orphan_seconds:.4f}"], check=True
        )
    return status or (FAILED if left else 0)


def _failed(cache: str) -> list[str]:
    """The tests that failed in the run before."""
    record = Path(cache, "v/cache/lastfailed")
    return sorted(json.loads(record.read_text())) if record.exists() else []


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(command: list[str]) -> int:
    """Run it to its end, and reap the orphans that end meanwhile."""
    global orphan_seconds
    process = subprocess.Popen(command)
    try:
        while True:
            pid, status, usage = os.wait4(-1, 0)
            if pid == process.pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                return abs(process.returncode)
            orphan_seconds += usage.ru_utime + usage.ru_stime
    finally:
        if process.returncode is None:  # interrupted: Ctrl-C reached pytest too
            process.wait()


def end_orphans() -> list[str]:
    """Give what was adopted a moment to end, then name and kill it."""
    until = time.monotonic() + GOODBYE
    while _children() and time.monotonic() < until:
        time.sleep(0.1)
    names: list[str] = []
    while children := _children():  # the children of what is killed become ours
        names += [_name(pid) for pid in children]
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return names


def _children() -> list[int]:
    """Processes of ours that still run; those that have ended are reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return []
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:  # not Linux: nothing is adopted there
        return []


def _name(pid: int) -> str:
    words = _bytes(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
    variables = _bytes(pid, "environ").split(b"\0")
    test = next((entry for entry in variables if entry.startswith(b"PYTEST_CURRENT_TEST=")), b"")
    origin = test.partition(b"=")[2].decode(errors="replace") or "an unknown test"
    return f"{words[:200] or pid} (started by {origin})"


def _bytes(pid: int, file: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes()
    except OSError:  # it ended while we looked
        return b""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
