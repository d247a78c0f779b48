"""Runs `python -m dragoman …`, and other programs, many times and imports what they need once.

A process that has imported the command forks for each run. The fork gets its own arguments, folder,
environment, standard streams and terminal, runs the same module, file or text and ends as an interpreter
ends. This leaves out the start of the interpreter and the imports, which are most of what a short command
costs. A test of the start itself starts a process of its own.

With an `address` it also forks for processes that somebody else starts (`tests/forks.py`).

Linux only: elsewhere, whoever needs this starts processes.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import marshal
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, NoReturn

from dragoman.testing.pace import patience

ROOT = Path(__file__).resolve().parents[1]
LARGEST_REQUEST = 200_000
"""Bytes of arguments and environment: what a socket takes as one message."""


COSTS = "DRAGOMAN_COSTS"
"""What `tests/costs.py` calls so as well; that module imports pytest."""


class CommandForks(ABC):
    """Commands as forks of a server. Several threads may run commands at the same time."""

    @abstractmethod
    def _ask(self, request: bytes, ends: list[int]) -> None:
        """Pass a request on to the server, with the streams of the fork and the end that is told of it."""

    @abstractmethod
    def close(self) -> None:
        """End what was started for this; the commands have ended before."""

    def run(
        self,
        arguments: Sequence[str],
        *,
        given: bytes | None,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float,
    ) -> subprocess.CompletedProcess[bytes]:
        """`subprocess.run` with captured output; without `given`, standard input is empty."""
        request = marshal.dumps((["-m", "dragoman", *arguments], str(cwd), dict(env)))
        out, err, report = os.pipe(), os.pipe(), os.pipe()
        source = (os.open(os.devnull, os.O_RDONLY), None) if given is None else os.pipe()
        theirs = [source[0], out[1], err[1], report[1]]
        try:
            self._ask(request, theirs)
        finally:
            for end in theirs:
                os.close(end)
        with open(report[0], "rb") as status, ThreadPoolExecutor(3) as pool:
            pid = int(status.readline())
            texts = [pool.submit(_read, end[0]) for end in (out, err)]
            if source[1] is not None:
                pool.submit(_write, source[1], given or b"")
            alarm = threading.Timer(timeout, os.kill, (pid, signal.SIGKILL))
            alarm.start()
            try:
                code = int(status.readline())
            finally:
                alarm.cancel()
            return subprocess.CompletedProcess(arguments, code, texts[0].result(), texts[1].result())


class SharedForks(CommandForks):
    """Those of a server that somebody else has started, and will end."""

    def __init__(self, address: str) -> None:
        self._address = address

    def close(self) -> None:
        """Nothing was started."""

    def _ask(self, request: bytes, ends: list[int]) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
            server.connect(self._address)
            socket.send_fds(server, [request], ends)


class ForkServer(CommandForks):
    """The process that forks."""

    def __init__(self, *modules: str, address: str = "", python: str = "") -> None:
        """`modules` are imported before the first fork. `python` is what the forks take for the interpreter
        when they start programs themselves.
        """
        self._lock = threading.Lock()
        self.address = address
        self._socket, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Of a server without an address the test that started it has the costs.
        names = ("PATH", "PYTHONDONTWRITEBYTECODE", *([COSTS] if address else []))
        kept = {name: os.environ[name] for name in names if name in os.environ}
        with remote:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", str(remote.fileno()), address, python, *modules],
                stdin=subprocess.PIPE,  # Python looks at its streams when it starts: the commands have pipes
                stdout=subprocess.PIPE,
                pass_fds=[remote.fileno()],
                cwd=ROOT,
                env={**kept, "HOME": "/nonexistent"},
            )

    def close(self) -> None:
        """End the process; the commands have ended before."""
        if self.address:
            Path(self.address).unlink(missing_ok=True)
        self._socket.close()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(patience(10))
        finally:
            self._process.kill()
            self._process.wait()

    def _ask(self, request: bytes, ends: list[int]) -> None:
        with self._lock:
            socket.send_fds(self._socket, [request], ends)


def _read(end: int) -> bytes:
    with open(end, "rb") as stream:
        return stream.read()


def _write(end: int, data: bytes) -> None:
    try:
        with open(end, "wb") as stream:
            stream.write(data)
    except BrokenPipeError:
        pass  # the command has ended without reading all of it


class RunningFork(NamedTuple):
    """A fork, and the descriptors that tell of its end and of the end of whoever asked for it."""

    pid: int
    process: int
    report: int
    origin: str


def _serve(requests: socket.socket, address: str) -> list[str]:
    """Returns in each fork, with the words behind `python`; exits when nobody asks any more."""
    events = select.poll()
    events.register(requests, select.POLLIN)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if address:
        listener.bind(address)  # not before: meanwhile whoever comes starts a process
        listener.listen(100)
        events.register(listener, select.POLLIN)
    running: dict[int, RunningFork] = {}
    while True:
        # What has ended comes first: a new fork may get the numbers of its descriptors.
        for end, _ in sorted(events.poll(), key=lambda event: event[0] not in running):
            if end == requests.fileno():
                request, ends, _, _ = socket.recv_fds(requests, LARGEST_REQUEST, 4)
                if not request:
                    for one in {one.pid: one for one in running.values()}.values():
                        _finish(one, kill=True)
                    sys.exit()
            elif end == listener.fileno():
                with listener.accept()[0] as client:
                    request, ends, _, _ = socket.recv_fds(client, LARGEST_REQUEST, 4)
                if not request:
                    continue  # it was killed at once
            elif (fork := running.get(end)) is not None:
                events.unregister(fork.process)
                events.unregister(fork.report)
                del running[fork.process], running[fork.report]
                _finish(fork, kill=end == fork.report)
                continue
            else:
                continue  # the other descriptor of the last one
            *streams, report = ends
            if (pid := os.fork()) == 0:
                requests.close()
                listener.close()
                for end in (report, *running):
                    os.close(end)
                return _become(request, streams)
            for end in streams:
                os.close(end)
            one = RunningFork(pid, os.pidfd_open(pid), report, _origin(request))
            running[one.process] = running[one.report] = one
            events.register(one.process, select.POLLIN)
            events.register(one.report, 0)  # an error: the other end was closed
            _tell(report, pid)


def _origin(request: bytes) -> str:
    """The test that wants the program and its words, if somebody counts what tests cost."""
    if COSTS not in os.environ:
        return ""
    words, _, env = marshal.loads(request)
    test = env.get("PYTEST_CURRENT_TEST", "unnamed::").partition(" ")[0]
    return " ".join([test, *" ".join(words).split()])[:200]


def _finish(one: RunningFork, *, kill: bool) -> None:
    """Tell whoever asked how the command has ended; what it took is counted as ours."""
    if kill:  # nobody listens any more
        os.kill(one.pid, signal.SIGKILL)
    _, status, usage = os.wait4(one.pid, 0)
    _tell(one.report, os.waitstatus_to_exitcode(status))
    if one.origin:
        with open(os.environ[COSTS], "a", encoding="utf-8") as file:
            file.write(f"0\t0\t{usage.ru_utime + usage.ru_stime:.4f}\t{one.origin}\n")
    os.close(one.process)
    os.close(one.report)


def _become(request: bytes, streams: list[int]) -> list[str]:
    """The process that was asked for, but for its program."""
    os.setsid()
    for number, end in enumerate(streams):
        os.dup2(end, number)
        os.close(end)
    if os.isatty(0):
        with suppress(OSError):  # it is somebody else's
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    words, cwd, env = marshal.loads(request)
    for text in (sys.stdout, sys.stderr):
        if isinstance(text, TextIOWrapper) and (text.isatty() or "PYTHONUNBUFFERED" in env):
            text.reconfigure(line_buffering=True, write_through="PYTHONUNBUFFERED" in env)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path[1:1] = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
    return list(words)


def _run(words: list[str]) -> None:
    """What `python` does with these words."""
    option, *arguments = words
    if option == "-m":
        name, *arguments = arguments
        sys.path[0] = os.getcwd()
        sys.argv[1:] = arguments
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    elif option == "-c":
        code, *arguments = arguments
        sys.path[0] = ""
        sys.argv = ["-c", *arguments]
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(code, "<string>", "exec", dont_inherit=True), main.__dict__)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(option))
        sys.argv = words
        runpy.run_path(option, run_name="__main__")


def _status_of(words: list[str]) -> int:
    """Runs it, and says what an interpreter says of how it ended."""
    try:
        _run(words)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())
        return -signal.SIGINT
    except BaseException:  # noqa: BLE001  nobody is above it
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(status: int) -> NoReturn:
    """As an interpreter ends, but for taking its modules apart: they lie in memory that is shared with the
    server, and would be copied for that, page by page.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    gc.collect()  # what nobody has closed says so
    for text in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            text.flush()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status & 0xFF)


def _tell(report: int, number: int) -> None:
    try:
        os.write(report, b"%d\n" % number)
    except BrokenPipeError:
        pass  # nobody listens any more


if __name__ == "__main__":
    number, address, python, *modules = sys.argv[1:]
    sys.executable = python or sys.executable
    for name in ("dragoman_app.cli", *modules):
        importlib.import_module(name)
    gc.freeze()  # what is shared with the forks stays shared
    _end(_status_of(_serve(socket.socket(fileno=int(number)), address)))
