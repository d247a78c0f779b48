"""Handlers of the protocol's five terminal methods, for a client.

They turn messages into calls of a session's terminals and back; what is allowed is decided there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from msgspec import UNSET

from dragoman.schema.v1.terminal import (
    CreateTerminalRequest,
    CreateTerminalResponse,
    KillTerminalRequest,
    KillTerminalResponse,
    ReleaseTerminalRequest,
    ReleaseTerminalResponse,
    TerminalExitStatus,
    TerminalOutputRequest,
    TerminalOutputResponse,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
)
from dragoman_local.workspace.lent_terminals import LentTerminals, TerminalRequest

Sessions: TypeAlias = Callable[[str, object], LentTerminals]
"""Gives the terminals of a session, by its id and the agent that asks."""

_Creates: TypeAlias = Callable[[CreateTerminalRequest, object], Awaitable[CreateTerminalResponse]]
_Shows: TypeAlias = Callable[[TerminalOutputRequest, object], Awaitable[TerminalOutputResponse]]
_Waits: TypeAlias = Callable[[WaitForTerminalExitRequest, object], Awaitable[WaitForTerminalExitResponse]]
_Kills: TypeAlias = Callable[[KillTerminalRequest, object], Awaitable[KillTerminalResponse | None]]
_Releases: TypeAlias = Callable[[ReleaseTerminalRequest, object], Awaitable[ReleaseTerminalResponse | None]]


class HasTerminals(Protocol):
    """A client on which the five terminal methods can be registered."""

    @property
    def create_terminal(self) -> Callable[[_Creates], object]: ...
    @property
    def terminal_output(self) -> Callable[[_Shows], object]: ...
    @property
    def wait_for_terminal_exit(self) -> Callable[[_Waits], object]: ...
    @property
    def kill_terminal(self) -> Callable[[_Kills], object]: ...
    @property
    def release_terminal(self) -> Callable[[_Releases], object]: ...


def serve_terminals(client: HasTerminals, sessions: Sessions) -> None:
    """Make a client answer for the terminals of these sessions."""

    async def create(request: CreateTerminalRequest, agent: object) -> CreateTerminalResponse:
        terminals = sessions(request.session_id, agent)
        limit = request.output_byte_limit
        terminal_request = TerminalRequest(
            command=request.command,
            args=request.args or (),
            env=[(variable.name, variable.value) for variable in request.env or ()],
            cwd=request.cwd if isinstance(request.cwd, str) else None,
            output_bytes=limit if isinstance(limit, int) else None,
        )
        return CreateTerminalResponse(terminal_id=await terminals.create(terminal_request))

    async def output(request: TerminalOutputRequest, agent: object) -> TerminalOutputResponse:
        terminal = sessions(request.session_id, agent).get(request.terminal_id)
        # The status first: what it comes with is whole.
        process_exit, tail = terminal.exit, terminal.tail
        status = (
            UNSET
            if process_exit is None
            else TerminalExitStatus(exit_code=process_exit.code, signal=process_exit.signal)
        )
        text = tail.text + ("" if process_exit is None else await terminal.wall_note())
        return TerminalOutputResponse(output=text, truncated=tail.is_truncated, exit_status=status)

    async def wait(request: WaitForTerminalExitRequest, agent: object) -> WaitForTerminalExitResponse:
        process_exit = await sessions(request.session_id, agent).wait(request.terminal_id)
        return WaitForTerminalExitResponse(exit_code=process_exit.code, signal=process_exit.signal)

    async def kill(request: KillTerminalRequest, agent: object) -> KillTerminalResponse:
        await sessions(request.session_id, agent).kill(request.terminal_id)
        return KillTerminalResponse()

    async def release(request: ReleaseTerminalRequest, agent: object) -> ReleaseTerminalResponse:
        await sessions(request.session_id, agent).release(request.terminal_id)
        return ReleaseTerminalResponse()

    client.create_terminal(create)
    client.terminal_output(output)
    client.wait_for_terminal_exit(wait)
    client.kill_terminal(kill)
    client.release_terminal(release)
