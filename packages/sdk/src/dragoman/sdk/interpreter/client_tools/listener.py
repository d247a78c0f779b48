"""A socket in a private folder, for the programs that an agent starts for us.

Whoever connects says a token first. Tokens are compared in constant time and name what the caller may have;
who says none in time is not heard. Folder and socket are gone when the listener is.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from dragoman.runtime.owner import TaskOwner

TOKEN_SECONDS = 10.0
MOST_CALLERS = 64
LINE = 32 * 1024 * 1024
"""Bytes of the longest line: a whole file to write is one."""

T = TypeVar("T")

Serve = Callable[[T, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class TokenListener(Generic[T]):
    """Accepts connections by token. `serve` gets the token's value and the connection that presented it."""

    def __init__(self, serve: Serve[T]) -> None:
        self._serve = serve
        self._tokens: dict[bytes, T] = {}
        self._folder = tempfile.mkdtemp(prefix="dragoman-")  # made with mode 0700
        self.path = os.path.join(self._folder, "client")
        self._owner = TaskOwner("client tools")
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        self._server = await asyncio.start_unix_server(self._on_connect, self.path, limit=LINE)

    def admit(self, token: str, what: T) -> None:
        self._tokens[token.encode()] = what

    def refuse(self, token: str) -> None:
        self._tokens.pop(token.encode(), None)

    async def aclose(self) -> None:
        if self._server is not None:
            self._server.close()
        await self._owner.aclose()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _on_connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._owner) >= MOST_CALLERS:
            writer.close()
        else:
            self._owner.start(self._hear(reader, writer))

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A caller that breaks off has only ended its own conversation.
        with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError, TimeoutError):
            try:
                async with asyncio.timeout(TOKEN_SECONDS):
                    line = await reader.readuntil(b"\n")
                what = self._find_token(line.rstrip(b"\n"))
                if what is not None:
                    await self._serve(what, reader, writer)
            finally:
                writer.close()

    def _find_token(self, candidate: bytes) -> T | None:
        """Every token is looked at: how long this takes tells nothing about any of them."""
        match = None
        for token, what in self._tokens.items():
            if hmac.compare_digest(token, candidate):
                match = what
        return match
