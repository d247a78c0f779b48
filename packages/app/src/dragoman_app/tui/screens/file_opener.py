"""Opens files on the screen: a file that the conversation names, or a file that the person searches."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeAlias

from textual.app import App

from dragoman.errors import DragomanError
from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.ports import ChatSession
from dragoman_app.tui.screens.file import FileScreen
from dragoman_app.tui.screens.palette import PaletteItem, PaletteScreen
from dragoman_app.tui.text.places import FilePlace

StartTask: TypeAlias = Callable[[Coroutine[object, None, object]], None]


class FileOpener:
    """For one screen. `chat_of` gives the open conversation, if there is one; `start` owns tasks."""

    def __init__(
        self, app_of: Callable[[], App[Any]], chat_of: Callable[[], ChatSession | None], start: StartTask
    ) -> None:
        self._app_of = app_of
        self._chat_of = chat_of
        self._start = start

    def choose_file(self) -> None:
        """Let the person find a file by a few letters."""
        if self._chat_of() is not None:
            self._offer(PaletteScreen("Open a file", (), search=self._find_files))

    async def _find_files(self, words: str) -> Sequence[PaletteItem]:
        chat = self._chat_of()
        paths = () if chat is None else await chat.files(words)
        return [PaletteItem(path, "", partial(self.open, FilePlace(path))) for path in paths]

    def choose_place(self, places: Sequence[FilePlace]) -> None:
        """Open the one place, or let the person choose."""
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
