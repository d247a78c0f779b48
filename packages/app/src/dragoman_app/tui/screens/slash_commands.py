"""This client's own slash commands: `/allow`, `/handover` and `/rewind`. An agent's command of the same name
comes first.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine
from typing import Any, Protocol

from textual.app import App

from dragoman.errors import DragomanError
from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.conversation import ChatConversation
from dragoman_app.tui.model.transcript import Transcript
from dragoman_app.tui.ports import ChatBackend, ChatRequest, ChatRewinds, RewindPreview, RewindResult
from dragoman_app.tui.screens.rewind import RewindChoice, RewindScreen

_COMMAND = re.compile(r"/(allow|handover|rewind)(?:\s+(\S.*))?")


class CommandScreen(Protocol):
    """The parts of the conversation on the screen that these commands need."""

    backend: ChatBackend
    request: ChatRequest
    transcript: Transcript
    conversation: ChatConversation

    @property
    def app(self) -> App[Any]: ...
    def start_task(self, doing: Coroutine[object, None, object]) -> None: ...
    async def open(self, request: ChatRequest) -> None: ...


class SlashCommands:
    """The slash commands of one screen."""

    def __init__(self, screen: CommandScreen) -> None:
        self._screen = screen

    def take(self, text: str) -> bool:
        """Start a command if it is one of ours; return whether it is."""
        command = _COMMAND.fullmatch(text)
        facts = self._screen.transcript.facts
        if command is None or any(own.name == command[1] for own in facts.commands):
            return False
        words = (command[2] or "").strip()
        handed = {"handover": self.hand_over, "rewind": self.rewind}.get(command[1])
        self._screen.start_task(self.allow() if handed is None else handed(words))
        return True

    async def hand_over(self, agent: str) -> None:
        """Continue with another agent, which gets a brief."""
        screen = self._screen
        if not agent:
            names = ", ".join(choice.name for choice in await screen.backend.agents())
            screen.transcript.note(
                f"Choose the next agent: /handover NAME, one of {sanitize_line(names)}.", "warning"
            )
            return
        if self._is_busy("then hand over"):
            return
        chat = screen.conversation.chat
        try:
            request = await screen.backend.hand_over(screen.request if chat is None else chat.request, agent)
        except DragomanError as error:
            screen.transcript.note(f"Not handed over: {error}", "error")
            return
        await screen.open(request)
        screen.transcript.note(f"{sanitize_line(agent)} takes over and gets a summary with your next prompt.")

    async def allow(self) -> None:
        """Allow what was denied last, for its next try."""
        chat = self._screen.conversation.chat
        if chat is not None and not self._is_busy("then allow it"):
            self._screen.transcript.note(await chat.allow())

    async def rewind(self, words: str) -> None:
        """Restore the files from before a turn (by default the last one), or undo that."""
        screen, chat = self._screen, self._screen.conversation.chat
        number = int(words) if words.isascii() and words.isdigit() else 0
        if words not in ("", "undo") and not number:
            screen.transcript.note(
                "Name a turn, counted from 1: /rewind 3. To undo a rewind: /rewind undo", "warning"
            )
        elif chat is None:
            screen.app.notify("No agent is connected. Press F5 to try again.", markup=False)
        elif not self._is_busy("then put files back"):
            try:
                if words == "undo":
                    self._tell(await chat.rewinds.undo())
                else:
                    await self._show(chat.rewinds, number or None)
            except (DragomanError, OSError) as error:
                screen.transcript.note(f"Not put back: {sanitize_line(str(error))}", "error")

    async def _show(self, rewinds: ChatRewinds, turn: int | None) -> None:
        preview = await rewinds.preview(turn)

        def choose(choice: RewindChoice | None) -> None:
            if choice is not None and choice.turn != preview.turn:
                self._screen.start_task(self.rewind(str(choice.turn)))
            elif choice is not None:
                self._screen.start_task(self._carry_out(rewinds, preview, choice))

        self._screen.app.push_screen(RewindScreen(preview, cwd=self._screen.request.cwd), choose)

    async def _carry_out(self, rewinds: ChatRewinds, preview: RewindPreview, choice: RewindChoice) -> None:
        try:
            self._tell(await rewinds.carry_out(preview, choice.also))
        except (DragomanError, OSError) as error:
            self._screen.transcript.note(f"Not put back: {sanitize_line(str(error))}", "error")

    def _tell(self, result: RewindResult) -> None:
        for failure in result.failures:
            words = sanitize_line(f"Not put back: {failure.path}: {failure.why}")
            self._screen.transcript.note(words, "error")
        count = "1 file" if len(result.paths) == 1 else f"{len(result.paths)} files"
        after = "To undo this: /rewind undo" if result.turn else "The rewind is undone."
        self._screen.app.notify(f"{count} put back. {after}", markup=False)

    def _is_busy(self, then: str) -> bool:
        if self._screen.conversation.is_busy:
            self._screen.app.notify(f"A turn is running: press Esc to stop it, {then}.", markup=False)
        return self._screen.conversation.is_busy
