"""What a client provides to an agent, for handlers that are plain functions. See `lender` for each method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from dragoman.sdk.agent.lender import Permission
from dragoman.sdk.sync.tools import SyncTerminal

if TYPE_CHECKING:
    from dragoman.schema.v1 import (
        AvailableCommand,
        ContentBlock,
        CreateElicitationResponse,
        ElicitationSchema,
        PermissionOption,
        PlanEntry,
        PlanEntryStatus,
        SessionUpdate,
        ToolCallUpdate,
    )
    from dragoman.sdk.agent import lender, speaker
    from dragoman.sdk.sync.run import Runner


# Sends the updates of a session, for handlers that are plain functions. `speaker` describes each method.


class SyncSpeaker:
    """Sends updates in one session."""

    __slots__ = ("_run", "_speaker")

    def __init__(self, inner: speaker.Speaker, run: Runner) -> None:
        self._speaker = inner
        self._run = run

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self._speaker.session_id

    def say(self, text: str | ContentBlock, *, message_id: str | None = None) -> None:
        """Send a piece of the agent's answer."""
        self._run(self._speaker.say(text, message_id=message_id))

    def think(self, text: str | ContentBlock, *, message_id: str | None = None) -> None:
        """Send a piece of the agent's reasoning."""
        self._run(self._speaker.think(text, message_id=message_id))

    def echo(self, text: str | ContentBlock, *, message_id: str | None = None) -> None:
        """Send a piece of a user's message, for replaying a conversation."""
        self._run(self._speaker.echo(text, message_id=message_id))

    def update(self, update: SessionUpdate) -> None:
        """Send any update of the protocol."""
        self._run(self._speaker.update(update))

    def plan(self, entries: Iterable[PlanEntry | str | tuple[str, PlanEntryStatus]]) -> None:
        """Send the whole current plan; it replaces the previous plan."""
        self._run(self._speaker.plan(entries))

    def usage(self, *, used: int, size: int, cost: float | None = None, currency: str = "USD") -> None:
        """Report how much of the context window is used, and the session's cost so far."""
        self._run(self._speaker.usage(used=used, size=size, cost=cost, currency=currency))

    def commands(self, commands: Sequence[AvailableCommand]) -> None:
        """Send all slash commands that are available now."""
        self._run(self._speaker.commands(commands))

    def mode(self, mode_id: str) -> None:
        """Report that the agent has changed its mode by itself."""
        self._run(self._speaker.mode(mode_id))

    def title(self, title: str | None) -> None:
        """Set the title of this session; None clears it."""
        self._run(self._speaker.title(title))

    def notice(self, title: str, *, severity: str = "info", description: str | None = None) -> None:
        """Send information that the user may want, but that has no effect."""
        self._run(self._speaker.notice(title, severity=severity, description=description))


class SyncLender(SyncSpeaker):
    """Sends updates, and requests to the client."""

    __slots__ = ("_lender",)

    def __init__(self, inner: lender.Lender, run: Runner) -> None:
        super().__init__(inner, run)
        self._lender = inner

    def read_text_file(self, path: str, *, line: int | None = None, limit: int | None = None) -> str:
        """Read a file from the client, with unsaved changes (`fs/read_text_file`). `line` counts from 1;
        `limit` is a number of lines.
        """
        return self._run(self._lender.read_text_file(path, line=line, limit=limit))

    def write_text_file(self, path: str, content: str) -> None:
        """Write a file at the client, which creates it if necessary (`fs/write_text_file`)."""
        self._run(self._lender.write_text_file(path, content))

    def create_terminal(
        self,
        command: str,
        *args: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        output_byte_limit: int | None = None,
    ) -> SyncTerminal:
        """Start a command at the client. Use it as `with`, so that it is always released."""
        work = self._lender.create_terminal(
            command, *args, cwd=cwd, env=env, output_byte_limit=output_byte_limit
        )
        return SyncTerminal(self._run(work), self._run)

    def ask(self, tool_call: ToolCallUpdate, options: Sequence[PermissionOption] | None = None) -> Permission:
        """Ask the user whether a tool may run; without options, yes or no. A failed or invalid answer
        means no.
        """
        return self._run(self._lender.ask(tool_call, options))

    def elicit(
        self, message: str, schema: ElicitationSchema, *, tool_call_id: str | None = None
    ) -> CreateElicitationResponse:
        """Ask the user to fill in a form."""
        return self._run(self._lender.elicit(message, schema, tool_call_id=tool_call_id))

    def elicit_url(
        self, message: str, url: str, elicitation_id: str, *, tool_call_id: str | None = None
    ) -> CreateElicitationResponse:
        """Send the user to a page. Accepting means consent to open the page, not that the user completed a
        step there.
        """
        return self._run(self._lender.elicit_url(message, url, elicitation_id, tool_call_id=tool_call_id))
