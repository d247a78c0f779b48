"""The preview of going back to before a turn: the files, and those that the user changed since, which stay
unless they are ticked. No file is restored before the user has seen it and agreed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.ports import RewindPreview, RewoundFile
from dragoman_app.tui.screens.dialog import Dialog
from dragoman_app.tui.widgets.ticks import Ticks

ALL = ""
"""Stands for all files in the list of those that stay unless they are ticked."""

_ACTS = {"restore": "+ {}  comes back", "remove": "- {}  goes away", "change": "~ {}  changes"}


class RewindChoice(NamedTuple):
    """The user's choice: go back as shown, or show another turn."""

    turn: int
    also: Sequence[str] = ()
    """Files changed by the user that are restored, too."""


class RewindScreen(Dialog[RewindChoice]):
    """Returns the choice."""

    DEFAULT_CSS = """
    RewindScreen {
        & VerticalScroll { height: auto; max-height: 12; }
        & Ticks { height: auto; max-height: 8; }
        & Static { height: auto; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("r", "rewind", "Put back"),
        Binding("left", "turn(-1)", "The turn before", priority=True),  # lists scroll with these
        Binding("right", "turn(1)", "The next turn", priority=True),
        ("pagedown", "scroll(1)", "Down"),
        ("pageup", "scroll(-1)", "Up"),
        ("q", "leave", "Close"),
    ]

    def __init__(self, preview: RewindPreview, *, cwd: str) -> None:
        super().__init__()
        self._preview = preview
        self._cwd = cwd

    def compose(self) -> ComposeResult:
        preview = self._preview
        persons = [file for file in preview.files if file.is_persons]
        dialog = Vertical(classes="dialog")
        dialog.border_title = f"Put files back to before turn {preview.turn}?"
        dialog.border_subtitle = "r put back · ← → another turn · esc close"
        with dialog:
            with VerticalScroll(can_focus=False):
                yield Static(Content("\n".join(self._lines())))
            if persons:
                yield Static(
                    "No turn announced these changes. They stay, unless you tick them (space).",
                    classes="quiet",
                    markup=False,
                )
                first = [(ALL, "All of these")] if len(persons) > 1 else []
                yield Ticks([*first, *((file.path, self._line(file)) for file in persons)], (), id="persons")
            if preview.left:
                yield Static(
                    "These differ too, but stay as they are, because Dragoman has no copy of them: "
                    + ", ".join(map(self._shown_path, preview.left)),
                    classes="quiet",
                    markup=False,
                )

    def on_mount(self) -> None:
        for ticks in self.query(Ticks):
            ticks.highlighted = 0
            ticks.focus()

    def _lines(self) -> Iterator[str]:
        if self._preview.is_busy:
            yield "A turn is running in this folder. Let it end first."
        if not self._preview.files:
            yield "Nothing to put back: the files are as they were before this turn."
        yield from (
            self._line(file) + ("  changed while a command ran" if file.had_command else "")
            for file in self._preview.files
            if not file.is_persons
        )

    def _line(self, file: RewoundFile) -> str:
        act = _ACTS.get(file.act, "? {}").format(self._shown_path(file.path))
        return f"{act}  +{file.added} -{file.removed}"

    def _shown_path(self, path: str) -> str:
        return sanitize_line(path.removeprefix(f"{self._cwd}/"))

    def action_turn(self, step: int) -> None:
        if self._preview.turn + step > 0:
            self.end(RewindChoice(self._preview.turn + step))

    def action_scroll(self, step: int) -> None:
        files = self.query_one(VerticalScroll)
        (files.scroll_page_down if step > 0 else files.scroll_page_up)(animate=False)

    def action_rewind(self) -> None:
        ticked = {path for ticks in self.query(Ticks) for path in ticks.ticked_values}
        also = [file.path for file in self._preview.files if file.is_persons and ticked & {ALL, file.path}]
        if not self._preview.is_busy and (also or not all(file.is_persons for file in self._preview.files)):
            self.end(RewindChoice(self._preview.turn, also))
