"""Runs an external tool: gives it a text and reads its output, within a time limit.

It runs in a process group of its own, which is gone when the caller is, however that ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.errors import DragomanError

DEADLINE = 30.0
"""The most seconds for one run of a tool; our tools take a fraction of one."""

_REAPING = 5.0

_IS_WINDOWS = sys.platform == "win32"


class ToolFailed(DragomanError):
    """A tool failed; its findings are missing."""

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(f"{tool}: {why}")
        self.tool = tool
        self.why = why


class ProgramResult(NamedTuple):
    """The output of a tool."""

    status: int
    out: bytes
    err: bytes


def no_answer(tool: str, result: ProgramResult) -> ToolFailed:
    """Return the error for a tool that ended normally with unreadable output."""
    lines = (result.err or result.out).decode("utf-8", "replace").strip().splitlines()
    return ToolFailed(tool, f"ended with {result.status}: {lines[0] if lines else 'no answer'}")


async def run_program(
    command: Sequence[str],
    *,
    text: bytes = b"",
    cwd: str | None = None,
    env: dict[str, str] | None = None,
    deadline: float = DEADLINE,
) -> ProgramResult:
    """Run a program to its end. Raises `ToolFailed` if it cannot start or takes too long."""
    name = Path(command[0]).stem
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=env,
            start_new_session=not _IS_WINDOWS,
        )
    except OSError as error:
        raise ToolFailed(name, f"cannot be started: {error}") from None
    try:
        async with asyncio.timeout(deadline):
            out, err = await process.communicate(text)
    except TimeoutError:
        raise ToolFailed(name, f"took longer than {deadline:g} seconds and was ended") from None
    finally:
        await end(process)
    assert process.returncode is not None
    return ProgramResult(process.returncode, out, err)


async def end(process: asyncio.subprocess.Process) -> None:
    """End a process and its children, and reap them; do nothing if they are gone."""
    if process.returncode is not None:
        return
    try:
        if _IS_WINDOWS:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # it ended by itself just now
        pass
    # Shielded: a second cancel must not leave a zombie behind. After SIGKILL this takes no time.
    await asyncio.shield(_reap(process))


async def _reap(process: asyncio.subprocess.Process) -> None:
    # What is still in the pipes is read away: while a pipe is full, asyncio does not notice the end.
    pipes = [pipe.read() for pipe in (process.stdout, process.stderr) if pipe is not None]
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(_REAPING):
            await asyncio.gather(*pipes, process.wait())
    except TimeoutError:  # something that left the group holds the pipe; the process itself is gone
        pass
