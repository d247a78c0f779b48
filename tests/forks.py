"""Programs of ours that tests start, as forks: a run of many tests has one process that has imported them.

`DRAGOMAN` and `module(…)` begin the command lines of tests that talk to a program, or let another one start
it; `forked(…)` makes such a command line of any other. That starts a small process with the streams, the
signals and the status of the fork (`tests/fork_client.py`); its number is not that of the fork. `start(…)` is
for tests that kill the program or ask the system about its number: nothing is between them and the fork.
Tests of the start, of memory and of process trees start the program itself, and so does a run of few tests.
"""

from __future__ import annotations

import marshal
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from dragoman.testing.pace import patience
from dragoman_check.rules import AREAS
from tests.fork_client import is_large
from tests.fork_server import CommandForks, ForkServer, SharedForks

ADDRESS = f"{tempfile.gettempdir()}/forks-{os.getpid()}"
"""Of the server of this run; workers fork later."""

MANY = 500
"""Tests for which a server is worth its start."""

MODULES = (
    "dragoman_app.agents.code.agent",
    "dragoman_app.agents.review.review_run",
    "dragoman_app.apps.console",
    "dragoman_app.apps.run.command",
    "dragoman_app.apps.run.drive",
    "dragoman.blocking",
    "dragoman_app.cli.agent_code",
    "dragoman_app.cli.agent_echo",
    "dragoman_app.cli.agent_review",
    "dragoman_app.cli.agent_script",
    "dragoman_app.cli.agents_login",
    "dragoman_app.cli.doctor",
    "dragoman_app.cli.translate",
    "dragoman_hub.api.app",
    "dragoman_hub.cluster.node",
    "dragoman_hub.runner",
    "tests.fork_start",
)
"""What most of the programs import. A fork costs the more, the more memory the server has."""

LARGE = "-large"
"""Behind `ADDRESS`: the server for programs that import more than all others together."""

LARGE_MODULES = (
    "acp",
    "dragoman_app.apps.chat.command",
    "dragoman_app.cli.check_agent",
    "dragoman_app.cli.check_client",
    *(f"dragoman_check.rules.{area}" for area in AREAS),
    "mcp.server.mcpserver",
    "tests.agents.model_layer",
)


has_servers = False
"""Whether this run has started them; workers fork later. They take a while to import their modules."""


def wait_for_servers() -> None:
    """Until they fork, if there are any: programs that are started before cost more than the wait."""
    until = time.monotonic() + patience(60)
    while has_servers and time.monotonic() < until:
        if all(Path(ADDRESS + end).is_socket() for end in ("", LARGE)):
            return
        time.sleep(0.05)


CLIENT = str(Path(__file__).with_name("fork_client.py"))


def module(name: str) -> list[str]:
    """What stands before the arguments of `python -m name`."""
    return forked([sys.executable, "-m", name])


def forked(command: Sequence[str]) -> list[str]:
    """The same command with a fork instead of this interpreter."""
    if sys.platform != "linux" or command[0] != sys.executable:
        return list(command)
    return [sys.executable, "-I", "-S", CLIENT, ADDRESS, *command[1:]]


def unforked(command: list[str]) -> list[str]:
    """The same as a process: for another version of something that the server has imported."""
    return [sys.executable, *command[5:]] if ADDRESS in command[:5] else command


def interpreter(folder: Path) -> Path:
    """A program in this folder that others take for the interpreter."""
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec {shlex.join(forked([sys.executable]))} "$@"\n')
    python.chmod(0o755)
    return python


DRAGOMAN = module("dragoman")


def for_commands(*modules: str) -> CommandForks:
    """Forks for commands that are run to their end: of the server of this run, or of one that has imported
    these modules.
    """
    return SharedForks(ADDRESS) if Path(ADDRESS).is_socket() else ForkServer(*modules)


class Fork:
    """A fork that belongs to us, as far as tests want of it what `subprocess.Popen` has."""

    def __init__(
        self,
        words: Sequence[str],
        server: socket.socket,
        *,
        cwd: str | Path,
        env: Mapping[str, str],
        streams: Sequence[int],
    ) -> None:
        report = os.pipe()
        request = marshal.dumps((list(words), str(cwd), dict(env)))
        try:
            socket.send_fds(server, [request], [*streams, report[1]])
        finally:
            os.close(report[1])
        self.stdout: BinaryIO | None = None
        self._report = os.fdopen(report[0], "rb", buffering=0)
        self.pid = int(self._report.readline())
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, and that is about to be told
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """Its exit status, if it has ended."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status, negative for a signal."""
        if self.returncode is None:
            if not select.select([self._report], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            with self._report:
                self.returncode = int(self._report.readline())
        return self.returncode


def start(
    command: Sequence[str],
    *,
    cwd: str | Path,
    env: Mapping[str, str],
    stderr: int,
    is_forked: bool = True,
) -> subprocess.Popen[bytes] | Fork:
    """A program of ours in a session of its own, of which we read the output; a fork if there is a server."""
    if is_forked and (server := _server_for(command)) is not None:
        out = os.pipe()
        nothing = os.open(os.devnull, os.O_RDWR)
        errors = nothing if stderr == subprocess.DEVNULL else stderr  # a descriptor alone can be sent
        try:
            with server:
                fork = Fork(command[1:], server, cwd=cwd, env=env, streams=(nothing, out[1], errors))
        finally:
            os.close(nothing)
            os.close(out[1])
        fork.stdout = os.fdopen(out[0], "rb")
        return fork
    return subprocess.Popen(
        list(command), cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True
    )


def first_line(process: subprocess.Popen[bytes] | Fork, log: Path) -> bytes:
    """What a server says first. One that ends before it has failed: its log says why."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        status = process.wait(patience(30))
        raise AssertionError(f"it ended early with status {status}:\n{log.read_text('utf-8')[-4000:]}")
    return line


def start_in_terminal(
    command: Sequence[str], terminal: int, *, cwd: str | Path, env: Mapping[str, str]
) -> Fork | None:
    """A program of ours in a session of its own with this terminal; None if there is no server."""
    if (server := _server_for(command)) is None:
        return None
    with server:
        return Fork(command[1:], server, cwd=cwd, env=env, streams=(terminal, terminal, terminal))


def _server_for(command: Sequence[str]) -> socket.socket | None:
    """A connection to the server that forks for this command line, if there is one."""
    if command[0] != sys.executable or sys.platform != "linux":
        return None
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if server.connect_ex(ADDRESS + LARGE if is_large(list(command[1:])) else ADDRESS) == 0:
        return server
    server.close()
    return None
