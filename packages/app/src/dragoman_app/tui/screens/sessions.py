"""Earlier conversations: the latest, or those that contain some words. Enter continues one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace
from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from dragoman.errors import DragomanError
from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.drawing.status import short_path
from dragoman_app.tui.ports import ChatBackend, ChatRequest, SessionRow
from dragoman_app.tui.screens.dialog import Dialog
from dragoman_app.tui.text.lines import cut

PAUSE = 0.15
"""The seconds without a key before a search begins."""


class SessionsScreen(Dialog[ChatRequest]):
    """Returns the conversation to continue."""

    DEFAULT_CSS = """
    SessionsScreen {
        & #words { border: none; height: 1; padding: 0; margin-bottom: 1; }
        & #rows { height: auto; max-height: 1fr; border: none; padding: 0; }
        & .dialog { height: 90%; }
    }
    """

    def __init__(self, backend: ChatBackend, *, words: str = "") -> None:
        super().__init__()
        self.backend = backend
        self._words = words
        self._rows: Sequence[SessionRow] = ()

    def compose(self) -> ComposeResult:
        dialog = Vertical(classes="dialog")
        dialog.border_title = "Sessions"
        dialog.border_subtitle = "type to search · enter opens · esc closes"
        with dialog:
            placeholder = "text of messages"
            yield Input(self._words, id="words", placeholder=placeholder, compact=True, select_on_focus=False)
            yield Static("", classes="quiet", id="about", markup=False)
            yield OptionList(id="rows", markup=False, compact=True)

    def on_mount(self) -> None:
        self.query_one("#words").focus()
        self._find(self._words)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._find(event.value)

    @work(exclusive=True)
    async def _find(self, words: str) -> None:
        if words:
            await asyncio.sleep(PAUSE)
        try:
            self._rows = await self.backend.sessions(words.strip())
        except DragomanError as error:
            self._say(str(error))
            self._rows = ()
        else:
            self._say("" if self._rows else "No results." if words else "Nothing is recorded yet.")
        rows = self.query_one("#rows", OptionList)
        width = max(20, rows.scrollable_content_region.width or self.app.size.width - 8)
        rows.clear_options()
        rows.add_options(Option(_row_line(row, width), disabled=row.request is None) for row in self._rows)
        rows.highlighted = 0 if self._rows else None

    def _say(self, text: str) -> None:
        self.query_one("#about", Static).update(Content(sanitize_line(text)))

    def on_key(self, event: Key) -> None:
        moves = {"up": -1, "down": 1, "pageup": -8, "pagedown": 8}
        if event.key in moves and self._rows and self.query_one("#words").has_focus:
            event.stop()
            event.prevent_default()
            rows = self.query_one("#rows", OptionList)
            at = (rows.highlighted or 0) + moves[event.key]
            rows.highlighted = max(0, min(at, len(self._rows) - 1))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        at = self.query_one("#rows", OptionList).highlighted
        if at is not None:
            self._choose(at)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._choose(event.option_index)

    def _choose(self, at: int) -> None:
        row = self._rows[at] if at < len(self._rows) else None
        if row is not None and row.request is not None:
            words = self.query_one("#words", Input).value.strip() if row.excerpt else ""
            self.end(replace(row.request, words=words))


def _row_line(row: SessionRow, width: int) -> Content:
    title = cut(sanitize_line(row.title) or "(without a title)", width)
    about = cut(f"  {row.when} · {sanitize_line(row.agent)} · {short_path(row.cwd)}", width)
    lines = [Content.styled(title, "bold"), Content.styled(about, "dim")]
    if row.excerpt:
        lines.append(Content.styled(cut(f"  … {sanitize_line(row.excerpt)}", width), "italic"))
    return Content("\n").join(lines)
