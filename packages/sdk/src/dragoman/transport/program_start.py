"""Starts a program before there is an event loop to watch it.

To start an interpreter takes about as long as to import asyncio does, so whoever starts an agent starts it
first and imports afterwards. Hence this module imports neither asyncio nor anything that does, and no
`msgspec`. A `StartedProgram` has a guard from its first moment (see `guard`); `posix.PosixTree` takes it over
and owns it from then on. POSIX only: on Windows a tree is started and owned in one step.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

from dragoman.transport import tree
from dragoman.transport.child_pipes import close_all, open_pipes
from dragoman.transport.guard import TreeGuard

UNKILLABLE = 1.0
"""The seconds that a killed program may need to end."""


class StartedProgram:
    """A program that was started as the root of a tree and has no owner yet."""

    __slots__ = ("command", "guard", "mark", "process", "start_time")

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str] | None,
        files: tuple[int, int, int],
    ) -> None:
        """Raises the system's errors. `files` still belong to the caller."""
        self.command = command
        self.mark = os.urandom(8).hex()
        self.guard = TreeGuard(self.mark)
        try:
            self.process = _start(command, cwd=cwd, env=env, files=files, mark=self.mark)
        except BaseException:
            self.guard.dismiss()
            raise
        root = tree.look_up(self.process.pid)
        self.start_time = root.start if root else 0
        """Tells the program from a later one with the same number."""
        self.guard.watch(self.process.pid, start=self.start_time)

    def kill(self) -> None:
        """End the program and all its processes at once, and reap it."""
        tree.kill_tree(self.process.pid, start=self.start_time, mark=self.mark)
        with suppress(subprocess.TimeoutExpired):  # it cannot be killed; the system has it
            self.process.wait(UNKILLABLE)
        self.guard.dismiss()


class StartedChild:
    """A started program with pipes for its input, output and standard error; `pipes` are our ends."""

    __slots__ = ("pipes", "program")

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str] | None,
    ) -> None:
        """Raises the system's errors, and `SpawnFailed` if there are no more pipes."""
        self.pipes, child_ends = open_pipes()
        try:
            self.program = StartedProgram(command, cwd=cwd, env=env, files=child_ends)
        except BaseException:
            close_all(self.pipes)
            raise
        finally:
            close_all(child_ends)

    def kill(self) -> None:
        """End the program, and close the pipes."""
        self.program.kill()
        close_all(self.pipes)


def _start(
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None,
    env: Mapping[str, str] | None,
    files: tuple[int, int, int],
    mark: str,
) -> subprocess.Popen[bytes]:
    environment = dict(os.environ if env is None else env)
    outer = environment.get(tree.MARK)
    environment[tree.MARK] = f"{outer},{mark}" if outer else mark
    return subprocess.Popen(
        command,
        stdin=files[0],
        stdout=files[1],
        stderr=files[2],
        cwd=cwd,
        env=environment,
        close_fds=True,  # 0, 1, 2 and nothing else
        start_new_session=True,  # the program's number becomes the number of its session and group
    )
