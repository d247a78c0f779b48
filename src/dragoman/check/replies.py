"""What a side made of lines that are no messages, and how one knows that it has read them.

A side that answers a request has read everything that was sent before it. Refusals of what has no id carry
none either, so they are matched by order: a refusal belongs to the oldest line that waits for one, and a line
waits until a later request was answered.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import Struct

from dragoman.check.manifest import Side
from dragoman.check.recording import BROKEN, Direction, Frame
from dragoman.check.rule import said_by
from dragoman.check.story import Exchange, Story

T = TypeVar("T")

Kind: TypeAlias = Literal["text", "odd", "blank", "batch", "value", "object", "version", "answer"]
"""No JSON; what some readers forgive; nothing; an array; a number or a text; an object, but no request; of
another version; an answer to nothing.
"""

QUIET = ("blank lines", "BOM")
"""Stretches in which a refusal without an id may belong to something that was not recorded."""

CUT = ("dribbled", "1 MB", "10 MB", "50 MB")
"""Stretches in which a line may be recorded in pieces."""


class Stray(Struct, frozen=True):
    """A line to one side that is no message, or that nobody waits for."""

    frame: Frame
    kind: Kind
    reply: Frame | None
    """What the side answered to it."""
    is_read: bool
    """Whether the side has certainly read it."""


class Proof(Struct, frozen=True):
    """Requests to one side that were answered: by number, and the first answer to it or to a later one."""

    asked: list[int]
    first: list[int]
    restarts: list[int] = []
    """Where another connection begins, in recordings that hold several."""

    def after(self, number: int) -> int | None:
        """The answer that shows that everything up to a frame was read."""
        at = bisect_right(self.asked, number)
        if at == len(self.asked):
            return None
        is_same = bisect_right(self.restarts, number) == bisect_right(self.restarts, self.first[at])
        return self.first[at] if is_same else None


def remembered(story: Story, key: tuple[str, str], make: Callable[[], T]) -> T:
    """Found out once for each story."""
    known: dict[tuple[str, str], Any] = story.__dict__.setdefault("replies", {})
    if key not in known:
        known[key] = make()
    found: T = known[key]
    return found


def to(side: Side) -> Direction:
    """The direction of what a side is told."""
    return "to_agent" if side == "agent" else "to_client"


def asked_of(story: Story, side: Side) -> list[Exchange]:
    """Requests to a side."""
    return remembered(story, ("asked", side), lambda: story.calls(direction=to(side)))


def said(story: Story, side: Side) -> list[Frame]:
    way = said_by(side)
    return remembered(story, ("said", side), lambda: [one for one in story.frames if one.direction == way])


def told(story: Story, side: Side) -> list[Frame]:
    way = to(side)
    return remembered(story, ("told", side), lambda: [one for one in story.frames if one.direction == way])


def proof(story: Story, side: Side) -> Proof:
    return remembered(story, ("proof", side), lambda: _proof(asked_of(story, side), restarts(story)))


def restarts(story: Story) -> list[int]:
    """Handshakes under an id that was used before: some recorders put several connections into one file."""
    tried = story.calls("initialize", direction="to_agent")
    known: set[str] = set()
    found = []
    for one in tried:
        key = repr(one.request.message["id"])
        if key in known:
            found.append(one.request.number)
        if one.has_result:
            known.add(key)
    return found


def _proof(exchanges: list[Exchange], begins: list[int]) -> Proof:
    done = [(one.request.number, one.answer.number) for one in exchanges if one.answer is not None]
    first: list[int] = []
    for _, number in reversed(done):
        first.append(min(number, first[-1]) if first else number)
    return Proof([number for number, _ in done], first[::-1], begins)


def spoke_after(story: Story, side: Side, frame: Frame) -> bool:
    """Whether a side said anything after a frame."""
    spoken = said(story, side)
    return bool(spoken) and spoken[-1].number > frame.number


def fell_silent(story: Story, side: Side, frame: Frame) -> bool:
    """Whether a side was asked something after a frame, and never said a word again until the recording was
    ended in good order.
    """
    asked = asked_of(story, side)
    return (
        "exit" in story.recording.facts
        and bool(asked)
        and asked[-1].request.number > frame.number
        and not spoke_after(story, side, frame)
    )


def strays(story: Story, side: Side) -> list[Stray]:
    """What a side was told that is no message, with what it answered."""
    return remembered(story, ("strays", side), lambda: _strays(story, side)[0])


def loose(story: Story, side: Side) -> list[Frame]:
    """Answers of a side that carry no id, and belong to no such line."""
    return remembered(story, ("loose", side), lambda: _strays(story, side)[1])


def _strays(story: Story, side: Side) -> tuple[list[Stray], list[Frame]]:
    waiting = list(_waiting(story, side))
    noted = [frame.number for frame in told(story, side) if frame.is_notification]
    lines, refusals = [frame for frame, _ in waiting], _without_id(story, side)
    sure = _in_stretches(story, lines, refusals)
    lines = [frame for frame in lines if frame.number not in sure]
    refusals = [frame for frame in refusals if frame not in sure.values()]
    replies, left = _matched(lines, refusals, noted, proof(story, side))
    replies |= sure
    left = _late([frame for frame, kind in waiting if kind != "answer"], replies, left)
    under_id = _under_id(story, side)
    found = []
    for frame, kind in waiting:
        reply = replies.get(frame.number) or under_id.get(frame.number)
        is_read = reply is not None or proof(story, side).after(frame.number) is not None
        found.append(Stray(frame, kind, reply, is_read))
    return found, left


def _in_stretches(story: Story, waiting: list[Frame], refusals: list[Frame]) -> dict[int, Frame]:
    """A scene waits after each line: if a stretch holds one line and one refusal, they belong together."""
    found: dict[int, Frame] = {}
    for mark in story.recording.marks if refusals else ():
        lines = [frame for frame in waiting if mark.first < frame.number <= mark.last]
        replies = [frame for frame in refusals if mark.first < frame.number <= mark.last]
        if len(lines) == len(replies) == 1 and lines[0].number < replies[0].number:
            found[lines[0].number] = replies[0]
    return found


def _matched(
    waiting: list[Frame], refusals: list[Frame], noted: list[int], proven: Proof
) -> tuple[dict[int, Frame], list[Frame]]:
    """The refusal of each line by the line's number, and those that are left."""

    def is_about_a_note(refusal: Frame) -> bool:
        at = bisect_right(noted, refusal.number)
        closed = proven.after(noted[at - 1]) if at else 0
        return code_of(refusal) in (-32601, -32602, -32603) and (closed is None or closed > refusal.number)

    queue = deque(waiting)
    replies: dict[int, Frame] = {}
    left: list[Frame] = []
    for refusal in refusals:
        while queue and (proven.after(queue[0].number) or refusal.number) < refusal.number:
            queue.popleft()
        if queue and queue[0].number < refusal.number and not is_about_a_note(refusal):
            replies[queue.popleft().number] = refusal
        else:
            left.append(refusal)
    return replies, left


