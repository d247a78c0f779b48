"""A dialog with one line of input: a title, a name."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.screens.dialog import Dialog

LONGEST = 500
"""The most characters of a title."""


class EntryScreen(Dialog[str]):
    """Returns the line without spaces around it; None if it is empty."""

    DEFAULT_CSS = """
    EntryScreen {
        & #entry { border: none; height: 1; padding: 0; }
    }
    """

    def __init__(self, title: str, *, value: str = "", hint: str) -> None:
        super().__init__()
        self._title = title
        self._value = sanitize_line(value)
        self._hint = hint

    def compose(self) -> ComposeResult:
        dialog = Vertical(classes="dialog")
        dialog.border_title = self._title
        dialog.border_subtitle = self._hint
        with dialog:
            yield Input(self._value, id="entry", max_length=LONGEST, compact=True, select_on_focus=False)

    def on_mount(self) -> None:
        self.query_one("#entry").focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.end(event.value.strip() or None)
