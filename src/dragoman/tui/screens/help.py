"""What can be done with which key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content

from dragoman.tui.screens.dialog import Dialog
from dragoman.tui.text.lines import hanging, plain
from dragoman.tui.widgets.lines_view import LinesView

HELP: Final[Sequence[tuple[str, Sequence[tuple[str, str]]]]] = (
    (
        "Saying something",
        (
            ("Enter", "send; while a turn runs, it waits in the queue"),
            ("Ctrl+J", "a new line"),
            ("/", "a command of the agent; Tab or Enter completes"),
            ("@", "a file of the folder, found by a few letters"),
            ("!", "a line of shell, run by you and not by the agent"),
            ("Up, Down", "what you said before"),
        ),
    ),
    (
        "While a turn runs",
        (
            ("Esc", "stop it; Ctrl+C does the same"),
            ("Ctrl+S", "steer: say what you wrote into the turn"),
            ("Up", "in an empty box: take the last queued prompt back"),
        ),
    ),
    (
        "The session",
        (
            ("Ctrl+O, Ctrl+R", "earlier sessions, and search in all of them"),
            ("Ctrl+N", "a new session: choose agent and folder"),
            ("Shift+Tab", "the next mode"),
            ("F2", "modes and options"),
            ("Ctrl+G", "what the last turn changed: keep or put back"),
            ("F5", "start a dead agent again"),
            ("Ctrl+Q", "leave"),
        ),
    ),
    (
        "Reading",
        (
            ("PageUp, PageDown", "scroll; more is fetched at the top"),
            ("Ctrl+T", "unfold all thoughts, or fold them"),
            ("Tab", "into the conversation: arrows choose, Enter folds, o opens all of it"),
            ("F3", "copy the last answer"),
        ),
    ),
    (
        "When the agent asks",
        (
            ("1 2 3 …", "choose an answer by its number"),
            ("y, a, n", "yes once, yes always, no"),
            ("Esc", "choose nothing"),
        ),
    ),
)


WIDE: Final = 50
"""Cells from which on keys and words stand side by side."""


class HelpScreen(Dialog[bool]):
    """Shows it until it is closed."""

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
    for heading, keys in HELP:
        lines.append(plain(heading, "bold $text-primary"))
        for key, does in keys:
            if width >= WIDE:
                lines += hanging(plain(does), width, plain(f"  {key:<17} ", "bold"))
            else:
                lines.append(plain(f"  {key}", "bold"))
                lines += hanging(plain(does), width, Content(" " * 4))
        lines.append(Content(""))
    return lines
