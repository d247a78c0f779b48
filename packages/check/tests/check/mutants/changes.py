"""One change of a conversation each. A mutant is a good conversation with one of them.

Places in a message are written `params.update.status`, `result.options.0.name`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

from dragoman_check.manifest import Side
from dragoman_check.recording import Direction
from tests.check.mutants.script import STEP, Line, Script, message

Change: TypeAlias = Callable[[Script], None]


class Mutant(Struct, frozen=True):
    """What is planted, by which side, and the requirements of which at least one must be found broken."""

    name: str
    talk: str
    side: Side
    change: Change
    expected: tuple[str, ...]


def drop(*labels: str) -> Change:
    """Lines that are never sent."""

    def change(talk: Script) -> None:
        for label in labels:
            del talk.lines[talk.where(label)]

    return change


def put(label: str, place: str, value: Any) -> Change:
    """Another value at a place, or one where there was none."""

    def change(talk: Script) -> None:
        owner, name = _place(talk[label], place)
        owner[name] = value

    return change


def leave_out(label: str, place: str) -> Change:
    """A member that is missing, or an item."""

    def change(talk: Script) -> None:
        owner, name = _place(talk[label], place)
        del owner[name]

    return change


def rename(label: str, place: str, name: str) -> Change:
    """A member under another name."""

    def change(talk: Script) -> None:
        owner, before = _place(talk[label], place)
        owner[name] = owner.pop(before)

    return change


def _place(line: Line, place: str) -> tuple[Any, Any]:
    line.said = copy.deepcopy(line.said)
    owner, *names = line.said, *place.split(".")
    for name in names[:-1]:
        owner = owner[int(name) if isinstance(owner, list) else name]
    return owner, int(names[-1]) if isinstance(owner, list) else names[-1]


def become(label: str, said: Any) -> Change:
    """Another line in its place."""

    def change(talk: Script) -> None:
        talk[label].said = said

    return change


def answer_with(label: str, **half: Any) -> Change:
    """Another answer to a request: `result=` or `error=`."""

    def change(talk: Script) -> None:
        line = talk[f"{label}, answer"]
        line.said = {"jsonrpc": "2.0", "id": talk[label].said["id"], **half}

    return change


def add(after: str, way: Direction, said: Any, *, wait: float = STEP) -> Change:
    """A line more."""

    def change(talk: Script) -> None:
        place = talk.where(after)
        before = talk.lines[place]
        talk.lines.insert(place + 1, Line(f"planted after {after}", way, said, before.marks, wait))

    return change


def add_update(after: str, session: str, kind: str, /, **members: Any) -> Change:
    update = {"sessionUpdate": kind, **members}
    return add(after, "to_client", message("session/update", {"sessionId": session, "update": update}))


def add_request(after: str, way: Direction, method: str, params: Any, *, result: Any = None) -> Change:
    """A request more, and its answer if there is a result."""

    def change(talk: Script) -> None:
        add(after, way, message(method, params, id=901))(talk)
        if result is not None:
            back: Direction = "to_client" if way == "to_agent" else "to_agent"
            add(f"planted after {after}", back, {"jsonrpc": "2.0", "id": 901, "result": result})(talk)

    return change


def again(label: str, *, after: str = "") -> Change:
    """The same line a second time."""

    def change(talk: Script) -> None:
        line = talk[label]
        add(after or label, line.way, copy.deepcopy(line.said))(talk)

    return change


def move(label: str, *, after: str) -> Change:
    """A line that comes at another moment."""

    def change(talk: Script) -> None:
        line = talk.lines.pop(talk.where(label))
        talk.lines.insert(talk.where(after) + 1, line)

    return change


def later(label: str, seconds: float) -> Change:
    """A line that takes its time."""

    def change(talk: Script) -> None:
        talk[label].wait = seconds

    return change


def fact(name: str, value: Any) -> Change:
    """Something that was seen beside the wire."""

    def change(talk: Script) -> None:
        talk.facts[name] = value

    return change


def together(*changes: Change) -> Change:
    """One violation that shows in several lines."""

    def change(talk: Script) -> None:
        for one in changes:
            one(talk)

    return change


def end_after(label: str) -> Change:
    """Nothing more is said by either side."""

    def change(talk: Script) -> None:
        del talk.lines[talk.where(label) + 1 :]

    return change


def die(label: str, status: int = 1) -> Change:
    """A side ends after a line, and tells so only by its exit status."""
    return together(end_after(label), fact("exit", status))