def _late(waiting: list[Frame], replies: dict[int, Frame], left: list[Frame]) -> list[Frame]:
    """Refusals that were overtaken by the answer to a later request belong to the line before them."""
    numbers = [frame.number for frame in waiting if frame.number not in replies]
    still_left = []
    for refusal in left:
        at = bisect_right(numbers, refusal.number)
        if at and code_of(refusal) in (-32700, -32600):
            replies[numbers.pop(at - 1)] = refusal
        else:
            still_left.append(refusal)
    return still_left


def code_of(frame: Frame | None) -> Any:
    """The code of an error answer, None if it is none."""
    error = frame.message.get("error") if frame is not None else None
    return error.get("code") if type(error) is dict else None


def _waiting(story: Story, side: Side) -> Iterator[tuple[Frame, Kind]]:
    unasked = {frame.number for frame in story.unasked}
    for frame in told(story, side):
        kind = _kind(frame, is_unasked=frame.number in unasked)
        if kind is not None and not is_marked(story, frame, CUT):
            yield frame, kind


def _kind(frame: Frame, *, is_unasked: bool) -> Kind | None:
    value = frame.json
    if not frame.raw.strip():
        return "blank"
    if value is BROKEN:
        return "text" if is_no_json(frame.raw) else "odd"
    if type(value) is not dict:
        return "batch" if type(value) is list else "value"
    if "method" not in value:
        is_answer = "result" in value or "error" in value or "id" in value
        return "object" if not is_answer else "answer" if is_unasked or not frame.is_answer else None
    if type(value["method"]) is not str:
        return "object"
    return None if value.get("jsonrpc") == "2.0" else "version"


def is_marked(story: Story, frame: Frame, names: Iterable[str]) -> bool:
    """Whether a frame is in a stretch of one of these names."""
    marks = story.recording.marks
    return any(mark.name in names and mark.first < frame.number <= mark.last for mark in marks)


def _without_id(story: Story, side: Side) -> list[Frame]:
    way = said_by(side)
    return [one for one in story.unasked if one.direction == way and one.message.get("id") is None]


def _under_id(story: Story, side: Side) -> dict[int, Frame]:
    """Answers that repeat the id of such a line: of a request, or of an answer to nothing."""
    found = {one.request.number: one.answer for one in asked_of(story, side) if one.answer is not None}
    back: dict[str, list[Frame]] = {}
    for frame in story.unasked:
        if frame.direction == said_by(side) and frame.message.get("id") is not None:
            back.setdefault(repr(frame.message["id"]), []).append(frame)
    for frame in told(story, side) if back else ():
        if "method" not in frame.message and frame.message.get("id") is not None:
            replies = back.get(repr(frame.message["id"]), [])
            reply = next((one for one in replies if one.number > frame.number), None)
            if reply is not None:
                found[frame.number] = reply
    return found


def ids_inside(story: Story, side: Side) -> set[str]:
    """The ids of requests to a side that are inside of arrays, or of lines that only some can read."""
    found: set[str] = set()
    for frame in told(story, side):
        value = frame.json
        if value is BROKEN:
            value = _forgiving(frame.raw)
        elif type(value) is not list:
            continue
        entries = value if type(value) is list else [value]
        found |= {repr(one["id"]) for one in entries if type(one) is dict and "id" in one}
    return found


def _forgiving(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode(errors="replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None


def is_no_json(raw: bytes) -> bool:
    """Whether no reader at all takes it for JSON: many forgive a mark of byte order, bytes that are no UTF-8,
    halves of surrogate pairs, and numbers beyond all bounds.
    """
    try:
        json.loads(raw.decode(errors="replace").removeprefix("\ufeff"))
    except RecursionError:
        return False
    except ValueError:
        return True
    return False
