"""The help: keys and their actions."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content

from dragoman_app.tui.keys import KEYS
from dragoman_app.tui.screens.dialog import Dialog
from dragoman_app.tui.text.lines import hanging, plain
from dragoman_app.tui.widgets.lines_view import LinesView

WIDE: Final = 50
"""The cells from which on keys and words are side by side."""


class HelpScreen(Dialog[bool]):
    """Shows the help until the user closes the screen."""

    DEFAULT_CSS = "HelpScreen { & .dialog { height: 100%; } }"
    BINDINGS: ClassVar[list[BindingType]] = [("q,f1,question_mark", "leave", "Close")]

    def compose(self) -> ComposeResult:
        dialog = Vertical(classes="dialog")
        dialog.border_title = "Help"
        dialog.border_subtitle = "esc closes"
        with dialog:
            yield LinesView(help_lines, id="help")

    def on_mount(self) -> None:
        self.query_one("#help").focus()


def help_lines(width: int) -> list[Content]:
    lines: list[Content] = []
    for section in KEYS:
        lines.append(plain(section.title, "bold $text-primary"))
        for key, does, _ in section.rows:
            if width >= WIDE:
                lines += hanging(plain(does), width, plain(f"  {key:<17} ", "bold"))
            else:
                lines.append(plain(f"  {key}", "bold"))
                lines += hanging(plain(does), width, Content(" " * 4))
        lines.append(Content(""))
    return lines
