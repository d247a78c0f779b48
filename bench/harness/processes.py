"""Children of the benchmark: started with a time limit, ended as a tree, none left behind.

A program may start programs of its own, in groups of their own. The runner therefore adopts orphans (Linux),
and after each run waits for, then kills, whatever still has it as parent. It knows no peers and no figures.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

BENCH = Path(__file__).resolve().parent.parent
PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 2.0  # an agent whose client left needs a moment to notice


class Failed(Exception):
    """A program did not do its work; the text says how, for the reader of the results."""


@dataclass(frozen=True)
class Finished:
    stdout: str
    stderr: str
    cpu_seconds: float


def adopt_orphans() -> None:
    """Make this process the parent of every descendant whose own parent dies."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot adopt orphaned processes")


def run(command: list[str], *, seconds: float) -> Finished:
    """Run to the end and give back what it printed; a limit exceeded or a bad exit raises ``Failed``."""
    before = _children_cpu()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with _tree(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err) as process:
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                raise Failed(f"no result within {seconds:.0f} s{_tail(err)}") from None
        if code != 0:
            raise Failed(f"exit code {code}{_tail(err)}")
        return Finished(_text(out), _text(err), _children_cpu() - before)


@contextlib.contextmanager
def piped(command: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """A program with both ends of its stdio in our hands; the second value collects its stderr."""
    with (
        tempfile.TemporaryFile() as err,
        _tree(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err) as process,
    ):
        yield process, err


@contextlib.contextmanager
def _tree(
    command: list[str], *, stdin: int, stdout: int | IO[bytes], stderr: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    try:
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=BENCH,
            env=_plain_environment(),
            start_new_session=True,
        )
    except OSError as error:
        raise Failed(f"cannot start {command[0]}: {error}") from error
    clean = False
    try:
        yield process
        clean = True
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        _end(process, grace=GRACE_SECONDS if clean else 0.0)


def _plain_environment() -> dict[str, str]:
    """Ours without what changes how an interpreter runs, such as that it caches no bytecode."""
    return {
        name: value
        for name, value in os.environ.items()
        if name == "PYTHONPATH" or not name.startswith(("PYTHON", "NODE_"))
    }


def _end(process: subprocess.Popen[bytes], *, grace: float) -> None:
    deadline = time.monotonic() + grace
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(grace)
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    while left := _reap():
        if time.monotonic() > deadline:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _reap() -> list[int]:
    """Collect the children that ended; the ones that still run are returned."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    mine = os.getpid()
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _parent(pid) == mine]


def _parent(pid: int) -> int:
    try:
        # The name in the second field may hold blanks and brackets; the parent is the second field after it.
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def cpu_of(pid: int) -> float:
    """Seconds that all threads of a process have used, to the nanosecond: by the clock that Linux keeps for
    each process, whose number is made from the process's own (clock_getcpuclockid).
    """
    return time.clock_gettime((~pid << 3) | 2)


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _tail(err: IO[bytes]) -> str:
    lines = _text(err).strip().splitlines()
    return f": {lines[-1][:200]}" if lines else ""


def stderr_text(err: IO[bytes]) -> str:
    """What a piped program said on stderr so far."""
    return _text(err)
