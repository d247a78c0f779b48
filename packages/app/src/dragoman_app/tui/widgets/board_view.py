"""The board on the screen: keys and the mouse choose a session."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from dragoman_app.tui.drawing.board import WIDE, BoardDrawing, draw_board
from dragoman_app.tui.model.board import BoardColumn, step_across, step_down


class BoardView(ScrollView, can_focus=True):
    """Shows columns of sessions. `show` replaces them."""

    DEFAULT_CSS = """
    BoardView {
        height: 1fr;
        scrollbar-size-vertical: 1;
        scrollbar-background: $background;
        scrollbar-color: $foreground 30%;
        overflow-x: hidden;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up,k", "step(-1)", "Up"),
        ("down,j", "step(1)", "Down"),
        ("left,h", "across(-1)", "Column to the left"),
        ("right,l", "across(1)", "Column to the right"),
        ("home,g", "step(-100000)", "First"),
        ("end,G", "step(100000)", "Last"),
        ("enter", "open", "Open"),
    ]

    class Opened(Message):
        """The user wants to continue the chosen session."""

        def __init__(self, session_id: str) -> None:
            super().__init__()
            self.session_id = session_id

    def __init__(self, *, id: str | None = None) -> None:  # Textual's name
        super().__init__(id=id)
        self.chosen_id = ""
        self._columns: Sequence[BoardColumn] = ()
        self._drawing = BoardDrawing((), ())

    def show(self, columns: Sequence[BoardColumn]) -> None:
        """Show these columns; the chosen session stays chosen if it still exists."""
        self._columns = columns
        ids = {session.id for column in columns for session in column.sessions}
        if self.chosen_id not in ids:
            self.chosen_id = step_down(columns, "", 0)
        self._draw()

    def on_resize(self, event: Resize) -> None:
        self._draw()
        self._reveal()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        self._drawing = draw_board(self._columns, width, chosen_id=self.chosen_id, now=time.time())
        self.virtual_size = Size(width, len(self._drawing.lines))
        self.refresh()

    def action_step(self, by: int) -> None:
        self._choose(step_down(self._columns, self.chosen_id, by))

    def action_across(self, by: int) -> None:
        self._choose(step_across(self._columns, self.chosen_id, by))

    def action_open(self) -> None:
        if self.chosen_id:
            self.post_message(self.Opened(self.chosen_id))

    def on_click(self, event: Click) -> None:
        x, y = event.x, event.y + self.scroll_offset.y
        card = next((card for card in self._drawing.cards if card.has(x, y)), None)
        if card is None:
            return
        if card.session_id == self.chosen_id:
            self.action_open()
        else:
            self._choose(card.session_id)

    def _choose(self, session_id: str) -> None:
        self.chosen_id = session_id
        self._draw()
        self._reveal()

    def _reveal(self) -> None:
        card = next((card for card in self._drawing.cards if card.session_id == self.chosen_id), None)
        if card is None:
            return
        height = self.scrollable_content_region.height
        # The heading of the first card of a column is to be seen as well.
        top = 0 if card.top <= 2 and self.size.width >= WIDE else max(0, card.top - 1)
        if top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True)
        elif card.top + card.height > self.scroll_offset.y + height:
            self.scroll_to(y=card.top + card.height - height, animate=False, force=True)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        y += self.scroll_offset.y
        lines, style = self._drawing.lines, self.visual_style
        content = lines[y] if y < len(lines) else Content("")
        strips = Visual.to_strips(self, content, width, 1, style, apply_selection=False, pad=True)
        return strips[0] if strips else Strip.blank(width, style.rich_style)
