"""The input box: Enter sends, Ctrl+J breaks the line, Up on the first line brings back earlier prompts.

It knows what is being completed (a command after `/`, a file after `@`), not what there is to choose from.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, NamedTuple

from textual.binding import BindingType
from textual.content import Content
from textual.events import Key, Paste
from textual.message import Message
from textual.widgets import TextArea

_FILE = re.compile(r"(?:^|\s)@([^\s\"]*)$")
_COMMAND = re.compile(r"/(\S*)$")

LONGEST = 1024 * 1024
"""The most characters of one paste: a longer text belongs in a file."""


class CompletionQuery(NamedTuple):
    """The text to complete: from this column of the cursor's line to the cursor."""

    kind: Literal["command", "file"]
    query: str
    start: int


class PromptBox(TextArea):
    """An input box with a few lines."""

    DEFAULT_CSS = """
    PromptBox {
        height: auto;
        min-height: 1;
        max-height: 8;
        padding: 0;
        border: none;
        background: $background;
        scrollbar-size-vertical: 1;
        & .text-area--cursor-line { background: transparent; }
        &:focus { border: none; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = []

    class Submitted(Message):
        """The user pressed Enter."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class HelpWanted(Message):
        """The user typed a question mark in an empty box."""

    def __init__(self, recall: Callable[[], Sequence[str]], withdraw: Callable[[], bool]) -> None:
        super().__init__(soft_wrap=True, compact=True, highlight_cursor_line=False)
        self.placeholder = Content("Say something. / commands, @ files, ! shell, ? help")
        self.typed_at = 0.0
        """When a key was last pressed here: a question must not take that key for its answer."""
        self.chooser: Callable[[str], bool] | None = None
        """Takes keys for the list of completions while it is open."""
        self._recall = recall
        self._withdraw = withdraw
        self._recall_depth = 0  # how far back; 0 is what is being written
        self._draft = ""

    # Keys.

    async def on_key(self, event: Key) -> None:
        self.typed_at = time.monotonic()
        key = event.key
        if self.chooser is not None and self.chooser(key):
            is_taken = True
        elif key == "enter":
            is_taken = True
            self._submit()
        elif key in ("ctrl+j", "shift+enter", "alt+enter"):
            is_taken = True
            self.insert("\n")
        elif key == "question_mark" and not self.text:
            is_taken = True
            self.post_message(self.HelpWanted())
        elif key == "up" and self.cursor_location[0] == 0:
            is_taken = self._take_back() or self._step_back(1)
        elif key == "down" and self._recall_depth and self.cursor_location[0] == self.document.line_count - 1:
            is_taken = self._step_back(-1)
        else:
            is_taken = False
        if is_taken:
            event.prevent_default()
            event.stop()

    async def on_paste(self, event: Paste) -> None:
        if len(event.text) > LONGEST:
            event.prevent_default()
            self.app.notify(
                "This text is too long for a prompt. Put it into a file, and name the file with @."
            )

    def _submit(self) -> None:
        text = self.text
        self._recall_depth = 0
        self.post_message(self.Submitted(text))

    def set_text(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)

    def _take_back(self) -> bool:
        return not self.text and not self._recall_depth and self._withdraw()

    def _step_back(self, step: int) -> bool:
        prompts = self._recall()
        at = self._recall_depth + step
        if not 0 <= at <= len(prompts):
            return False
        if self._recall_depth == 0:
            self._draft = self.text
        self._recall_depth = at
        self.set_text(self._draft if at == 0 else prompts[-at])
        return True

    # Completing.

    @property
    def sought(self) -> CompletionQuery | None:
        """The unfinished word, if it can be completed."""
        row, column = self.cursor_location
        before = self.document[row][:column]
        if row == 0 and (command := _COMMAND.fullmatch(before)):
            return CompletionQuery("command", command[1], 0)
        if match := _FILE.search(before):
            return CompletionQuery("file", match[1], match.start(1) - 1)
        return None

    def complete(self, text: str) -> None:
        """Replace the unfinished word by this text."""
        sought = self.sought
        if sought is not None:
            row, column = self.cursor_location
            self.replace(text, (row, sought.start), (row, column))
