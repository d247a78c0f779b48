"""A workspace's handlers by method name, for callers without a client object: raw params in, a raw result
out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from dragoman.errors import ErrorAnswer
from dragoman.schema.codec import read, write
from dragoman.schema.errors import SchemaError
from dragoman.schema.v1.methods import METHODS
from dragoman_local.workspace.refusals import INVALID_PARAMS
from dragoman_local.workspace.workspace import Workspace

Handler: TypeAlias = Callable[[Any, object], Awaitable[Any]]


class MethodHandlers:
    """Collects a workspace's handlers in place of a client."""

    def __init__(self, workspace: Workspace) -> None:
        self._handlers: dict[str, Handler] = {}
        # What a workspace wants of a client.
        self.read_text_file = self.extension("fs/read_text_file")
        self.write_text_file = self.extension("fs/write_text_file")
        self.create_terminal = self.extension("terminal/create")
        self.terminal_output = self.extension("terminal/output")
        self.wait_for_terminal_exit = self.extension("terminal/wait_for_exit")
        self.kill_terminal = self.extension("terminal/kill")
        self.release_terminal = self.extension("terminal/release")
        workspace.serve(self)

    @property
    def names(self) -> frozenset[str]:
        """The names of the methods."""
        return frozenset(self._handlers)

    def __contains__(self, method: object) -> bool:
        return method in self._handlers

    def add(self, method: str, handler: Handler) -> None:
        """Add a handler for an extension method."""
        self._handlers[method] = handler

    async def answer(self, method: str, params: bytes | Raw) -> bytes:
        """Return the result of a request. Raises `ErrorAnswer`, also for invalid params. Large texts are not
        copied.
        """
        handler = self._handlers[method]
        entry = METHODS.get(method, kind="request", receiver="client")
        if entry is None:  # an extension takes plain values
            return msgspec.json.encode(await handler(msgspec.json.decode(params), None))
        try:
            request = read(params, entry.params)
        except SchemaError as error:
            raise ErrorAnswer(INVALID_PARAMS, f"Invalid params: {error}") from None
        result = await handler(request, None)
        return b"{}" if result is None else write(result)

    def extension(self, method: str) -> Callable[[Any], Any]:
        """Return the decorator that a client has for the handlers of this method."""

        def take(handler: Any) -> Any:
            self._handlers[method] = handler
            return handler

        return take
