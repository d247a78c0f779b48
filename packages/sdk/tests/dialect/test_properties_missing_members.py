"""A message that lacks any one member, or has null there, makes no edge of any dialect raise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from dragoman.dialect import DIALECTS, EdgeSettings, Ledger, Position, make_edge
from tests.dialect.edges import message
from tests.dialect.test_properties import FRAMES
from tests.every import every


def lacking(value: Any) -> Iterator[Any]:
    """The value as often as it has members, each time without one, or with null in its place."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield {other: kept for other, kept in value.items() if other != name}
            yield {**value, name: None}
            for less in lacking(inner):
                yield {**value, name: less}
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            for less in lacking(inner):
                yield [*value[:index], less, *value[index + 1 :]]


VARIANTS = [
    {**frame, part: less}
    for frame in FRAMES
    for part in ("params", "result", "error")
    if isinstance(frame.get(part), dict)
    for less in lacking(frame[part])
    if part != "error" or {"code", "message"} <= less.keys()
]


@every(
    ("dialect", "position"), [(dialect, position) for dialect in DIALECTS for position in get_args(Position)]
)
def test_whatever_a_message_lacks_no_edge_raises(dialect: str, position: Position) -> None:
    edge = make_edge(dialect, position, EdgeSettings(consent=lambda params: "c1"), Ledger())
    for variant in VARIANTS:
        edge.from_peer(message(variant))
        edge.from_inside(message(variant))
