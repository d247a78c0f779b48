"""The board of this machine's sessions: what the history has, looked at again and again while it is shown.

A session is running while its process lives; what it asks is asked in its own terminal, so nothing can be
answered here. The history has no archive.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from dragoman.errors import JournalError, LocalMistake
from dragoman_app.apps.running_marks import INTERRUPTED, with_current_state
from dragoman_app.tui.ports import BoardQuestion, BoardSession, ChatRequest
from dragoman_local.journal import Journal, StreamInfo, open_journal
from dragoman_local.journal.conversation import moments
from dragoman_local.journal.history import history_path

EVERY = 2.0
"""Seconds between two looks."""

MOST_SESSIONS = 200
"""Sessions that are listed, the latest; search finds the others."""

TAIL = 64
"""Entries that are read for the last line of a session."""

LINES_READ = 20
"""Sessions whose last line is read in one look, so that the first look is quick."""

_SHOWN = frozenset({"prompt", "message", "thought", "tool", "permission", "error"})
"""Kinds of moments that say what a session is doing."""

_FAILED = frozenset({INTERRUPTED, "failed", "error", "refusal"})

RequestOf = Callable[[StreamInfo], ChatRequest | None]
"""How to open a session of the history; None if it cannot be."""


@asynccontextmanager
async def open_local_board(request_of: RequestOf, on_change: Callable[[], None]) -> AsyncIterator[LocalBoard]:
    """The board; what is in the history is there a moment later."""
    board = LocalBoard(request_of, on_change)
    looking = asyncio.create_task(board.keep_looking(), name="board")
    try:
        yield board
    finally:
        looking.cancel()
        await asyncio.wait((looking,))


class LocalBoard:
    """A `SessionBoard`, made by `open_local_board`."""

    can_archive = False

    def __init__(self, request_of: RequestOf, on_change: Callable[[], None]) -> None:
        self.trouble = ""
        self.sessions: Sequence[BoardSession] = ()
        self._request_of = request_of
        self._on_change = on_change
        self._lines: dict[str, tuple[int, str]] = {}  # by stream: the last entry, and the line up to there
        self._wake = asyncio.Event()

    async def keep_looking(self) -> None:
        """Until it is cancelled."""
        while True:
            try:
                await self._look()
                self.trouble = ""
            except (JournalError, OSError) as error:
                self.trouble = f"the history cannot be read: {error}"
            self._on_change()
            self._wake.clear()
            try:
                async with asyncio.timeout(EVERY):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _look(self) -> None:
        if not history_path().exists():
            return
        async with open_journal(history_path()) as journal:
            infos = (await journal.list(limit=MOST_SESSIONS)).streams
            stale = [info for info in infos if self._lines.get(info.stream, (-1, ""))[0] != info.last]
            for info in stale[:LINES_READ]:
                self._lines[info.stream] = (info.last, await _last_line(journal, info))
            if len(stale) > LINES_READ:
                self._wake.set()
        latest: dict[str, StreamInfo] = {}
        for info in infos:  # each session once, as it was last
            latest.setdefault(info.session or info.stream, info)
        self.sessions = [self._session(with_current_state(info)) for info in latest.values()]

    def _session(self, info: StreamInfo) -> BoardSession:
        is_running = info.state == "running"
        return BoardSession(
            id=info.stream,
            request=None if is_running else self._request_of(info),
            title=info.title,
            agent=info.agent,
            cwd=info.cwd,
            state="running" if is_running else "failed" if info.state in _FAILED else "idle",
            updated=info.updated,
            line=self._lines.get(info.stream, (0, ""))[1],
        )

    def show_archived(self, on: bool) -> None:
        """There are none."""

    def question(self, session_id: str) -> BoardQuestion | None:
        return None

    async def answer(self, question: BoardQuestion, option_id: str) -> bool:
        return False

    async def set_title(self, session_id: str, title: str) -> None:
        async with open_journal(history_path()) as journal:
            await journal.describe(session_id, title=title)
        self._wake.set()

    async def archive(self, session_id: str, *, on: bool) -> None:
        raise LocalMistake(
            "sessions on this machine can't be archived; to delete one: dragoman sessions forget SESSION"
        )


async def _last_line(journal: Journal, info: StreamInfo) -> str:
    entries = [
        entry
        async for page in journal.replay(info.stream, after=max(0, info.last - TAIL), limit=TAIL)
        for entry in page
        if entry.direction != "note"
    ]
    shown = [moment for moment in moments(entries) if moment.kind in _SHOWN]
    for moment in reversed(shown):
        lines = [line for line in map(str.strip, moment.text.splitlines()) if line]
        if lines:
            return lines[-1] if moment.kind in ("message", "thought") else lines[0]
    return ""
