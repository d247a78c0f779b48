"""Finds a peer's reactions to malformed lines, and whether it has read them.

A side that answers a request has read everything that was sent before it. Refusals of what has no id carry
none either, so they are matched by order: a refusal belongs to the oldest line that waits for one, and a line
waits until a later request was answered.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias, TypeVar

from msgspec import Struct

from dragoman.wire.envelope import Json
from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.manifest import Side
from dragoman_check.recording import BROKEN, Direction, Frame
from dragoman_check.rule import direction_from

T = TypeVar("T")

Kind: TypeAlias = Literal["text", "odd", "blank", "batch", "value", "object", "version", "answer"]
"""Not JSON; accepted by some readers; blank; an array; a number or a text; an object, but not a request;
another version; an answer without a request.
"""

QUIET = ("blank lines", "BOM")
"""Stretches in which a refusal without an id may belong to an unrecorded line."""

CUT = ("dribbled", "1 MB", "10 MB", "50 MB")
"""Stretches in which a line may be recorded in pieces."""


class Stray(Struct, frozen=True):
    """A line to one side that is not a message, or that has no waiting request."""

    frame: Frame
    kind: Kind
    reply: Frame | None
    """The side's answer to it."""
    is_read: bool
    """Whether the side has surely read it."""


class Proof(Struct, frozen=True):
    """Answered requests to one side: by number, and the first answer to it or to a later one."""

    request_numbers: list[int]
    first: list[int]
    restarts: list[int] = []
    """The starts of further connections, in recordings with several."""

    def after(self, number: int) -> int | None:
        """Return the answer that proves that everything up to a frame was read."""
        at = bisect_right(self.request_numbers, number)
        if at == len(self.request_numbers):
            return None
        is_same = bisect_right(self.restarts, number) == bisect_right(self.restarts, self.first[at])
        return self.first[at] if is_same else None


def direction_to(side: Side) -> Direction:
    """Return the direction of messages to a side."""
    return "to_agent" if side == "agent" else "to_client"


def requests_to(conversation: Conversation, side: Side) -> list[Exchange]:
    """Return requests to a side."""
    return conversation.compute_once(
        ("asked", side), lambda: conversation.calls(direction=direction_to(side))
    )


def frames_from(conversation: Conversation, side: Side) -> list[Frame]:
    way = direction_from(side)
    return conversation.compute_once(
        ("said", side), lambda: [frame for frame in conversation.frames if frame.direction == way]
    )


def frames_to(conversation: Conversation, side: Side) -> list[Frame]:
    way = direction_to(side)
    return conversation.compute_once(
        ("told", side), lambda: [frame for frame in conversation.frames if frame.direction == way]
    )


def proof(conversation: Conversation, side: Side) -> Proof:
    return conversation.compute_once(
        ("proof", side), lambda: _proof(requests_to(conversation, side), restarts(conversation))
    )


def restarts(conversation: Conversation) -> list[int]:
    """Return handshakes with a repeated id: some recorders put several connections into one file."""
    handshakes = conversation.calls("initialize", direction="to_agent")
    used_ids: set[str] = set()
    numbers = []
    for handshake in handshakes:
        key = repr(handshake.request.message["id"])
        if key in used_ids:
            numbers.append(handshake.request.number)
        if handshake.has_result:
            used_ids.add(key)
    return numbers


def _proof(exchanges: list[Exchange], begins: list[int]) -> Proof:
    numbers = [
        (exchange.request.number, exchange.answer.number)
        for exchange in exchanges
        if exchange.answer is not None
    ]
    first: list[int] = []
    for _, number in reversed(numbers):
        first.append(min(number, first[-1]) if first else number)
    return Proof([number for number, _ in numbers], first[::-1], begins)


def has_spoken(conversation: Conversation, side: Side, frame: Frame) -> bool:
    """Whether a side sent anything after a frame."""
    frames = frames_from(conversation, side)
    return bool(frames) and frames[-1].number > frame.number


def has_fallen_silent(conversation: Conversation, side: Side, frame: Frame) -> bool:
    """Whether a side got a request after a frame, and sent nothing more until the recording ended
    properly.
    """
    requests = requests_to(conversation, side)
    return (
        "exit" in conversation.recording.facts
        and bool(requests)
        and requests[-1].request.number > frame.number
        and not has_spoken(conversation, side, frame)
    )


def strays(conversation: Conversation, side: Side) -> list[Stray]:
    """Return lines to a side that are not messages, with its answers."""
    return conversation.compute_once(("strays", side), lambda: _strays(conversation, side)[0])


def refusals_without_line(conversation: Conversation, side: Side) -> list[Frame]:
    """Return answers of a side without an id that belong to no such line."""
    return conversation.compute_once(("loose", side), lambda: _strays(conversation, side)[1])


def _strays(conversation: Conversation, side: Side) -> tuple[list[Stray], list[Frame]]:
    waiting = list(_open_requests(conversation, side))
    note_numbers = [frame.number for frame in frames_to(conversation, side) if frame.is_notification]
    lines, refusals = [frame for frame, _ in waiting], _without_id(conversation, side)
    sure = _in_stretches(conversation, lines, refusals)
    lines = [frame for frame in lines if frame.number not in sure]
    refusals = [frame for frame in refusals if frame not in sure.values()]
    replies, loose_refusals = _match_refusals(lines, refusals, note_numbers, proof(conversation, side))
    replies |= sure
    loose_refusals = _late([frame for frame, kind in waiting if kind != "answer"], replies, loose_refusals)
    under_id = _under_id(conversation, side)
    result = []
    for frame, kind in waiting:
        reply = replies.get(frame.number) or under_id.get(frame.number)
        is_read = reply is not None or proof(conversation, side).after(frame.number) is not None
        result.append(Stray(frame, kind, reply, is_read))
    return result, loose_refusals


