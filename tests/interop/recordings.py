"""Recorded conversations, whoever recorded them.

Two forms are read: `{"dir": "c2a" | "a2c", "msg" | "raw": …}` with remarks in between, and our fixtures'
`{"to": "agent" | "client", "frame" | "raw": …}` with one line about them at the top.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from dragoman.core import Connection, Lifecycle, NotificationReceived, RequestReceived, ResponseReceived
from dragoman.schema.method import Kind
from dragoman.wire import Envelope, Failure, MalformedFrame, Notification, Request, Response, decode

Party = Literal["agent", "client"]
PARTIES: tuple[Party, ...] = ("agent", "client")
WAYS: dict[str, Party] = {"c2a": "agent", "a2c": "client"}

HERE = Path(__file__).parent
FIXTURES = HERE / "fixtures"
ELSEWHERE = HERE.parents[2] / "shared" / "wire"
"""Recordings of other people's programs, for those who have them beside the repository."""


@dataclass(frozen=True)
class Recorded:
    """One frame, with what was tried when it was sent."""

    to: Party
    raw: bytes
    line: int
    scene: str = ""
    verbatim: bool = False
    """Written down as text, because it was meant to be wrong."""

    @property
    def envelope(self) -> Envelope:
        return decode(self.raw)


@dataclass
class Conversation:
    """The life of one connection."""

    about: dict[str, Any] = field(default_factory=dict)
    frames: list[Recorded] = field(default_factory=list)


def conversations(path: Path) -> list[Conversation]:
    found: list[Conversation] = []
    scene = ""
    for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
        line = json.loads(text)
        if "cmd" in line or "about" in line:  # somebody was started
            found.append(Conversation(line))
        elif "scenario" in line:
            scene = line["scenario"]
        elif (frame := _frame(line, number, scene)) is not None:
            found[-1].frames.append(frame)
    return found


def _frame(line: dict[str, Any], number: int, scene: str) -> Recorded | None:
    to: Party | None = line.get("to") or WAYS.get(line.get("dir", ""))
    content = line.get("msg", line.get("frame"))
    raw = line["raw"].encode() if "raw" in line else json.dumps(content).encode()
    return Recorded(to, raw, number, scene, "raw" in line) if to and raw.strip() else None


@dataclass(frozen=True)
class Carried:
    """Params or a result, with the method that they belong to and who is asked by it."""

    frame: Recorded
    method: str
    kind: Kind
    receiver: Party
    part: Literal["params", "result"]
    raw: bytes


def messages(conversation: Conversation) -> Iterator[Carried]:
    """What the frames carry; errors, and answers to nothing, carry none."""
    asked: dict[tuple[Party, Any], str] = {}
    for frame in conversation.frames:
        to = frame.to
        match frame.envelope:
            case Request(id=id_, method=method, params=params):
                asked[to, id_] = method
                yield Carried(frame, method, "request", to, "params", bytes(params or b"{}"))
            case Notification(method=method, params=params):
                yield Carried(frame, method, "notification", to, "params", bytes(params or b"{}"))
            case Response(id=id_, result=result) if (other(to), id_) in asked:
                method = asked[other(to), id_]
                yield Carried(frame, method, "request", other(to), "result", bytes(result))
            case _:
                pass


def other(party: Party) -> Party:
    return "client" if party == "agent" else "agent"


class Books:
    """One side's `Connection`, walked through a recording; `odd` is what did not add up."""

    def __init__(self, party: Party) -> None:
        self.connection: Connection[Any] = Connection(Lifecycle() if party == "agent" else None)
        self.odd: list[tuple[Recorded, str]] = []
        self._party = party
        self._malformed_ids: set[Any] = set()
        self._ids: dict[Any, Any] = {}  # the ids that were recorded, and those that our books gave

    def walk(self, frame: Recorded) -> None:
        match frame.envelope:
            case Failure(id=None):
                return  # a complaint about a frame, not an answer to a request
            case MalformedFrame(id=id_) if id_ is not None:
                self._malformed_ids.add(id_)
            case Failure(id=id_) if id_ in self._malformed_ids:
                return  # the same, under the id that the frame had
        (self._receive if frame.to == self._party else self._send)(frame)

    def _send(self, frame: Recorded) -> None:
        match frame.envelope:
            case Request(id=id_, method=method, params=params):
                call, _ = self.connection.call(method, None if params is None else bytes(params), id_)
                self._ids[id_] = call.id
            case Response() | Failure() as answer:
                debt = self.connection.incoming_requests.get(answer.id)
                if debt is None:
                    self.odd.append((frame, "answers what was not asked"))
                elif isinstance(answer, Response):
                    assert self.connection.answer(debt, bytes(answer.result)) is not None
                else:
                    assert self.connection.refuse(debt, answer.error) is not None
            case _:
                pass

    def _receive(self, frame: Recorded) -> None:
        envelope = frame.envelope
        if isinstance(envelope, Response | Failure):
            envelope = replace(envelope, id=self._ids.get(envelope.id, "never given"))
        event = self.connection.receive(envelope)
        expected = {
            Request: RequestReceived,
            Notification: NotificationReceived,
            Response: ResponseReceived,
            Failure: ResponseReceived,
        }
        if isinstance(envelope, MalformedFrame) or not isinstance(event, expected[type(envelope)]):
            self.odd.append((frame, getattr(event, "why", type(event).__name__)))
