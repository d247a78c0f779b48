"""Asks a program for its version: runs it once with a deadline, and ends all its processes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from dragoman.errors import SpawnFailed
from dragoman.transport.contract import Grace
from dragoman.transport.process import spawn

ASKABLE = ("node", "python", "bun", "deno")
"""Programs whose name starts like this answer `--version` with one line, and at once."""

SECONDS = 3.0

AT_ONCE = Grace(after_eof=0.0, after_terminate=0.2, leftovers=0.0)


def is_askable(program: str) -> bool:
    return os.path.basename(program).startswith(ASKABLE)


async def version_of(program: str, *, env: Mapping[str, str]) -> str | None:
    """The first line of `program --version`; None if it prints none in time."""
    line = _FirstLine()
    try:
        child = spawn([program, "--version"], env=env, grace=AT_ONCE)
    except SpawnFailed:
        return None
    try:
        child.start(line)
        async with asyncio.timeout(SECONDS):
            return await line.answer
    except TimeoutError:
        return None
    finally:
        await child.aclose()


class _FirstLine:
    """A sink that takes the first line."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    def feed(self, block: bytes) -> None:
        if not self.answer.done():
            self.answer.set_result(block.split(b"\n", 1)[0].decode(errors="replace").strip())

    def on_oversized(self, size: int) -> None:
        pass  # no version is as long

    def on_end(self, reason: BaseException | None) -> None:
        if not self.answer.done():
            self.answer.set_result(None)
