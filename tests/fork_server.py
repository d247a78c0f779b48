"""Runs `python -m dragoman …` many times and imports it once.

A process that has imported the command forks for each run. The fork gets its own arguments, folder,
environment and standard streams, runs the same `main` and ends as an interpreter ends. This leaves out the
start of the interpreter and the imports, which are most of what a short command costs. A test of the start
itself, of a terminal or of signals starts a process of its own.

Linux only: elsewhere, whoever needs this starts processes.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dragoman.__main__
from dragoman.cli import main
from dragoman.testing.pace import patience

ROOT = Path(__file__).resolve().parents[1]
LARGEST_REQUEST = 200_000
"""Bytes of arguments and environment: what a socket takes as one message."""


class ForkServer:
    """The process that forks. Several threads may run commands at the same time."""

    def __init__(self, *modules: str) -> None:
        """`modules` are imported before the first fork."""
        self._lock = threading.Lock()
        self._socket, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONDONTWRITEBYTECODE") if name in os.environ}
        with remote:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", str(remote.fileno()), *modules],
                stdin=subprocess.PIPE,  # Python looks at its streams when it starts: the commands have pipes
                stdout=subprocess.PIPE,
                pass_fds=[remote.fileno()],
                cwd=ROOT,
                env={**kept, "HOME": "/nonexistent"},
            )

    def close(self) -> None:
        """End the process; the commands have ended before."""
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
        request = json.dumps([list(arguments), str(cwd), dict(env)]).encode()
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


def _serve(requests: socket.socket) -> None:
    """Returns in each fork that is to run the command, and exits when nobody asks any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait for the commands
    while True:
        request, ends, _, _ = socket.recv_fds(requests, LARGEST_REQUEST, 4)
        if not request:
            sys.exit()
        if os.fork() == 0:
            break
        for end in ends:
            os.close(end)
    requests.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, report = ends
    if (pid := os.fork()) != 0:
        for end in streams:
            os.close(end)
        os.write(report, b"%d\n" % pid)
        os.write(report, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        os._exit(0)
    os.close(report)
    for number, end in enumerate(streams):
        os.dup2(end, number)
        os.close(end)
    arguments, cwd, env = json.loads(request)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path[0] = cwd
    sys.argv = [dragoman.__main__.__file__, *arguments]


if __name__ == "__main__":
    for name in sys.argv[2:]:
        importlib.import_module(name)
    _serve(socket.socket(fileno=int(sys.argv[1])))
    sys.exit(main())
