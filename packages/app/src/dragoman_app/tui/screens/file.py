"""A file, read only: its lines with numbers and colours, one of them marked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias

from textual import work
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.highlight import guess_language, highlight
from textual.widgets import Input, Static

from dragoman.errors import DragomanError
from dragoman.text.sanitize import sanitize, sanitize_line
from dragoman_app.tui.drawing.status import short_path
from dragoman_app.tui.ports import ChatSession, FileText
from dragoman_app.tui.screens.dialog import Dialog
from dragoman_app.tui.screens.palette import PaletteItem, PaletteScreen
from dragoman_app.tui.text.find import highlight_words
from dragoman_app.tui.text.lines import cut, hanging, plain
from dragoman_app.tui.text.places import FilePlace
from dragoman_app.tui.widgets.lines_view import LinesView

HIGHLIGHT_CHARACTERS: Final = 300_000
"""The most characters of a file to colour; a thread does it, and more would delay the screen."""


class FileScreen(Dialog[bool]):
    """Shows a file until the user closes the screen."""

    DEFAULT_CSS = """
    FileScreen {
        & > .dialog { height: 100%; max-width: 100%; margin: 0; background: $background; }
        & #words { border: none; height: 1; padding: 0; display: none; }
        & #note { height: auto; color: $text-warning; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q", "leave", "Close"),
        ("g", "edge(-1)", "To the beginning"),
        ("G", "edge(1)", "Jump to the end"),
        ("slash", "find", "Search"),
        ("n", "next(1)", "The next"),
        ("N", "next(-1)", "The one before"),
    ]

    def __init__(self, file: FileText, *, line: int = 0, cwd: str = "") -> None:
        super().__init__()
        self.file = file
        self._line = line
        self._cwd = cwd
        text = sanitize(file.text.replace("\r\n", "\n")).expandtabs(4)
        self._lines = Content(text.removesuffix("\n")).split("\n", allow_blank=True)
        self._words = ""
        self._tops: list[int] = []  # the row on the screen with which each line begins

    def compose(self) -> ComposeResult:
        dialog = Vertical(classes="dialog")
        near = self.file.path.removeprefix(f"{self._cwd}/") if self._cwd else self.file.path
        dialog.border_title = Content(cut(short_path(near), max(10, self.app.size.width - 12)))
        dialog.border_subtitle = "read only · / searches · g G ends · esc closes"
        with dialog:
            yield Static(Content(self._note), id="note")
            yield LinesView(self._draw, id="file")
            yield Input(id="words", placeholder="search", compact=True)

    @property
    def _note(self) -> str:
        notes = []
        if not self.file.is_whole:
            last = self.file.first + len(self._lines) - 1
            notes.append(f"The file is large: these are lines {self.file.first:,} to {last:,}.")
        if self.file.is_covered:
            notes.append("Possible secrets are hidden.")
        return " ".join(notes)

    def on_mount(self) -> None:
        self.query_one("#note").display = bool(self._note)
        self._view.focus()
        self.call_after_refresh(self._go_to, self._line)
        self._colour()

    @property
    def _view(self) -> LinesView:
        return self.query_one("#file", LinesView)

    @work(exclusive=True)
    async def _colour(self) -> None:
        text = "\n".join(line.plain for line in self._lines)
        if len(text) <= HIGHLIGHT_CHARACTERS:
            lines = await asyncio.to_thread(_highlight, text, self.file.path)
            if len(lines) == len(self._lines):
                self._lines = lines
                self._redraw()

    def _redraw(self) -> None:
        y = self._view.scroll_offset.y
        self._view.show(self._draw)
        self._view.scroll_to(y=y, animate=False, force=True)

    def _draw(self, width: int) -> Sequence[Content]:
        last = self.file.first + len(self._lines) - 1
        digits = len(str(last))
        rows: list[Content] = []
        self._tops = []
        for number, content in enumerate(self._lines, self.file.first):
            self._tops.append(len(rows))
            is_marked = number == self._line
            sign = "▶" if is_marked else " "
            gutter = plain(f"{sign}{number:>{digits}} ", "reverse" if is_marked else "dim")
            text = highlight_words(content, self._words)
            rows += hanging(text.stylize("bold") if is_marked else text, width, gutter)
        return rows

    def _go_to(self, line: int) -> None:
        """The line in the upper third, with some of what stands above it."""
        at = line - self.file.first
        if 0 <= at < len(self._tops):
            y = max(0, self._tops[at] - self._view.size.height // 3)
            self._view.scroll_to(y=y, animate=False, force=True)

    def action_edge(self, side: int) -> None:
        (self._view.scroll_home if side < 0 else self._view.scroll_end)(animate=False)

    # Searching.

    def action_find(self) -> None:
        words = self.query_one("#words", Input)
        words.display = True
        words.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._words = event.value.strip()
        self._view.focus()
        self.action_next(1)

    def action_next(self, step: int) -> None:
        """Mark the next or the previous line with the words."""
        words = self._words.casefold()
        hits = [
            number
            for number, content in enumerate(self._lines, self.file.first)
            if words and words in content.plain.casefold()
        ]
        if not hits:
            self.app.notify(f"Nothing has “{sanitize_line(self._words)}”.", markup=False)
            return
        if step > 0:
            self._line = next((number for number in hits if number > self._line), hits[0])
        else:
            self._line = next((number for number in reversed(hits) if number < self._line), hits[-1])
        self._redraw()
        self._go_to(self._line)

    def action_leave(self) -> None:
        words = self.query_one("#words", Input)
        if words.display:  # one step after the other
            words.display = False
            self._words = ""
            self._redraw()
            self._view.focus()
        else:
            self.end(True)


def _highlight(text: str, path: str) -> list[Content]:
    content = highlight(text, language=guess_language(text[:2000], path), path=path)
    return content.split("\n", allow_blank=True)


# Opens files on the screen: a file that the conversation names, or a file that the person searches.

StartTask: TypeAlias = Callable[[Coroutine[object, None, object]], None]


class FileOpener:
    """Opens files for one screen. `chat_of` returns the open conversation, if there is one; `start` owns
    tasks.
    """

    def __init__(
        self, app_of: Callable[[], App[Any]], chat_of: Callable[[], ChatSession | None], start: StartTask
    ) -> None:
        self._app_of = app_of
        self._chat_of = chat_of
        self._start = start

    def choose_file(self) -> None:
        """Let the user find a file by a few letters."""
        if self._chat_of() is not None:
            self._offer(PaletteScreen("Open a file", (), search=self._find_files))

    async def _find_files(self, words: str) -> Sequence[PaletteItem]:
        chat = self._chat_of()
        paths = () if chat is None else await chat.files(words)
        return [PaletteItem(path, "", partial(self.open, FilePlace(path))) for path in paths]

    def choose_place(self, places: Sequence[FilePlace]) -> None:
        """Open the only place, or let the user choose."""
        chat = self._chat_of()
        if not places:
            self._app_of().notify("This entry names no file.", markup=False)
        elif len(places) == 1:
            self.open(places[0])
        elif chat is not None:
            items = [PaletteItem(_text(place, chat.cwd), "", partial(self.open, place)) for place in places]
            self._offer(PaletteScreen("Files that it names", items))

    def _offer(self, palette: PaletteScreen) -> None:
        def act(item: PaletteItem | None) -> None:
            if item is not None:
                item.act()

        self._app_of().push_screen(palette, act)

    def open(self, place: FilePlace) -> None:
        """Show a file at a line."""
        self._start(self._open(place))

    async def _open(self, place: FilePlace) -> None:
        chat, app = self._chat_of(), self._app_of()
        if chat is None:
            return
        try:
            file = await chat.read_file(place.path, place.line)
        except DragomanError as error:
            app.notify(sanitize_line(str(error)), severity="error", markup=False)
            return
        await app.push_screen(FileScreen(file, line=place.line, cwd=chat.cwd))


def _text(place: FilePlace, cwd: str) -> str:
    path = place.path.removeprefix(f"{cwd}/")
    return f"{path}:{place.line}" if place.line else path
