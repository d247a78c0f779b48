"""The search line of a conversation: the words, and the number of the current match."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.widgets import Input, Static


class FindBar(Horizontal):
    """Hidden until it is opened."""

    DEFAULT_CSS = """
    FindBar {
        height: 1;
        padding: 0 1;
        background: $panel;
        display: none;
        & > #find { width: 1fr; border: none; height: 1; padding: 0; background: $panel; }
        & > #hits { width: auto; color: $text-muted; padding-left: 1; }
        & > #glass { width: 2; color: $text-primary; }
    }
    """

    class Moved(Message):
        """The user wants another match: the next (1) or the previous (-1); 0 for new words."""

        def __init__(self, words: str, step: int) -> None:
            super().__init__()
            self.words = words
            self.step = step

    class Closed(Message):
        """The user has ended the search."""

    def compose(self) -> ComposeResult:
        yield Static(Content("/"), id="glass")
        yield Input(id="find", placeholder="search in this session", compact=True)
        yield Static("", id="hits", markup=False)

    def open(self, words: str = "") -> None:
        """Show the line, with these words or with the previous ones."""
        self.display = True
        find = self.query_one("#find", Input)
        find.focus()
        if words and words != find.value:
            find.value = words  # which tells that it changed
        elif find.value:
            self.post_message(self.Moved(find.value, 0))

    def close(self) -> None:
        """Hide the line; the words stay for the next time."""
        if self.display:
            self.display = False
            self.post_message(self.Closed())

    def say(self, text: str) -> None:
        self.query_one("#hits", Static).update(Content(text))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Moved(event.value, 0))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Moved(event.value, -1))

    def on_key(self, event: Key) -> None:
        if event.key in ("up", "down"):
            event.stop()
            event.prevent_default()
            step = -1 if event.key == "up" else 1
            self.post_message(self.Moved(self.query_one("#find", Input).value, step))
