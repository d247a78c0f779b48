"""The board as lines: columns side by side if four fit, otherwise one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from textual.content import Content

from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.model.board import TITLES, BoardColumn, ColumnName, age, duration
from dragoman_app.tui.model.facts import cost_text
from dragoman_app.tui.ports import BoardSession
from dragoman_app.tui.text.lines import cut, line, plain

WIDE: Final = 112
"""The fewest cells for columns side by side: on fewer, a card could hold no line."""

GAP: Final = 2
"""The cells between two columns."""

MARKS: Final[dict[ColumnName, tuple[str, str]]] = {
    "needs": ("?", "$text-warning"),
    "running": ("◐", "$text-primary"),
    "done": ("✓", "$text-success"),
    "failed": ("✗", "$text-error"),
}


class Card(NamedTuple):
    """The place of a session on the board."""

    session_id: str
    left: int
    top: int
    width: int
    height: int

    def has(self, x: int, y: int) -> bool:
        return self.left <= x < self.left + self.width and self.top <= y < self.top + self.height


class BoardDrawing(NamedTuple):
    """All lines, and the place of each session in them."""

    lines: Sequence[Content]
    cards: Sequence[Card]


def draw_board(columns: Sequence[BoardColumn], width: int, *, chosen_id: str, now: float) -> BoardDrawing:
    """Draw the columns at this width; `now` is in seconds since 1970."""
    if width >= WIDE:
        return _side_by_side(columns, width, chosen_id, now)
    lines: list[Content] = []
    cards: list[Card] = []
    for column in columns:
        if not column.sessions:
            continue
        if lines:
            lines.append(Content(""))
        lines.append(_heading(column))
        for session in column.sessions:
            card_lines = _row(session, width, session.id == chosen_id, now)
            cards.append(Card(session.id, 0, len(lines), width, len(card_lines)))
            lines += card_lines
    return BoardDrawing(lines, cards)


def _side_by_side(columns: Sequence[BoardColumn], width: int, chosen_id: str, now: float) -> BoardDrawing:
    room = (width - GAP * (len(columns) - 1)) // len(columns)
    cards: list[Card] = []
    stacks: list[list[Content]] = []
    for number, column in enumerate(columns):
        stack = [_heading(column), plain("─" * room, "dim")]
        for session in column.sessions:
            card_lines = _card(session, room, session.id == chosen_id, now)
            cards.append(Card(session.id, number * (room + GAP), len(stack), room, len(card_lines)))
            stack += [*card_lines, Content("")]
        stacks.append(stack)
    height = max(map(len, stacks))
    lines = []
    for y in range(height):
        cells = [_fill(stack[y] if y < len(stack) else Content(""), room) for stack in stacks]
        lines.append(Content(" " * GAP).join(cells))
    return BoardDrawing(lines, cards)


def _heading(column: BoardColumn) -> Content:
    mark, style = MARKS[column.name]
    return line([(f"{mark} {TITLES[column.name]}", f"bold {style}"), (f"  {len(column.sessions)}", "dim")])


def _card(session: BoardSession, width: int, is_chosen: bool, now: float) -> list[Content]:
    lines = [
        _title(session, width, is_chosen),
        plain(cut(f"  {_about(session, now)}", width), "dim"),
        plain(cut(f"  {sanitize_line(session.line)}", width)),
    ]
    return lines if session.line else lines[:2]


def _row(session: BoardSession, width: int, is_chosen: bool, now: float) -> list[Content]:
    """In less height: what is about it stands at the right of its title."""
    about = _about(session, now)
    room = max(width // 2, width - len(about) - 2)
    title = _title(session, room, is_chosen)
    lines = [title + plain(f"  {cut(about, width - room - 2)}", "dim")]
    if session.line:
        lines.append(plain(cut(f"    {sanitize_line(session.line)}", width), "dim"))
    return lines


def _title(session: BoardSession, width: int, is_chosen: bool) -> Content:
    mark = "▫" if session.state == "archived" else " "
    title = sanitize_line(session.title) or "(without a title)"
    content = _fill(plain(cut(f"{mark} {title}", width), "bold"), width)
    return content.stylize("reverse") if is_chosen else content


def _about(session: BoardSession, now: float) -> str:
    parts = [sanitize_line(session.agent)]
    if session.state == "archived":
        parts.append("archived")
    if session.questions > 1:
        parts.append(f"{session.questions} questions")
    if session.turn_started is not None:
        parts.append(duration(now - session.turn_started))
    elif session.updated:
        parts.append(age(now - session.updated))
    if session.cost is not None:
        parts.append(sanitize_line(cost_text(session.cost)))
    if session.changes:
        parts.append(session.changes)
    return " · ".join(part for part in parts if part)


def _fill(content: Content, width: int) -> Content:
    """As wide as this, whatever it was."""
    content = content.truncate(width, ellipsis=True) if content.cell_length > width else content
    return content.pad_right(width - content.cell_length)
