"""Analyses a recording: which dialect each side speaks, how it differs from v1, and how to fix that.

Pure: frames in, with who said each; an explanation out. It listens only, so unlike an edge it may look at the
whole recording before it says what it thinks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from dragoman.dialect.clues_agent import introduction_clues, later_clues
from dragoman.dialect.clues_client import THREADS_ASKED_OF_AGENT, THREADS_ASKED_OF_CLIENT, client_clues
from dragoman.dialect.debts import PendingRequests
from dragoman.dialect.deviations import (
    FoundDeviation,
    answer_deviations,
    envelope_deviations,
    request_deviations,
)
from dragoman.dialect.edge import EdgeSettings
from dragoman.dialect.evidence import Tally
from dragoman.dialect.ledger import DialectDecision, Ledger, Reason
from dragoman.dialect.message import Message, decode
from dragoman.dialect.names import Position
from dragoman.dialect.quirks.edge import QUIRKS, Quirks
from dragoman.schema.v1.methods import METHODS

Said = tuple[Position | None, bytes]
"""The sender of a frame (None if the recording does not say), and the frame."""


class Deviation(Struct, frozen=True, kw_only=True):
    """One kind of deviation from v1."""

    by: Position
    what: str
    fix: str
    """Advice for the author of the program."""
    count: int
    first_frame: int


class Explanation(Struct, frozen=True, kw_only=True):
    """The full analysis of a recording."""

    frames: int
    client: DialectDecision
    agent: DialectDecision
    deviations: tuple[Deviation, ...]


def explain(frames: Iterable[Said]) -> Explanation:
    """Analyse a recording. Frames are counted from 1, including those that are not JSON-RPC."""
    witness = _FrameReader()
    number = 0
    for number, (by, frame) in enumerate(frames, 1):
        witness.hear(number, by, frame)
    return witness.says(number)


class _FrameReader:
    """Hears everything, believes both."""

    def __init__(self) -> None:
        self._tallies: dict[Position, Tally] = {"client": Tally(), "agent": Tally()}
        self._sure: dict[Position, tuple[str, int]] = {}
        self._requests: dict[Position, PendingRequests[str]] = {
            "client": PendingRequests(),
            "agent": PendingRequests(),
        }
        self._findings: dict[tuple[Position, str, str], tuple[int, int]] = {}
        self._last: dict[Position, int] = {"client": 0, "agent": 0}
        self._ledgers: dict[Position, Ledger] = {"client": Ledger(), "agent": Ledger()}
        self._quirks = {who: Quirks(who, EdgeSettings(), ledger) for who, ledger in self._ledgers.items()}

    def hear(self, number: int, by: Position | None, frame: bytes) -> None:
        message = decode(frame)
        if message is None:
            if by is not None:
                self._put_down(
                    number, by, [FoundDeviation("a line that is not a JSON-RPC message", "write one a line")]
                )
            return
        who = by or self._guess(message)
        if who is None:
            return
        self._last[who] = number
        other_side: Position = "agent" if who == "client" else "client"
        answers = self._requests[other_side].settle(message.id) if message.is_answer else None
        if message.is_request:
            self._requests[who].owe(message.id, str(message.method))
        self._weigh(number, who, message, answers)
        self._put_down(number, who, _deviations(message, who, answers))
        self._ledgers[who].frame = self._ledgers[other_side].frame = number
        self._quirks[who].from_peer(message)
        self._quirks[other_side].from_inside(message)

    def _guess(self, message: Message) -> Position | None:
        """Who says it, from what it is about."""
        if message.is_answer:
            asked_by = [who for who in self._requests if self._requests[who].look(message.id) is not None]
            return None if len(asked_by) != 1 else "agent" if asked_by[0] == "client" else "client"
        return speaker_of(message)

    def _weigh(self, number: int, who: Position, message: Message, answers: str | None) -> None:
        if who in self._sure:
            return
        if who == "client":
            clues = client_clues(message)
        elif answers == "initialize":
            clues = introduction_clues(message)
        else:
            clues = later_clues(message, answers or "")
        tally = self._tallies[who]
        tally.add(clues, frame=number)
        dialect = tally.verdict()
        if dialect is not None:
            self._sure[who] = (dialect, number)

    def _put_down(self, number: int, who: Position, deviations: Iterable[FoundDeviation]) -> None:
        for deviation in deviations:
            key = (who, deviation.what, deviation.fix)
            count, first = self._findings.get(key, (0, number))
            self._findings[key] = (count + 1, first)

    def says(self, frames: int) -> Explanation:
        client = self._decision("client")
        return Explanation(
            frames=frames,
            client=client,
            agent=self._decision("agent", beside=client),
            deviations=(*self._deviations(), *self._known_quirks()),
        )

    def _deviations(self) -> Iterator[Deviation]:
        for (who, what, fix), (count, first) in self._findings.items():
            yield Deviation(by=who, what=what, fix=fix, count=count, first_frame=first)

    def _known_quirks(self) -> Iterator[Deviation]:
        """What is valid in each frame and still wrong, and known of programs of this name."""
        fixes = {quirk.what: quirk.fix for quirk in QUIRKS}
        for who, ledger in self._ledgers.items():
            for entry in ledger.entries:
                yield Deviation(
                    by=who,
                    what=entry.what,
                    fix=fixes[entry.what],
                    count=entry.count,
                    first_frame=entry.first_frame,
                )

    def _decision(self, who: Position, beside: DialectDecision | None = None) -> DialectDecision:
        tally = self._tallies[who]
        reasons = tuple(tally.reasons)
        if who in self._sure:
            dialect, frame = self._sure[who]
            return DialectDecision(peer=who, dialect=dialect, frame=frame, sure=True, reasons=reasons)
        dialect, frame = tally.last_call(), self._last[who]
        if not reasons and beside is not None and beside.dialect != "v1" and beside.sure and frame:
            dialect = beside.dialect  # it shows nothing of its own, and its client understands it
            evidence = "it answers, and nothing else tells"
            reasons = (Reason(frame=frame, evidence=evidence, conclusion=f"{dialect}, as its client"),)
        return DialectDecision(peer=who, dialect=dialect, frame=frame, sure=False, reasons=reasons)


def _deviations(message: Message, who: Position, answers: str | None) -> Iterator[FoundDeviation]:
    yield from envelope_deviations(message)
    if not message.is_answer:
        yield from request_deviations(message, who)
    elif answers is not None:
        yield from answer_deviations(message, answers, who)


_ASKED_OF_AGENT = THREADS_ASKED_OF_AGENT | {"cancel", "permission_response"}


def speaker_of(message: Message) -> Position | None:
    """The side that sends a request or notification of this method; None if both may."""
    method = str(message.method)
    if method in _ASKED_OF_AGENT:
        return "client"
    if method in THREADS_ASKED_OF_CLIENT:
        return "agent"
    receivers = {row.receiver for row in METHODS if row.name == method}
    if receivers == {"agent"}:
        return "client"
    return "agent" if receivers == {"client"} else None
