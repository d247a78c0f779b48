"""A client of another node, as this node sees it: an ordinary client of the hub, over a link.

The hub speaks to it as to any other. What it is told of a session carries the position that it has come to,
so that its router can go on elsewhere. It is told no more than its router has room for.
"""

from __future__ import annotations

import asyncio

import msgspec

from dragoman.decoders import convert, decode_json
from dragoman.errors import Elsewhere, LinkClosed
from dragoman.transport.contract import Sink, TransportLimits
from dragoman.wire.envelope import Id
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.cluster import link_messages as words
from dragoman_hub.cluster.link_messages import ClientOpening, ReroutedRequest, Word
from dragoman_hub.cluster.links import NodeLink
from dragoman_hub.engine.ports import Position
from dragoman_hub.gate.admission import Grant
from dragoman_hub.gate.table import PassedParams, agent_in

REPLACED = "another connection of the same client has come"


class GuestTransport:
    """The link as a transport, which also receives the client's position."""

    def __init__(self, link: NodeLink, limits: TransportLimits) -> None:
        self.limits = limits
        self._link = link
        self._sink: Sink | None = None
        self._sent_bytes = self._taken_bytes = 0
        self._parts: list[bytes] = []
        self._is_closed = False
        self._room = asyncio.Event()

    # The transport.

    def start(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, block: bytes | bytearray | memoryview) -> None:
        self.show("", "", bytes(block))

    def show(self, session: str, position: str, block: bytes) -> None:
        if self._is_closed:
            raise LinkClosed("the other node has closed the connection")
        self._sent_bytes += len(block)
        for last, piece in words.portions(block):
            if last:
                self._link.say(words.DATA, session=session, position=position, payload=piece)
            else:
                self._link.say(words.PART, payload=piece)

    @property
    def pending(self) -> int:
        return self._sent_bytes - self._taken_bytes

    async def drain(self) -> None:
        while self.pending > self.limits.low:
            if self._is_closed:
                raise LinkClosed("the other node has closed the connection")
            self._room.clear()
            await self._room.wait()

    def pause(self) -> None:
        pass  # clients say little: the router's own pause is enough

    def resume(self) -> None:
        pass

    async def aclose(self) -> None:
        self._link.close("the node has dropped the client")
        self._end()

    # The link.

    def on_word(self, word: Word, /) -> None:
        match word.kind:
            case words.PART:
                self._parts.append(word.payload)
            case words.DATA:
                block = b"".join((*self._parts, word.payload)) if self._parts else word.payload
                self._parts.clear()
                if self._sink is not None:
                    self._sink.feed(block)
            case words.TAKEN:
                # What is not a number says nothing: the link is with a node of another version, or broken.
                self._taken_bytes = int(word.payload) if word.payload.isdigit() else self._taken_bytes
                if self.pending <= self.limits.low:
                    self._room.set()

    def broken(self, why: str, /) -> None:
        self._end()

    def _end(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._room.set()
            if self._sink is not None:
                self._sink.on_end(None)

    # Where the client stands: what `HubClient.seat` hears.

    def stands(self, session: str, position: Position | None) -> None:
        if not self._is_closed:
            self._link.say(words.MARK, session=session, position="" if position is None else str(position))

    def tell(self, session: str, position: Position, block: bytes) -> None:
        self.show(session, str(position), block)

    def on_session_moved(self, session: str) -> None:
        if not self._is_closed:
            self._link.say(words.MOVED, session=session)

    def on_replaced(self) -> None:
        self._link.close(REPLACED)

    def elsewhere(self, request: Id, error: Elsewhere) -> None:
        if not self._is_closed:
            reroute = ReroutedRequest(request, error.session, error.node)
            self._link.say(words.ELSEWHERE, payload=msgspec.json.encode(reroute))


def take_guest(hub: ClientHub, link: NodeLink, word: Word, limits: TransportLimits) -> GuestTransport | None:
    """Create the client for which a link was opened."""
    try:
        opening = decode_json(word.payload, ClientOpening)
        grant = convert(opening.grant, Grant)
        params = msgspec.json.decode(opening.initialize, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return None
    transport = GuestTransport(link, limits)
    client = HubClient(hub, transport, grant, agent=opening.agent, first_id=opening.first_id)
    client.seat = transport
    client.is_guest = True
    client.since -= opening.age
    hub.clients.add(client)
    client.start()
    agent = agent_in(params) or opening.agent or hub.default_agent  # its own node has judged it
    hub.methods.introduce(client, PassedParams(params, agent))
    client.is_initialized = True
    hub.broker.on_client_arrival(client)
    return transport
