"""Serves one agent to many clients: each connection has its own process, which ends with it.

This is `dragoman serve`. Sessions live as long as their connection; the hub is what keeps them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from dragoman.errors import DragomanError
from dragoman.runtime.relay import Relay
from dragoman.transport.messages import MessageTransport
from dragoman.transport.process import spawn
from dragoman.wire import error_object, failure
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman_hub.api.endpoint import Visit

log = logging.getLogger(__name__)

CONNECTIONS = 256
"""The most agents that run at once; a further client gets an error."""


class AgentPerConnection:
    """Accepts connections; `aclose` ends all of them with their agents."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        most: int = CONNECTIONS,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> None:
        self.reclaim: Callable[[], bool] = lambda: False
        """Called when there are too many: makes room, and says whether it could."""
        self._command = list(command)
        self._most = most
        self._on_stderr = on_stderr
        self._tasks: set[asyncio.Task[None]] = set()

    def accept(self, client: MessageTransport, visit: Visit) -> None:
        is_full = len(self._tasks) >= self._most and not self.reclaim()
        work = self._refuse(client) if is_full else self._join(client)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _join(self, client: MessageTransport) -> None:
        try:
            agent = spawn(self._command, on_stderr=self._on_stderr)
        except DragomanError as error:
            log.error("%s", error)
            await self._refuse(client, "the agent could not be started")
            return
        async with Relay(client, agent, name="served") as relay:
            await relay.wait_ended()

    async def _refuse(
        self, client: MessageTransport, why: str = "too many clients are served already"
    ) -> None:
        """Said instead of the answer to `initialize`; whoever it is for, it is the first thing they hear."""
        client.write(failure(None, error_object(INTERNAL_ERROR, f"Internal error: {why}")))
        await client.aclose()
