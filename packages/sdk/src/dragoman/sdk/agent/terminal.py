"""A command that runs on the client's machine, as the agent sees it."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING

from msgspec import UNSET

from dragoman.errors import CallFailed, Cancelled, DragomanError, LinkClosed
from dragoman.runtime.deferred_module import DeferredModule
from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.schema.waits import bound
from dragoman.sdk.inbound import read_result
from dragoman.sdk.outbound import write_out

if TYPE_CHECKING:
    import asyncio

    from dragoman.core import OutgoingCall
    from dragoman.runtime.pending_call import PendingCall
    from dragoman.sdk.agent.client_calls import ClientCalls
else:
    asyncio = DeferredModule("asyncio")


class Terminal:
    """A command at the client, made by `create_terminal`. Leaving its `async with` releases it, which ends
    the command.

        async with await turn.create_terminal("make", "test") as terminal:
            ended = await terminal.wait()
            printed = await terminal.output()

    Specification: https://agentclientprotocol.com/protocol/v1/terminals
    """

    __slots__ = ("_client", "_is_released", "_session_id", "id")

    def __init__(self, client: ClientCalls, session_id: str, terminal_id: str) -> None:
        self._client = client
        self._session_id = session_id
        self._is_released = False
        self.id = terminal_id

    @classmethod
    async def create(cls, client: ClientCalls, request: v1.CreateTerminalRequest) -> Terminal:
        """Start the command. If you are cancelled in the meantime, no command stays: the request is not
        withdrawn, because the client may have started the command already, but the terminal is released.
        """
        client.capabilities.require("terminal", "terminal/create")
        await client.ready()
        link = client.link
        call = link.open_call(
            "terminal/create",
            write_out(request, v1.CreateTerminalRequest, "terminal/create"),
            deadline=bound("terminal/create", client.limits.call_seconds, receiver="client"),
        )
        try:
            await link.wait_answered(call)
        except (asyncio.CancelledError, Cancelled):
            call.context.add_done_callback(partial(cls._release_unwanted, client, request, call))
            raise
        response = read_result(link.result(call), v1.CreateTerminalResponse, "terminal/create")
        return cls(client, request.session_id, response.terminal_id)

    @staticmethod
    def _release_unwanted(
        client: ClientCalls, request: v1.CreateTerminalRequest, call: OutgoingCall[PendingCall], _: object
    ) -> None:
        with suppress(DragomanError):  # nothing was started, or nobody is there any more
            raw = client.link.result(call)
            response = read_result(raw, v1.CreateTerminalResponse, "terminal/create")
            release = v1.ReleaseTerminalRequest(
                session_id=request.session_id, terminal_id=response.terminal_id, meta=UNSET
            )
            seconds = bound("terminal/release", client.limits.call_seconds, receiver="client")
            client.link.open_call("terminal/release", write(release), deadline=seconds)

    @property
    def content(self) -> v1.Terminal:
        """The terminal as tool call content, so that the user sees the output live."""
        return v1.Terminal(terminal_id=self.id)

    async def output(self) -> v1.TerminalOutputResponse:
        """Return the output of the command so far."""
        request = v1.TerminalOutputRequest(session_id=self._session_id, terminal_id=self.id)
        return await self._client.ask("terminal/output", request, v1.TerminalOutputResponse)

    async def wait(self) -> v1.WaitForTerminalExitResponse:
        """Wait for the command to end, however long it takes."""
        request = v1.WaitForTerminalExitRequest(session_id=self._session_id, terminal_id=self.id)
        return await self._client.ask("terminal/wait_for_exit", request, v1.WaitForTerminalExitResponse)

    async def kill(self) -> None:
        """End the command; its output can still be read."""
        request = v1.KillTerminalRequest(session_id=self._session_id, terminal_id=self.id)
        await self._client.ask("terminal/kill", request, v1.KillTerminalResponse)

    async def release(self) -> None:
        """End the command if it runs, and free its resources. A second call does nothing."""
        if self._is_released:
            return
        self._is_released = True
        request = v1.ReleaseTerminalRequest(session_id=self._session_id, terminal_id=self.id, meta=UNSET)
        await self._client.ask("terminal/release", request, v1.ReleaseTerminalResponse)

    async def __aenter__(self) -> Terminal:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.release()
        except (CallFailed, LinkClosed):
            if error is None:
                raise  # otherwise the error that ended the block matters more
