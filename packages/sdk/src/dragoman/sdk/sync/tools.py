"""Tool calls and terminals, for handlers that are plain functions. `tool_call` and `terminal` describe them.

with turn.tool("Read config", kind="read") as call:
    call.progress(content=[...])
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from dragoman.sdk.agent.lender import Permission

if TYPE_CHECKING:
    from dragoman.schema.v1 import (
        PermissionOption,
        TerminalOutputResponse,
        ToolCallContent,
        ToolCallLocation,
        ToolCallStatus,
        WaitForTerminalExitResponse,
    )
    from dragoman.schema.v1 import Terminal as TerminalContent
    from dragoman.sdk.agent import terminal, tool_call
    from dragoman.sdk.sync.run import Runner


class SyncToolCallReport:
    """A reported tool call, made by `Turn.tool`. Leaving its `with` ends it: completed, or failed by an
    exception.

        with turn.tool("Run the tests", kind="execute", status="pending") as call:
            if call.ask():
                call.complete("42 passed")

    Specification: https://agentclientprotocol.com/protocol/v1/tool-calls
    """

    __slots__ = ("_report", "_run")

    def __init__(self, inner: tool_call.ToolCallReport, run: Runner) -> None:
        self._report = inner
        self._run = run

    @property
    def id(self) -> str:
        """The id of the tool call, as the client knows it."""
        return self._report.id

    def announce(self, status: ToolCallStatus | None = None) -> None:
        """Announce the call with this status, or the status from its creation. Entering
        the block calls this.
        """
        self._run(self._report.announce(status))

    def progress(
        self,
        *,
        status: ToolCallStatus | None = None,
        title: str | None = None,
        content: Sequence[ToolCallContent | str] | None = None,
        locations: Sequence[ToolCallLocation | str] | None = None,
        raw_output: object = None,
    ) -> None:
        """Report changes; content and locations replace the earlier ones."""
        work = self._report.progress(
            status=status, title=title, content=content, locations=locations, raw_output=raw_output
        )
        self._run(work)

    def ask(self, options: Sequence[PermissionOption] | None = None) -> Permission:
        """Ask the user whether this call may run. After a yes, the call is in progress."""
        return self._run(self._report.ask(options))

    def complete(self, *content: ToolCallContent | str, raw_output: object = None) -> None:
        """Report that the call has succeeded; content replaces the earlier content."""
        self._run(self._report.complete(*content, raw_output=raw_output))

    def fail(self, *content: ToolCallContent | str, raw_output: object = None) -> None:
        """Report that the call has failed; content replaces the earlier content."""
        self._run(self._report.fail(*content, raw_output=raw_output))

    def __enter__(self) -> SyncToolCallReport:
        self._run(self._report.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._report.__aexit__(kind, error, trace))


class SyncTerminal:
    """A command that runs at the client. Leaving its `with` releases it, which ends the command.

        with turn.create_terminal("make", "test") as terminal:
            ended = terminal.wait()
            printed = terminal.output()

    Specification: https://agentclientprotocol.com/protocol/v1/terminals
    """

    __slots__ = ("_run", "_terminal")

    def __init__(self, inner: terminal.Terminal, run: Runner) -> None:
        self._terminal = inner
        self._run = run

    @property
    def id(self) -> str:
        """The client's id of the terminal."""
        return self._terminal.id

    @property
    def content(self) -> TerminalContent:
        """The terminal as tool call content, so that the user sees the output live."""
        return self._terminal.content

    def output(self) -> TerminalOutputResponse:
        """Return the output of the command so far."""
        return self._run(self._terminal.output())

    def wait(self) -> WaitForTerminalExitResponse:
        """Wait for the command to end, however long it takes."""
        return self._run(self._terminal.wait())

    def kill(self) -> None:
        """End the command; its output can still be read."""
        self._run(self._terminal.kill())

    def release(self) -> None:
        """End the command if it runs, and free its resources. A second call does nothing."""
        self._run(self._terminal.release())

    def __enter__(self) -> SyncTerminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._terminal.__aexit__(kind, error, trace))
