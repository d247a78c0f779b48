"""Runs `python -m dragoman …`, and other modules, many times and imports them once.

A process that has imported the command forks for each run. The fork gets its own arguments, folder,
environment and standard streams, runs the same module and ends as an interpreter ends. This leaves out the
start of the interpreter and the imports, which are most of what a short command costs. A test of the start
itself, of a terminal or of signals starts a process of its own.

With an `address` it also forks for processes that somebody else starts (`tests/forks.py`).

Linux only: elsewhere, whoever needs this starts processes.
"""

from __future__ import annotations

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
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

from dragoman.testing.pace import patience

ROOT = Path(__file__).resolve().parents[1]
LARGEST_REQUEST = 200_000
"""Bytes of arguments and environment: what a socket takes as one message."""


class ForkServer:
    """The process that forks. Several threads may run commands at the same time."""

    def __init__(self, *modules: str, address: str = "") -> None:
        """`modules` are imported before the first fork."""
        self._lock = threading.Lock()
        self.address = address
        self._socket, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONDONTWRITEBYTECODE") if name in os.environ}
        with remote:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", str(remote.fileno()), address, *modules],
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
            with self._lock:
                socket.send_fds(self._socket, [request], theirs)
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


def _read(end: int) -> bytes:
    with open(end, "rb") as stream:
        return stream.read()


def _write(end: int, data: bytes) -> None:
    try:
        with open(end, "wb") as stream:
            stream.write(data)
    except BrokenPipeError:
        pass  # the command has ended without reading all of it


def _serve(requests: socket.socket, address: str) -> str:
    """Returns in each fork, with the name of the module to run; exits when nobody asks any more."""
    sources = [requests, listener := socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)]
    if address:
        listener.bind(address)  # not before: meanwhile whoever comes starts a process
        listener.listen(100)
    else:
        sources.remove(listener)
    while True:
        _reap()
        if requests in select.select(sources, [], [])[0]:
            request, ends, _, _ = socket.recv_fds(requests, LARGEST_REQUEST, 4)
            if not request:
                _reap()
                sys.exit()
        else:
            with listener.accept()[0] as client:
                request, ends, _, _ = socket.recv_fds(client, LARGEST_REQUEST, 4)
            if not request:
                continue  # it was killed at once
        if os.fork() == 0:
            break
        for end in ends:
            os.close(end)
    requests.close()
    listener.close()
    *streams, report = ends
    if (pid := os.fork()) != 0:
        for end in streams:
            os.close(end)
        _watch(pid, report)
    os.close(report)
    os.setsid()
    for number, end in enumerate(streams):
        os.dup2(end, number)
        os.close(end)
    (_, module, *arguments), cwd, env = marshal.loads(request)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path[0] = cwd
    sys.argv[1:] = arguments
    return str(module)


def _reap() -> None:
    """Those that wait for the commands, and have ended: what they took is counted as ours."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        pass  # there are none


def _watch(pid: int, report: int) -> NoReturn:
    """Tell whoever asked how the command has ended; if nobody listens any more, end the command."""
    _tell(report, pid)
    events = select.poll()
    events.register(process := os.pidfd_open(pid), select.POLLIN)
    events.register(report, 0)  # an error: the other end was closed
    if not any(end == process for end, _ in events.poll()):
        os.kill(pid, signal.SIGKILL)
    _tell(report, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    os._exit(0)


def _tell(report: int, number: int) -> None:
    try:
        os.write(report, b"%d\n" % number)
    except BrokenPipeError:
        pass  # nobody listens any more


if __name__ == "__main__":
    number, address, *modules = sys.argv[1:]
    for name in ("dragoman.cli", *modules):
        importlib.import_module(name)
    gc.freeze()  # what is shared with the forks stays shared
    module = _serve(socket.socket(fileno=int(number)), address)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
