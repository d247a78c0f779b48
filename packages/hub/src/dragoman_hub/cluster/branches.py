"""Connections from a client's router to the nodes of its sessions: to its own node's hub, or over a link.

At the end of each stands a client of that node's hub, which answers as it would answer anybody. Requests to
the real client are numbered apart, so that an answer finds back to the node that asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol

import msgspec

from dragoman.decoders import decode_json
from dragoman.errors import Elsewhere, LinkClosed
from dragoman.runtime.owner import TaskOwner
from dragoman.transport.contract import Sink, Transport
from dragoman.transport.passing_transport import PassingTransport
from dragoman.wire.envelope import Id
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.cluster import link_messages as words
from dragoman_hub.cluster.link_messages import ClientOpening, ReroutedRequest, Word
from dragoman_hub.cluster.links import Links, NodeLink
from dragoman_hub.engine.ports import Position, read_cursor
from dragoman_hub.gate.admission import Grant

SPAN = 1 << 32
"""The most requests of one branch: their ids identify the branch."""

ACKNOWLEDGED = 64 * 1024
"""The bytes between two acknowledgements."""


class BranchSink(Protocol):
    """Receives the messages of branches (`client_router.ClientRouter`)."""

    transport: Transport
    owner: TaskOwner

    def on_block(
        self, branch: Branch, block: bytes, session: str = "", position: Position | None = None
    ) -> None:
        """A block for the client; with a session, the client is then at the position."""

    def on_position(self, branch: Branch, session: str, position: Position | None) -> None: ...
    def on_moved(self, branch: Branch, session: str) -> None: ...
    def on_elsewhere(self, branch: Branch, request: Id, session: str, node: str) -> None: ...
    def on_broken(self, branch: Branch, why: str) -> None: ...


class Branch(Protocol):
    @property
    def node(self) -> str: ...
    @property
    def number(self) -> int: ...
    def say(self, frame: bytes, /) -> None:
        """Send a frame of the client."""

    def close(self) -> None: ...


class HomeBranch(PassingTransport):
    """The client at the hub of its own node: a transport of that hub's client, and its seat."""

    number = 0

    def __init__(self, router: BranchSink, hub: ClientHub, grant: Grant, *, node: str, agent: str) -> None:
        super().__init__(router.transport)
        self.node = node
        self._router = router
        self.client = HubClient(hub, self, grant, agent=agent)
        self.client.seat = self
        hub.clients.add(self.client)
        self._sink: Sink = self.client

    def say(self, frame: bytes, /) -> None:
        self._sink.feed(frame)

    def close(self) -> None:
        self.client.on_end(None)

    # The hub's client speaks.

    def start(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, block: bytes | bytearray | memoryview) -> None:
        self._router.on_block(self, bytes(block))

    # The seat.

    def stands(self, session: str, position: Position | None, /) -> None:
        self._router.on_position(self, session, position)

    def tell(self, session: str, position: Position, block: bytes, /) -> None:
        self._router.on_block(self, block, session, position)

    def on_session_moved(self, session: str, /) -> None:
        self._router.on_moved(self, session)

    def on_replaced(self) -> None:
        pass  # its connection ends with it

    def elsewhere(self, request: Id, error: Elsewhere, /) -> None:
        self._router.on_elsewhere(self, request, error.session, error.node)


class LinkBranch:
    """The client at another node's hub, where a guest object represents it."""

    def __init__(
        self,
        router: BranchSink,
        links: Links,
        *,
        node: str,
        number: int,
        opening: ClientOpening,
    ) -> None:
        self.node = node
        self.number = number
        self._router = router
        self._parts: list[bytes] = []
        self._taken_bytes = self._acknowledged_bytes = 0
        self._waiting: asyncio.Task[None] | None = None
        self._link: NodeLink = links.open(node, self)
        self._link.say(words.OPEN, payload=msgspec.json.encode(opening))

    def say(self, frame: bytes, /) -> None:
        for last, piece in words.portions(frame):
            self._link.say(words.DATA if last else words.PART, payload=piece)

    def close(self) -> None:
        self._link.close("the client has left")

    # The link.

    def on_word(self, word: Word, /) -> None:
        match word.kind:
            case words.DATA:
                self._on_data(word)
            case words.PART:
                self._parts.append(word.payload)
            case words.MARK:
                position = read_cursor(word.position) if word.position else None
                self._router.on_position(self, word.session, position)
            case words.MOVED:
                self._router.on_moved(self, word.session)
            case words.ELSEWHERE:
                reroute = decode_json(word.payload, ReroutedRequest)
                self._router.on_elsewhere(self, reroute.request, reroute.session, reroute.node)

    def broken(self, why: str, /) -> None:
        self._router.on_broken(self, why)

    def _on_data(self, word: Word) -> None:
        block = _join(self._parts, word.payload)
        self._parts.clear()
        try:
            position = read_cursor(word.position) if word.session else None
            self._router.on_block(self, block, word.session, position)
        except LinkClosed:
            return  # the client's own end is on its way
        self._taken_bytes += len(block)
        transport = self._router.transport
        if transport.pending <= transport.limits.high:
            self._acknowledge()
        elif self._waiting is None:
            self._waiting = self._router.owner.start(self._when_there_is_room())

    async def _when_there_is_room(self) -> None:
        try:
            await self._router.transport.drain()
        except LinkClosed:
            return
        self._waiting = None
        self._acknowledge()

    def _acknowledge(self) -> None:
        if self._taken_bytes - self._acknowledged_bytes > ACKNOWLEDGED:
            self._acknowledged_bytes = self._taken_bytes
            self._link.say(words.TAKEN, payload=b"%d" % self._taken_bytes)


def _join(parts: Iterable[bytes], last: bytes) -> bytes:
    pieces = [*parts, last]
    return last if len(pieces) == 1 else b"".join(pieces)
