"""Sends blocks of frames through all edges of one side, from the peer's dialect to v1 and back.

    translator = Translator([KoogAgent(settings, ledger)], ledger)
    passed = translator.from_peer(block)     # passed.inside goes on, passed.peer goes back

Frames that no edge changes go on as the bytes that they were; a block of notifications that no edge wants to
see is passed whole. Frames that are not JSON-RPC are passed as they are: whoever gets them says what it
thinks. Nothing here raises on any input. An edge that fails is a mistake of ours: its frame is answered, or
dropped and put down as lost, and the conversation goes on.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar

from msgspec import UNSET, Raw, Struct

from dragoman.dialect.edge import Edge, Out, Signs, Toward
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Message, decode_block, encode, encode_all, refusal
from dragoman.schema.own_names import UNREADABLE, may_hold, stripped
from dragoman.wire import MalformedFrame, decode
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_REQUEST
from dragoman.wire.decode import count_lines, without_half_pairs
from dragoman.wire.glance import Glance, glance_block


class TranslatedFrames(Struct):
    """The result for a block: frames for the v1 side, frames for the peer, requests for the host."""

    inside: bytes = b""
    peer: bytes = b""
    host: list[tuple[int, Message]] = []
    """Requests with the position of the edge that asks; the answer goes to `from_host`."""


class Translator:
    """The edges of one side, the one next to the peer first. Without edges everything passes."""

    name: ClassVar[str] = "translator"

    def __init__(
        self,
        edges: Sequence[Edge],
        ledger: Ledger,
        *,
        on_mistake: Callable[[Exception], None] | None = None,
        guards_names: bool = False,
    ) -> None:
        """`guards_names` removes the fields of `_meta` that only edges may write from the peer's messages."""
        self.edges = list(edges)
        self.ledger = ledger
        self._on_mistake = on_mistake
        self._guards_names = guards_names
        self.active = _active(self.edges)
        """The positions of the edges that do anything."""
        self._plain_run: _TextRun | None = None
        self._plain_signs: list[Signs] = []  # that are not in the run

    def from_peer(self, block: bytes) -> TranslatedFrames:
        if self._guards_names:
            block = without_words_of_edges(block)
        signs = [self.edges[at].signs_from_peer for at in self.active]
        run = self._plain_run if signs == self._plain_signs else None
        lines = count_lines(block)
        if signs and not (run is not None and run.holds(block, lines)):
            if not _is_plain(block, signs):
                return self._pass(block, inward=True)
            self._plain_run, self._plain_signs = _TextRun.like_last_line(block), signs
        self.ledger.frame += lines or 1
        return TranslatedFrames(inside=block)

    def from_inside(self, block: bytes) -> TranslatedFrames:
        signs = [self.edges[at].signs_from_inside for at in self.active]
        if not signs or _is_plain(block, signs):
            return TranslatedFrames(peer=block)
        return self._pass(block, inward=False)

    @property
    def is_transparent(self) -> bool:
        """Whether all further frames pass unchanged."""
        return not self.active and not self._guards_names

    @property
    def holding(self) -> bool:
        """Whether a message for the peer waits until the peer has sent one."""
        return any(edge.holding for edge in self.edges)

    def from_host(self, position: int, message: Message) -> TranslatedFrames:
        """Handle the host's answer to a request in `TranslatedFrames.host`."""
        work = _BlockTranslation(self)
        edge = self.edges[position]
        work.add(position, self._run_step(lambda: edge.from_host(message)))
        return work.result()

    def peer_ended(self) -> TranslatedFrames:
        """Return the frames to send after the peer's end; empty if the edges do not answer for the peer."""
        work = _BlockTranslation(self)
        for position, edge in enumerate(self.edges):
            if edge.settings.answers_for_peer:
                work.add(position, self._run_step(edge.peer_ended))
        return work.result()

    def _pass(self, block: bytes, *, inward: bool) -> TranslatedFrames:
        work = _BlockTranslation(self)
        lines, messages = decode_block(block)
        is_strict = inward and None in messages and any(self.edges[at].only_messages for at in self.active)
        if len(self.active) == 1 and not is_strict:
            work.carry_through_one(lines, messages, inward=inward)
        else:
            for frame, message in zip(lines, messages, strict=True):
                self.ledger.frame += inward
                if message is None and is_strict:
                    work.send("peer", encode(NO_MESSAGE))
                elif message is None:
                    work.send("inside" if inward else "peer", frame + b"\n")
                else:
                    work.carry(message, frame, inward=inward)
        self.edges = [edge.succeeded_by() for edge in self.edges]
        self.active = _active(self.edges)
        return work.result()

    def through(self, position: int, message: Message, *, inward: bool) -> list[Out]:
        edge = self.edges[position]
        step = edge.from_peer if inward else edge.from_inside
        try:
            return step(message)
        except Exception as error:  # noqa: BLE001 -- whatever a peer says, the conversation goes on
            self.report_mistake(error)
            return _apology(message, inward=inward)

    def _run_step(self, step: Callable[[], list[Out]]) -> list[Out]:
        try:
            return step()
        except Exception as error:  # noqa: BLE001 -- as above, for what is not a message of a peer
            self.report_mistake(error)
            return []

    def report_mistake(self, error: Exception) -> None:
        """Report an exception inside an edge."""
        self.ledger.note_loss("a message", "it could not be translated: a mistake of ours", dialect=self.name)
        if self._on_mistake is not None:
            self._on_mistake(error)


