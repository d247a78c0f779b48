"""The board as values: sessions in columns by state, and moving between them. Pure.

What waits for somebody is first, the longest wait on top; of everything else, what moved last is on top.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from dragoman_app.tui.model.facts import cost_text
from dragoman_app.tui.ports import BoardSession

ColumnName: TypeAlias = Literal["needs", "running", "done", "failed"]

TITLES: Final[dict[ColumnName, str]] = {
    "needs": "Needs you",
    "running": "Running",
    "done": "Done",
    "failed": "Failed",
}
_COLUMNS: Final[dict[str, ColumnName]] = {"waiting": "needs", "running": "running", "failed": "failed"}


class BoardColumn(NamedTuple):
    """Sessions with the same state."""

    name: ColumnName
    sessions: Sequence[BoardSession]


def columns_of(sessions: Iterable[BoardSession], words: str = "") -> list[BoardColumn]:
    """Return all four columns; with words, only sessions with all of them in title, agent or folder."""
    wanted_words = words.casefold().split()
    columns: dict[ColumnName, list[BoardSession]] = {name: [] for name in TITLES}
    for session in sessions:
        text = f"{session.title} {session.agent} {session.cwd}".casefold()
        if all(word in text for word in wanted_words):
            columns["needs" if session.questions else _COLUMNS.get(session.state, "done")].append(session)
    for name, column in columns.items():
        column.sort(key=lambda session: session.updated, reverse=name != "needs")
    return [BoardColumn(name, column) for name, column in columns.items()]


def step_down(columns: Sequence[BoardColumn], session_id: str, by: int) -> str:
    """Return the session this many places below or above; the columns follow each other."""
    ids = [session.id for column in columns for session in column.sessions]
    if not ids:
        return ""
    at = ids.index(session_id) + by if session_id in ids else 0
    return ids[max(0, min(at, len(ids) - 1))]


def step_across(columns: Sequence[BoardColumn], session_id: str, by: int) -> str:
    """Return the session beside it, in the next column with sessions, at the same height."""
    id_columns = [[session.id for session in column.sessions] for column in columns if column.sessions]
    at = next((number for number, ids in enumerate(id_columns) if session_id in ids), None)
    if at is None:
        return id_columns[0][0] if id_columns else ""
    ids = id_columns[max(0, min(at + by, len(id_columns) - 1))]
    return ids[min(id_columns[at].index(session_id), len(ids) - 1)]


def total_cost(sessions: Iterable[BoardSession]) -> str:
    """Return the total cost of the sessions in each currency."""
    totals: dict[str, float] = {}
    for session in sessions:
        if session.cost is not None:
            amount, currency = session.cost
            totals[currency] = totals.get(currency, 0.0) + amount
    return " · ".join(cost_text((amount, currency)) for currency, amount in totals.items())


def duration(seconds: float) -> str:
    """Format the duration of a turn: `8 s`, `4:05 min`, `2 h 07 min`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def age(seconds: float) -> str:
    """Format the time since an event in the largest unit that fits."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"
