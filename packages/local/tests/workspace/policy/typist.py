"""Somebody at a terminal: what is shown is kept, what was prepared is typed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager

from dragoman_local.workspace.policy.terminal import TerminalLines


class Terminal:
    """A real pipe to read from, and everything that was written."""

    def __init__(self, reading: int, writing: int) -> None:
        self.lines = TerminalLines(reading)
        self.shown = ""
        self._writing = writing
        self._awaited: list[tuple[str, asyncio.Future[None]]] = []

    def write(self, text: str) -> None:
        self.shown += text
        for wanted, seen in self._awaited:
            if wanted in self.shown and not seen.done():
                seen.set_result(None)

    async def until(self, text: str) -> None:
        """Wait until something is shown."""
        seen: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._awaited.append((text, seen))
        self.write("")
        await seen

    def type(self, *lines: str) -> None:
        os.write(self._writing, "".join(f"{line}\n" for line in lines).encode())


@contextmanager
def terminal(*lines: str, ends: bool = False) -> Iterator[Terminal]:
    reading, writing = os.pipe()
    try:
        found = Terminal(reading, writing)
        found.type(*lines)
        if ends:
            os.close(writing)
        yield found
    finally:
        os.close(reading)
        if not ends:
            os.close(writing)