def without_words_of_edges(block: bytes) -> bytes:
    """Return a peer's message without the `_meta` fields that edges use among themselves."""
    return b"\n".join(map(_guarded, block.split(b"\n"))) if may_hold(block) else block


def _guarded(line: bytes) -> bytes:
    """Empty if it has values that cannot be read. What is not JSON-RPC goes on as it is, as everywhere."""
    if not may_hold(line) or isinstance(decode(line), MalformedFrame):
        return line
    try:
        return stripped(without_half_pairs(line), keep=None)
    except UNREADABLE:
        return b""


NO_MESSAGE = refusal(None, INVALID_REQUEST, "Invalid request: say who you are before anything else")
"""The answer to an unreadable frame from a client whose dialect is still unknown."""


class _BlockTranslation:
    """The messages on their way through the edges, until each has left on one side."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self._active = translator.active
        self._inside: list[bytes] = []
        self._peer: list[bytes] = []
        self._host: list[tuple[int, Message]] = []
        self._origin: tuple[Message, bytes] | None = None

    def carry(self, message: Message, frame: bytes, *, inward: bool) -> None:
        self._origin = (message, frame)
        position = self._active[0 if inward else -1]
        self.add(position, self._translator.through(position, message, inward=inward))
        self._origin = None

    def carry_through_one(self, lines: list[bytes], messages: list[Message | None], *, inward: bool) -> None:
        """A whole block where there is one edge, as nearly always: what it gives out meets no other."""
        translator, (position,) = self._translator, self._active
        ledger, edge = translator.ledger, translator.edges[position]
        step = edge.from_peer if inward else edge.from_inside
        onward: Toward = "inside" if inward else "peer"
        inside: list[Message | Raw] = []
        peer: list[Message | Raw] = []
        ways = {"inside": inside.append, "peer": peer.append}
        for frame, message in zip(lines, messages, strict=True):
            if inward:
                ledger.frame += 1
            if message is None:
                ways[onward](Raw(frame))
                continue
            try:
                outs = step(message)
            except Exception as error:  # noqa: BLE001 -- whatever a peer says, the conversation goes on
                translator.report_mistake(error)
                outs = _apology(message, inward=inward)
            for toward, out in outs:
                if toward == "host":
                    self._host.append((position, out))
                elif out is message or (out.params == message.params and _is_same(out, message)):
                    ways[toward](Raw(frame))
                else:
                    ways[toward](out)
        self._inside.append(encode_all(inside))
        self._peer.append(encode_all(peer))

    def add(self, position: int, outs: list[Out]) -> None:
        """Follow what an edge gave out, depth first: what it causes comes before what follows it."""
        waiting = deque((position, out) for out in outs)
        while waiting:
            at, (toward, message) = waiting.popleft()
            if toward == "host":
                self._host.append((at, message))
                continue
            following = self._next_edge(at, inward=toward == "inside")
            if following is None:
                self.send(toward, self._bytes(message))
            else:
                next_outs = self._translator.through(following, message, inward=toward == "inside")
                waiting.extendleft((following, out) for out in reversed(next_outs))

    def _next_edge(self, at: int, *, inward: bool) -> int | None:
        """The next edge on the way, if there is one."""
        if inward:
            return next((position for position in self._active if position > at), None)
        return next((position for position in reversed(self._active) if position < at), None)

    def send(self, toward: str, frame: bytes) -> None:
        (self._inside if toward == "inside" else self._peer).append(frame)

    def result(self) -> TranslatedFrames:
        return TranslatedFrames(b"".join(self._inside), b"".join(self._peer), self._host)

    def _bytes(self, message: Message) -> bytes:
        if self._origin is None:
            return encode(message)
        first, frame = self._origin
        is_same = message is first or (message.params == first.params and _is_same(message, first))
        return frame + b"\n" if is_same else encode(message)


def _is_same(message: Message, first: Message) -> bool:
    """Whether an edge gave out what it got, made anew: then it goes on as it was. Messages that are equal may
    still differ: to Python, true equals 1.
    """
    return encode(message) == encode(first)


def _active(edges: list[Edge]) -> list[int]:
    return [at for at, edge in enumerate(edges) if type(edge) is not Edge]


LONG_LINE = 64 * 1024
"""Frames of this size and above are rarely followed by many similar frames."""


class _TextRun:
    """Frames that differ in one text alone, as the words of a turn do: what is known of one holds for all.

    Whether a block consists of them costs a search for what stands between two texts, which is long and so
    found fast. That a frame has a further member right behind its text, which the frame before it had not, is
    not noticed: nobody begins another dialect there.
    """

    _start = re.compile(rb'"text"\s*:\s*"')
    _text = re.compile(rb'(?:[^"\\]|\\.)*')

    def __init__(self, head: bytes, tail: bytes) -> None:
        self._head, self._tail = head, tail + b"\n"
        self._seam = self._tail + head

    @classmethod
    def like_last_line(cls, block: bytes) -> _TextRun | None:
        line = block[block.rfind(b"\n", 0, -1) + 1 : -1]
        start = cls._start.search(line)
        if start is None or len(line) > LONG_LINE or not block.endswith(b"\n"):
            return None
        text = cls._text.match(line, start.end())
        assert text is not None  # it may be empty
        return cls(line[: start.end()], line[text.end() :])

    def holds(self, block: bytes, lines: int) -> bool:
        """Whether the block, which has so many lines, is whole ones of this run."""
        is_framed = block.startswith(self._head) and block.endswith(self._tail)
        return is_framed and block.count(self._seam) == lines - 1


# A letter that need not be escaped and is: what the edges look for may be hidden that way.
_HIDDEN = re.compile(rb"\\u00[2-7]")


def _is_plain(block: bytes, edges: list[Signs]) -> bool:
    """Whether the block holds nothing but notifications that no edge wants to see."""
    if not all(edges) or (b"\\" in block and _HIDDEN.search(block)):
        return False
    glances = glance_block(block)
    # A run of one method is one glance again and again.
    if glances and glances.count(glances[0]) == len(glances):
        del glances[1:]
    methods = {_note(glance) for glance in glances}
    return bool(methods) and all(_passes(method, block, edges) for method in methods)


def _passes(method: str | None, block: bytes, edges: list[Signs]) -> bool:
    if method is None:
        return False
    signs = [plain.get(method) for plain in edges]
    return all(sign is not None and not sign.search(block) for sign in signs)


def _note(glance: Glance) -> str | None:
    return glance.method if glance.method is not UNSET and glance.id is UNSET else None


def _apology(message: Message, *, inward: bool) -> list[Out]:
    """For a frame that one of our edges failed on: its sender, or who waits for it, is told."""
    if message.is_notification:
        return []
    sorry = refusal(message.id, INTERNAL_ERROR, "Internal error: this message could not be translated")
    if message.is_request:
        return [("peer" if inward else "inside", sorry)]
    return [("inside" if inward else "peer", sorry)]
