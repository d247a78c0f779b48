"""No rule raises, whatever the frames hold: conversations without some members, and with odd values."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from dragoman_check.manifest import Side
from dragoman_check.recording import Frame, Recording
from dragoman_check.verdict import judge
from tests.check.mutants.good import GOOD
from tests.every import every

ODD: list[Any] = [None, True, 0, -1, 1.5, 2**70, "", "x", [], {}, [None], ["x"], {"": None}]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in inside:
        yield (*path, key)
        yield from places(held, (*path, key))


def spoilt(value: Any, path: tuple[Any, ...], change: Any) -> Any:
    """The value with `change` at a place, or without what is there if the change is the list `ODD` itself."""
    key, rest = path[0], path[1:]
    copy = dict(value) if isinstance(value, dict) else list(value)
    if rest:
        copy[key] = spoilt(copy[key], rest, change)
    elif change is ODD:
        del copy[key]
    else:
        copy[key] = change
    return copy


def spoil(frame: Frame, chance: random.Random) -> Frame:
    known = list(places(frame.json))
    if not known or chance.random() < 0.4:
        return frame
    change = ODD if chance.random() < 0.3 else chance.choice(ODD)
    raw = msgspec.json.encode(spoilt(frame.json, chance.choice(known), change))
    return Frame(frame.number, frame.direction, frame.at, raw)


@every("seed", range(2))
@every("side", ["agent", "client"])
def test_no_rule_raises(side: Side, seed: int) -> None:
    chance = random.Random(seed)
    for write, _ in GOOD.values():
        whole = write().recording()
        frames = [spoil(frame, chance) for frame in whole.frames]
        recording = Recording(frames=frames, marks=whole.marks, facts=whole.facts)
        assert judge([recording], side)


@pytest.mark.parametrize("side", ["agent", "client"])
def test_lines_that_are_no_messages_stop_no_rule(side: Side) -> None:
    lines = [
        b"",
        b"x",
        b"[]",
        b"7",
        b"null",
        b"{}",
        b'"x"',
        b"\xff\xfe",
        b"[" * 2000,
        b'{"id":1}',
        b'{"method":7}',
    ]
    both = [(way, line) for line in lines for way in ("to_agent", "to_client")]
    frames = [Frame(number, way, 0.0, line) for number, (way, line) in enumerate(both, 1)]  # type: ignore[arg-type]
    assert judge([Recording(frames=frames)], side)
    assert judge([Recording()], side)
    assert judge([], side)
