"""The palette: every action, session and agent, by a few letters of its name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from dragoman.errors import DragomanError
from dragoman.text.fuzzy import fuzzy_search
from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.screens.dialog import Dialog
from dragoman_app.tui.text.lines import cut

MOST = 60
"""The most lines to offer; more letters find the others."""

MOVES = {"up": -1, "down": 1, "pageup": -8, "pagedown": 8}


class PaletteItem(NamedTuple):
    """One item to choose. Its texts may be an agent's."""

    title: str
    detail: str
    act: Callable[[], object]
    """Runs the item; its result is awaited if possible."""
    key: str = ""


class PaletteScreen(Dialog[PaletteItem]):
    """Returns the chosen item. Items from `fetch` are added when they arrive; `otherwise` is offered below
    all matches.
    """

    DEFAULT_CSS = """
    PaletteScreen {
        align: center top;
        & #words { border: none; height: 1; padding: 0; margin-bottom: 1; }
        & #items { height: auto; max-height: 1fr; border: none; padding: 0; }
        & .dialog { max-height: 90%; margin: 1 2; }
    }
    """

    def __init__(
        self,
        title: str,
        items: Sequence[PaletteItem],
        *,
        last_items: Sequence[PaletteItem] = (),
        fetch: Callable[[], Awaitable[Sequence[PaletteItem]]] | None = None,
        search: Callable[[str], Awaitable[Sequence[PaletteItem]]] | None = None,
        otherwise: Callable[[str], PaletteItem] | None = None,
    ) -> None:
        """`last_items` stay after the fetched ones. `search` finds the items for the written words: no
        further filter is applied then.
        """
        super().__init__()
        self._title = title
        self._items, self._last_items = list(items), last_items
        self._fetch, self._search, self._otherwise = fetch, search, otherwise
        self._offered: Sequence[PaletteItem] = ()

    def compose(self) -> ComposeResult:
        dialog = Vertical(classes="dialog")
        dialog.border_title = self._title
        dialog.border_subtitle = "type a few letters · enter does it · esc closes"
        with dialog:
            yield Input(id="words", placeholder="a few letters of its name", compact=True)
            yield OptionList(id="items", markup=False, compact=True)

    def on_mount(self) -> None:
        self.query_one("#words").focus()
        self._offer("")
        if self._fetch is not None:
            self._add(self._fetch)

    @work
    async def _add(self, fetch: Callable[[], Awaitable[Sequence[PaletteItem]]]) -> None:
        try:
            self._items += await fetch()
        except DragomanError:
            return  # what is there already can be used without it
        rows = self.query_one("#items", OptionList)
        at = rows.highlighted
        self._offer(self.query_one("#words", Input).value)
        rows.highlighted = at  # somebody may be on the way to it

    def on_input_changed(self, event: Input.Changed) -> None:
        self._offer(event.value)

    def _offer(self, words: str) -> None:
        if self._search is not None:
            self._find(words, self._search)
            return
        matches = fuzzy_search(
            words, [*self._items, *self._last_items], key=lambda item: item.title, most=MOST
        )
        if words.strip() and self._otherwise is not None:
            matches.append(self._otherwise(words.strip()))
        self._list(matches)

    @work(exclusive=True, group="find")
    async def _find(self, words: str, search: Callable[[str], Awaitable[Sequence[PaletteItem]]]) -> None:
        try:
            self._list(await search(words.strip()))
        except DragomanError as error:
            self.app.notify(sanitize_line(str(error)), severity="error", markup=False)

    def _list(self, items: Sequence[PaletteItem]) -> None:
        self._offered = items
        rows = self.query_one("#items", OptionList)
        width = max(20, min(self.app.size.width - 4, 110) - 5)
        rows.clear_options()
        rows.add_options(Option(_item_line(item, width)) for item in items)
        rows.highlighted = 0 if items else None

    def on_key(self, event: Key) -> None:
        if event.key in MOVES and self._offered and self.query_one("#words").has_focus:
            event.stop()
            event.prevent_default()
            rows = self.query_one("#items", OptionList)
            at = (rows.highlighted or 0) + MOVES[event.key]
            rows.highlighted = max(0, min(at, len(self._offered) - 1))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._choose(self.query_one("#items", OptionList).highlighted)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._choose(event.option_index)

    def _choose(self, at: int | None) -> None:
        if at is not None and at < len(self._offered):
            self.end(self._offered[at])


def _item_line(item: PaletteItem, width: int) -> Content:
    title = cut(sanitize_line(item.title), width - len(item.key) - 2)
    room = width - Content(title).cell_length - len(item.key) - 4
    detail = cut(sanitize_line(item.detail), room) if item.detail and room > 8 else ""
    left = Content.assemble((title, "bold"), (f"  {detail}" if detail else "", "dim"))
    space = " " * max(1, width - left.cell_length - len(item.key))
    return left + space + Content.styled(item.key, "dim") if item.key else left
