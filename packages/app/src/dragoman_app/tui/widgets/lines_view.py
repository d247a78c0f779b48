"""A scrolling view of long text, such as a command, a change or an output. Leaves nothing out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

from textual.binding import BindingType
from textual.content import Content
from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

BAR = 1
"""The columns of the scroll bar."""

Source: TypeAlias = Callable[[int], Sequence[Content]]
"""Returns the lines for a width."""


class LinesView(ScrollView, can_focus=True):
    """Shows the lines of a `Source`."""

    DEFAULT_CSS = """
    LinesView {
        height: 1fr;
        scrollbar-size-vertical: 1;
        scrollbar-background: $surface;
        scrollbar-color: $foreground 30%;
        overflow-x: hidden;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("k", "scroll_up", "Up"),
        ("j", "scroll_down", "Down"),
        ("space", "page_down", "Down"),
    ]

    def __init__(self, source: Source, *, id: str | None = None) -> None:  # Textual's name
        super().__init__(id=id)
        self._source = source
        self._lines: Sequence[Content] = ()

    def show(self, source: Source) -> None:
        """Show another source."""
        self._source = source
        self._lay_out()
        self.scroll_home(animate=False)

    @property
    def is_whole(self) -> bool:
        """Whether the end is visible."""
        return self.scroll_offset.y >= self.max_scroll_y

    def on_resize(self, event: Resize) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        width, height = self.scrollable_content_region.size
        room = width + (BAR if self.show_vertical_scrollbar else 0)
        self._lines = self._source(room) if room > 0 else ()
        if len(self._lines) > height and room > BAR + 1:
            room -= BAR + 1  # words that touch the bar look as if it had cut them
            self._lines = self._source(room)
        self.virtual_size = Size(room, len(self._lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        y += self.scroll_offset.y
        style = self.visual_style
        if y >= len(self._lines):
            return Strip.blank(width, style.rich_style)
        strips = Visual.to_strips(self, self._lines[y], width, 1, style, apply_selection=False, pad=True)
        return strips[0] if strips else Strip.blank(width, style.rich_style)
