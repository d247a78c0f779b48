"""Sends the updates of a session, for handlers that are plain functions. `speaker` describes each method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.schema.v1 import AvailableCommand, ContentBlock, PlanEntry, PlanEntryStatus, SessionUpdate
    from dragoman.sdk.agent import speaker
    from dragoman.sdk.sync.run import Runner


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
        """A piece of the agent's answer."""
        self._run(self._speaker.say(text, message_id=message_id))

    def think(self, text: str | ContentBlock, *, message_id: str | None = None) -> None:
        """A piece of the agent's reasoning."""
        self._run(self._speaker.think(text, message_id=message_id))

    def echo(self, text: str | ContentBlock, *, message_id: str | None = None) -> None:
        """Send a piece of a user's message, for replaying a conversation."""
        self._run(self._speaker.echo(text, message_id=message_id))

    def update(self, update: SessionUpdate) -> None:
        """Any update of the protocol."""
        self._run(self._speaker.update(update))

    def plan(self, entries: Iterable[PlanEntry | str | tuple[str, PlanEntryStatus]]) -> None:
        """Send the whole current plan; it replaces the plan before."""
        self._run(self._speaker.plan(entries))

    def usage(self, *, used: int, size: int, cost: float | None = None, currency: str = "USD") -> None:
        """Report how much of the context window is used, and the session's cost so far."""
        self._run(self._speaker.usage(used=used, size=size, cost=cost, currency=currency))

    def commands(self, commands: Sequence[AvailableCommand]) -> None:
        """All slash commands that are available now."""
        self._run(self._speaker.commands(commands))

    def mode(self, mode_id: str) -> None:
        """The agent has changed its mode by itself."""
        self._run(self._speaker.mode(mode_id))

    def title(self, title: str | None) -> None:
        """Set the title of this session; None clears it."""
        self._run(self._speaker.title(title))

    def notice(self, title: str, *, severity: str = "info", description: str | None = None) -> None:
        """Send information that the user may want to know, but that nothing depends on."""
        self._run(self._speaker.notice(title, severity=severity, description=description))