def _in_stretches(
    conversation: Conversation, waiting: list[Frame], refusals: list[Frame]
) -> dict[int, Frame]:
    """Match refusals by stretch: a scene waits after each line, so one line and one refusal belong
    together.
    """
    replies: dict[int, Frame] = {}
    for mark in conversation.recording.marks if refusals else ():
        lines = [frame for frame in waiting if mark.first < frame.number <= mark.last]
        refusals_inside = [frame for frame in refusals if mark.first < frame.number <= mark.last]
        if len(lines) == len(refusals_inside) == 1 and lines[0].number < refusals_inside[0].number:
            replies[lines[0].number] = refusals_inside[0]
    return replies


def _match_refusals(
    waiting: list[Frame], refusals: list[Frame], note_numbers: list[int], proven: Proof
) -> tuple[dict[int, Frame], list[Frame]]:
    """The refusal of each line by the line's number, and those that are left."""

    def is_about_a_note(refusal: Frame) -> bool:
        at = bisect_right(note_numbers, refusal.number)
        next_answer = proven.after(note_numbers[at - 1]) if at else 0
        return code_of(refusal) in (-32601, -32602, -32603) and (
            next_answer is None or next_answer > refusal.number
        )

    queue = deque(waiting)
    replies: dict[int, Frame] = {}
    loose_refusals: list[Frame] = []
    for refusal in refusals:
        while queue and (proven.after(queue[0].number) or refusal.number) < refusal.number:
            queue.popleft()
        if queue and queue[0].number < refusal.number and not is_about_a_note(refusal):
            replies[queue.popleft().number] = refusal
        else:
            loose_refusals.append(refusal)
    return replies, loose_refusals


def _late(waiting: list[Frame], replies: dict[int, Frame], loose_refusals: list[Frame]) -> list[Frame]:
    """Refusals that were overtaken by the answer to a later request belong to the line before them."""
    numbers = [frame.number for frame in waiting if frame.number not in replies]
    still_loose = []
    for refusal in loose_refusals:
        at = bisect_right(numbers, refusal.number)
        if at and code_of(refusal) in (-32700, -32600):
            replies[numbers.pop(at - 1)] = refusal
        else:
            still_loose.append(refusal)
    return still_loose


def code_of(frame: Frame | None) -> Json:
    """Return the code of an error answer; None for other answers."""
    error = frame.message.get("error") if frame is not None else None
    return error.get("code") if type(error) is dict else None


def _open_requests(conversation: Conversation, side: Side) -> Iterator[tuple[Frame, Kind]]:
    stray_numbers = {frame.number for frame in conversation.stray_answers}
    for frame in frames_to(conversation, side):
        kind = _kind(frame, is_unasked=frame.number in stray_numbers)
        if kind is not None and not is_in_any_stretch(conversation, frame, CUT):
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


def is_in_any_stretch(conversation: Conversation, frame: Frame, names: Iterable[str]) -> bool:
    """Whether a frame is in a stretch of one of these names."""
    marks = conversation.recording.marks
    return any(mark.name in names and mark.first < frame.number <= mark.last for mark in marks)


def _without_id(conversation: Conversation, side: Side) -> list[Frame]:
    way = direction_from(side)
    return [
        frame
        for frame in conversation.stray_answers
        if frame.direction == way and frame.message.get("id") is None
    ]


def _under_id(conversation: Conversation, side: Side) -> dict[int, Frame]:
    """Answers that repeat the id of such a line: of a request, or of an answer to nothing."""
    answers = {
        request.request.number: request.answer
        for request in requests_to(conversation, side)
        if request.answer is not None
    }
    back: dict[str, list[Frame]] = {}
    for frame in conversation.stray_answers:
        if frame.direction == direction_from(side) and frame.message.get("id") is not None:
            back.setdefault(repr(frame.message["id"]), []).append(frame)
    for frame in frames_to(conversation, side) if back else ():
        if "method" not in frame.message and frame.message.get("id") is not None:
            replies = back.get(repr(frame.message["id"]), [])
            reply = next((reply for reply in replies if reply.number > frame.number), None)
            if reply is not None:
                answers[frame.number] = reply
    return answers


def ids_inside(conversation: Conversation, side: Side) -> set[str]:
    """Return the ids of requests to a side inside arrays, or in lines that only some can read."""
    ids: set[str] = set()
    for frame in frames_to(conversation, side):
        value = frame.json
        if value is BROKEN:
            value = _read_leniently(frame.raw)
        elif type(value) is not list:
            continue
        entries = value if type(value) is list else [value]
        ids |= {repr(entry["id"]) for entry in entries if type(entry) is dict and "id" in entry}
    return ids


def _read_leniently(raw: bytes) -> Json:
    try:
        return json.loads(raw.decode(errors="replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None


def is_no_json(raw: bytes) -> bool:
    """Whether no reader accepts it as JSON: many accept a byte order mark, bytes that are not UTF-8, lone
    surrogates, and numbers without limit.
    """
    try:
        json.loads(raw.decode(errors="replace").removeprefix("\ufeff"))
    except RecursionError:
        return False
    except ValueError:
        return True
    return False


def client_capability_at(conversation: Conversation, frame: Frame, *path: str) -> Json:
    """Return a capability of the client, None if it did not name it."""
    begins = conversation.compute_once("restarts", lambda: restarts(conversation))
    later = [number for number in begins if number < frame.number]
    if not later:
        return conversation.client_can(*path)
    params = conversation.frames[later[-1] - 1].params
    value = params.get("clientCapabilities", params.get("capabilities"))
    for name in path:
        value = value.get(name) if type(value) is dict else None
    return value
