"""Terminals for an agent under examination: its commands really run, in process trees that we own.

A command runs where the agent said, or in the folder that was lent. What is still running when the
examination of a connection ends is ended with it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from dragoman.errors import SpawnFailed
from dragoman.transport.contract import Grace
from dragoman.transport.process import ChildTransport, spawn
from dragoman.wire.envelope import JsonObject

MOST = 1_000_000
"""Bytes of output that are kept of a terminal whose maker named no limit."""

SIGNALS = {-2: "SIGINT", -9: "SIGKILL", -15: "SIGTERM"}

OnExit = Callable[[JsonObject], None]


class LentTerminal:
    """One command, its output so far, and how it ended."""

    def __init__(self, params: JsonObject, folder: str) -> None:
        limit = params.get("outputByteLimit")
        self._limit = limit if type(limit) is int and limit >= 0 else MOST
        self._output = bytearray()
        self._is_truncated = False
        self._waiting: list[OnExit] = []
        self._over = asyncio.Event()
        self.status: JsonObject | None = None
        command, args = str(params.get("command", "")), [str(arg) for arg in params.get("args") or ()]
        # A command without arguments may be a whole line, as it is typed.
        words = [command, *args] if args or not command.strip() else ["/bin/sh", "-c", command]
        self._child: ChildTransport = spawn(
            words,
            cwd=str(params.get("cwd") or folder),
            env={**os.environ, **_env(params.get("env"))},
            grace=Grace.steps(0.2),
            on_stderr=self._take,
        )
        self._child.start(self)
        self._closing = asyncio.ensure_future(self._child.close_input())

    # The sink of its output.

    def feed(self, block: bytes) -> None:
        self._take(block)

    def on_oversized(self, size: int) -> None:
        self._is_truncated = True

    def on_end(self, reason: BaseException | None) -> None:
        code = self._child.tree.returncode
        self.status = {
            "exitCode": code if code is not None and code >= 0 else None,
            "signal": None if code is None or code >= 0 else SIGNALS.get(code, str(-code)),
        }
        self._over.set()
        waiting, self._waiting = self._waiting, []
        for tell in waiting:
            tell(self.status)

    # For the editor.

    def when_ended(self, tell: OnExit) -> None:
        if self.status is None:
            self._waiting.append(tell)
        else:
            tell(self.status)

    def output(self) -> JsonObject:
        text = bytes(self._output).decode(errors="ignore")
        result = {"output": text, "truncated": self._is_truncated}
        return result if self.status is None else {**result, "exitStatus": self.status}

    async def wait(self) -> None:
        """Until it has ended."""
        await self._over.wait()

    def kill(self) -> None:
        self._child.tree.kill()

    async def aclose(self) -> None:
        self.kill()
        await self._child.aclose()

    def _take(self, block: bytes) -> None:
        self._output += block
        over = len(self._output) - self._limit
        if over > 0:
            self._is_truncated = True
            del self._output[:over]


def open_terminal(params: JsonObject, folder: str) -> LentTerminal | None:
    """None if the command cannot be started."""
    try:
        return LentTerminal(params, folder)
    except (SpawnFailed, OSError, ValueError):
        return None


def _env(variables: object) -> dict[str, str]:
    pairs = variables if isinstance(variables, list) else []
    return {str(pair["name"]): str(pair.get("value", "")) for pair in pairs if _is_pair(pair)}


def _is_pair(pair: object) -> bool:
    return isinstance(pair, dict) and bool(pair.get("name"))
