"""The course of a conversation: opening, prompts, the queue, cancelling, and their results.

It runs as one task (`converse`) that ends when the conversation does, and takes with it everything that was
opened. It knows no screen: whoever shows it reads `state`, `queue` and the transcript, and is called through
`tell` when one of them changed.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from dragoman.errors import CallFailed, DragomanError, LinkClosed, LocalMistake
from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.schema.steering import OUTCOME_TEXTS
from dragoman_app.tui.model.entries import CommandEntry
from dragoman_app.tui.model.transcript import Transcript
from dragoman_app.tui.ports import ChangeReview, ChatBackend, ChatEvent, ChatRequest, ChatSession, ChatUser

State: TypeAlias = Literal["starting", "idle", "running", "cancelling", "dead", "failed"]

MOST_QUEUED = 50
"""The most waiting prompts; more is a mistake, such as a book that was pasted line by line."""

_MENTION = re.compile(r'(?:(?<=\s)|^)@(?:"([^"\n]+)"|([^\s"]+))')

_ENDS = {
    "cancelled": "Cancelled.",
    "refusal": "The agent refused to continue.",
    "max_tokens": "The turn reached its limit of tokens.",
    "max_turn_requests": "The turn reached its limit of model requests.",
}


class Away(NamedTuple):
    """A lost connection. Times are of the monotonic clock."""

    since: float
    again: float
    """The time of the next attempt."""
    why: str
    was_there: bool


class ChatConversation:
    """Implements `ChatListener`."""

    def __init__(self, transcript: Transcript, tell: Callable[[], None]) -> None:
        self.transcript = transcript
        self.state: State = "starting"
        self.why = ""
        """What there is to say about the state."""
        self.queue: deque[str] = deque()
        self.is_held = False
        """Whether the queue waits for the person: the last turn was cancelled, or failed."""
        self.away: Away | None = None
        """The way to the agent is cut. It is a pause, and everything else stands as it stood."""
        self.chat: ChatSession | None = None
        self.review: ChangeReview | None = None
        self.shells: list[CommandEntry] = []
        self.began = 0.0
        self._tell = tell
        self._news = asyncio.Event()
        self._is_muted = False
        self._shown_text = ""  # of a message that no turn took: it is not shown again when it is said

    @property
    def is_busy(self) -> bool:
        return self.state in ("running", "cancelling")

    # The task.

    async def converse(self, backend: ChatBackend, request: ChatRequest, person: ChatUser) -> None:
        """Run until cancelled, or until opening fails. Failures are shown, never raised."""
        self._become("starting")
        try:
            async with backend.open(request, person, self) as chat:
                self.chat = chat
                self.transcript.end_turn()
                self.transcript.facts.on_open(chat.modes, chat.options)
                if not self.transcript.prompts:  # the agent told nothing of what was before
                    await self.earlier()
                self._become("idle")
                await self._serve(chat)
        except DragomanError as error:
            self.transcript.note(f"{error}\nF5 tries again; Ctrl+O chooses another session.", "error")
            self._become("failed", str(error))
        finally:
            self.chat = self.away = None
            self.shells.clear()

    async def _serve(self, chat: ChatSession) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while self.queue and not self.is_held:
                await self._turn(chat, self.queue.popleft())

    async def _turn(self, chat: ChatSession, text: str) -> None:
        if text != self._shown_text:
            self.transcript.prompt(text)
        self._shown_text = ""
        self.began = time.monotonic()
        self._become("running")
        try:
            await chat.look()
            blocks = [v1.TextContent(text=text), *await chat.attachments(mentions(text))]
            result = await chat.turn(blocks)
        except DragomanError as error:
            self._turn_failed(error)
        else:
            self.transcript.facts.on_turn_end(result)
            if result.stop_reason != "end_turn":
                self.transcript.note(
                    _ENDS.get(result.stop_reason, f"It ended: {result.stop_reason}."), "warning"
                )
            self._become("idle")
        finally:
            self.transcript.end_turn()
        await self._look_at_changes(chat)
        self._tell()

    def _turn_failed(self, error: DragomanError) -> None:
        self.is_held = True
        if isinstance(error, LinkClosed):
            if self.state != "dead":
                self._on_death(str(error))
            return
        words = error.message if isinstance(error, CallFailed) else str(error)
        self.transcript.note(f"The turn failed: {words}", "error")
        self._become("idle")

    async def _look_at_changes(self, chat: ChatSession) -> None:
        try:
            review = await chat.review()
        except (DragomanError, OSError) as error:
            self.transcript.note(f"Can't tell what changed on disk: {error}", "warning")
            return
        if review is None or not review.files:
            return
        self.review = review
        count = len(review.files)
        added_lines, removed_lines = (
            sum(getattr(file, name) for file in review.files) for name in ("added_lines", "removed_lines")
        )
        files = "1 file" if count == 1 else f"{count} files"
        self.transcript.note(
            f"Changed on disk: {files}, +{added_lines} -{removed_lines}. Ctrl+G reviews them."
        )

    # What the person does.

    def submit(self, text: str) -> bool:
        """Send a prompt now or after the turn; False if too many are waiting."""
        if len(self.queue) >= MOST_QUEUED:
            return False
        self.queue.append(text)
        self.go_on()
        return True

    def go_on(self) -> None:
        """Let the queue continue."""
        self.is_held = False
        self._news.set()
        self._tell()

    def withdraw(self) -> str | None:
        """Remove and return the last waiting prompt."""
        text = self.queue.pop() if self.queue else None
        self._tell()
        return text

    async def steer(self, text: str) -> None:
        """Send this, or the first waiting prompt, into the running turn, and report the outcome. If no turn
        accepts it, it is sent next.
        """
        text = text or (self.queue.popleft() if self.queue else "")
        if text and not (self.state == "running" and await self._steer(text)):
            self.queue.appendleft(text)
        self.go_on()

    async def _steer(self, text: str) -> bool:
        chat = self.chat
        if chat is None:
            return False
        self.transcript.prompt(text)  # before the hub tells it to everybody
        self._tell()
        try:
            blocks = [v1.TextContent(text=text), *await chat.attachments(mentions(text))]
            outcome = await chat.steer(blocks)
        except DragomanError as error:
            if not isinstance(error, LocalMistake):  # a turn that has just ended is no news
                self.transcript.note(f"Not sent into the turn: {error}", "warning")
            self._shown_text = text
            return False
        self.transcript.note(f"{OUTCOME_TEXTS[outcome].capitalize()}.")
        return True

    async def cancel(self) -> None:
        """Stop the running turn; waiting prompts wait for the user."""
        if self.is_busy:
            self.is_held = bool(self.queue)
            await self._cancel()

    async def _cancel(self) -> None:
        if self.chat is not None:
            self._become("cancelling")
            try:
                await self.chat.cancel()
            except DragomanError as error:
                self.transcript.note(str(error), "warning")

    async def restart(self) -> None:
        if self.chat is None or self.state != "dead":
            return
        self._become("starting")
        try:
            await self.chat.restart()
        except DragomanError as error:
            self._on_death(str(error))
            return
        self.transcript.facts.on_open(self.chat.modes, self.chat.options)
        self._become("idle")

    async def shell(self, line: str) -> None:
        """Run a command of the user beside the conversation."""
        if self.chat is None:
            return
        try:
            running = self.chat.shell(line)
        except LocalMistake as error:
            self.transcript.note(str(error), "error")
            return
        entry = CommandEntry(line, running)
        self.shells.append(entry)
        self.transcript.add(entry)
        try:
            await running.wait()
        finally:
            if entry in self.shells:
                self.shells.remove(entry)
            self.transcript.touch(entry)

    async def earlier(self) -> bool:
        """Load an earlier page of the conversation; return whether there was one."""
        page = None if self.chat is None else await self.chat.earlier()
        if page is None:
            return False
        self.transcript.prepend(page)
        return True

    # What is heard.

    def on_update(self, update: v1.SessionUpdate | Unknown) -> None:
        if not self._is_muted:
            self.transcript.hear(update)

    def on_subagents(self, tree: str) -> None:
        self.transcript.show_subagents(tree)

    def on_chat_event(self, event: ChatEvent) -> None:
        # A session that is brought back is told again by some agents: all of that was seen.
        if event.kind == "restarting":
            self._is_muted = True
        elif event.kind in ("resumed", "lost_context"):
            self._is_muted = False
        if event.kind in ("away", "unreached", "back"):
            self._went(event)
        elif event.kind in ("died", "gave_up"):
            self._on_death(event.text, event.detail)
        elif event.kind in ("lost_context", "noted"):
            self.transcript.note(event.text, "warning")
        elif event.kind == "resumed":
            self.transcript.note(event.text)

    def _went(self, event: ChatEvent) -> None:
        """The connection is gone, or back."""
        now = time.monotonic()
        if event.kind == "back":
            self.away = None
        else:
            since = now if self.away is None else self.away.since
            was_there = event.kind == "away"
            self.away = Away(since, now + event.seconds, event.text, was_there)
        self._tell()

    def _on_death(self, text: str, detail: str = "") -> None:
        self.away = None
        words = f"{text}\n{detail.strip()}" if detail.strip() else text
        if self.state != "dead":
            self.transcript.note(f"{words}\nF5 starts it again.", "error")
        self.is_held = bool(self.queue)
        self._become("dead", text)

    def _become(self, state: State, why: str = "") -> None:
        self.state, self.why = state, why
        self._tell()


def mentions(text: str) -> list[str]:
    """Return the paths with `@` in a prompt."""
    paths = (match[1] or match[2].rstrip(".,;:!?)") for match in _MENTION.finditer(text))
    return list(dict.fromkeys(path for path in paths if path))
