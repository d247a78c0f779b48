"""The board: all sessions by state, with their last line, time and cost, live.

A question is answered from here in two steps: `A` shows all of it, and a key of its dialog answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from dragoman.errors import DragomanError
from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.model.board import columns_of, total_cost
from dragoman_app.tui.ports import BoardQuestion, BoardSession, ChatBackend, ChatRequest, SessionBoard
from dragoman_app.tui.screens.dialog import Dialog
from dragoman_app.tui.screens.entry import EntryScreen
from dragoman_app.tui.screens.permission import PermissionScreen
from dragoman_app.tui.text.lines import cut
from dragoman_app.tui.widgets.board_view import BoardView

EVERY = 1.0
"""The seconds after which times are drawn again."""


class BoardScreen(Dialog[ChatRequest]):
    """Returns the session to continue."""

    DEFAULT_CSS = """
    BoardScreen {
        & > .dialog { height: 100%; max-width: 100%; margin: 0; background: $background; }
        & #words { border: none; height: 1; padding: 0; margin-bottom: 1; display: none; }
        & #state { height: auto; color: $text-warning; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,f4,b", "leave", "Close"),
        ("A", "question", "What it asks"),
        ("r", "rename", "Set the title"),
        ("x", "archive", "Into the archive, or out of it"),
        ("v", "archived", "Show archived sessions, or hide them"),
        ("slash", "filter", "Filter"),
        ("n", "new", "New session"),
    ]

    def __init__(self, backend: ChatBackend) -> None:
        super().__init__()
        self.backend = backend
        self.view = BoardView(id="board")
        self._board: SessionBoard | None = None
        self._watching: asyncio.Task[None] | None = None
        self._clock: Timer | None = None
        self._with_archived = False
        self._has_loaded = False

    def compose(self) -> ComposeResult:
        dialog = Vertical(classes="dialog")
        dialog.border_title = "Board"
        dialog.border_subtitle = "enter opens · A answers · / filters · r title · x archive · esc"
        with dialog:
            yield Input(id="words", placeholder="words of title, agent or folder", compact=True)
            yield Static("", id="state", markup=False)
            yield self.view

    def on_mount(self) -> None:
        self.view.focus()
        self._show()
        self._clock = self.set_interval(EVERY, self._show)
        self._watching = asyncio.create_task(self._watch(), name="board screen")

    async def on_unmount(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait((self._watching,))

    async def _watch(self) -> None:
        try:
            async with self.backend.board(self._on_change) as board:
                self._board = board
                self._show()
                await asyncio.Event().wait()  # until the screen is closed
        except (DragomanError, OSError) as error:
            self._board = None
            self._say(str(error))

    # What is shown.

    def _on_change(self) -> None:
        self._has_loaded = True
        self._show()

    def _show(self) -> None:
        board = self._board
        if board is None or not self.is_mounted:
            return
        sessions = board.sessions
        self.view.show(columns_of(sessions, self.query_one("#words", Input).value))
        if board.trouble:
            self._say(board.trouble)
        elif sessions or not self._has_loaded:
            self._say("")
        else:
            self._say("No sessions yet. Press n to start one.")
        cost = total_cost(sessions)
        dialog = self.query_one(".dialog")
        dialog.border_title = Content(f"Board · {cut(sanitize_line(cost), 40)}" if cost else "Board")

    def _say(self, text: str) -> None:
        state = self.query_one("#state", Static)
        state.update(Content(sanitize_line(text)))
        state.display = bool(text)

    @property
    def _chosen_session(self) -> BoardSession | None:
        sessions = () if self._board is None else self._board.sessions
        return next((session for session in sessions if session.id == self.view.chosen_id), None)

    # Filtering.

    def action_filter(self) -> None:
        words = self.query_one("#words", Input)
        words.display = True
        words.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.view.focus()

    def action_leave(self) -> None:
        words = self.query_one("#words", Input)
        if words.display:  # one step after the other
            words.value = ""
            words.display = False
            self.view.focus()
        else:
            self.end(None)

    # Doing something with the chosen session.

    def on_board_view_opened(self, event: BoardView.Opened) -> None:
        session = self._chosen_session
        if session is not None and session.request is not None:
            self.end(session.request)
        elif session is not None and session.state == "running":
            self.app.notify("This session runs in another terminal, so you can't open it here.", markup=False)
        else:
            self.app.notify(
                "The agent or the folder of this session is not here, so you can't open it.", markup=False
            )

    def action_question(self) -> None:
        session, board = self._chosen_session, self._board
        question = None if session is None or board is None else board.question(session.id)
        if question is None:
            self.app.notify("This session has no open question.", markup=False)
        elif question.permission is None:
            self.app.notify(
                "This question needs more than a yes. Press Enter to open the session.", markup=False
            )
        else:
            self.app.push_screen(
                PermissionScreen(question.permission, asked_at=question.asked_at or None),
                lambda option_id: self._answer(question, option_id),
            )

    def _answer(self, question: BoardQuestion, option_id: str | None) -> None:
        if self._board is not None and option_id is not None:
            self._act(self._answer_board(self._board, question, option_id))

    async def _answer_board(self, board: SessionBoard, question: BoardQuestion, option_id: str) -> None:
        if not await board.answer(question, option_id):
            self.app.notify("Somebody else already answered this question.", markup=False)

    def action_rename(self) -> None:
        session = self._chosen_session
        if session is not None:
            dialog = EntryScreen("Title", value=session.title, hint="enter sets the title · esc leaves it")
            self.app.push_screen(dialog, lambda title: self._rename(session.id, title))

    def _rename(self, session_id: str, title: str | None) -> None:
        if self._board is not None and title:
            self._act(self._board.set_title(session_id, title))

    def action_archive(self) -> None:
        session, board = self._chosen_session, self._board
        if session is None or board is None:
            return
        if not board.can_archive:
            self.app.notify("Sessions on this machine can't be archived.", markup=False)
            return
        self._act(board.archive(session.id, on=session.state != "archived"))

    def action_archived(self) -> None:
        if self._board is not None:
            self._with_archived = not self._with_archived
            self._board.show_archived(self._with_archived)

    def action_new(self) -> None:
        self.end(None)
        self.app.call_later(self.app.run_action, "new")

    def _act(self, act: Coroutine[object, None, None]) -> None:
        """Do it, and tell what goes wrong."""
        self.run_worker(self._try(act), exit_on_error=False)

    async def _try(self, act: Coroutine[object, None, None]) -> None:
        try:
            await act
        except DragomanError as error:
            self.app.notify(sanitize_line(str(error)), severity="error", markup=False)
