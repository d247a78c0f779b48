"""A proxy as part of a chain: both of its sides use one connection, which leads to the conductor.

https://agentclientprotocol.com/rfds/proxy-chains. What comes as it is comes from the client's side; what is
wrapped in `proxy/successor` comes from whoever is next. The same holds for what we send. `Successor` takes
that one transport and shows two, so that a proxy in a chain is the proxy that it always is.

Ids need no translation. The conductor chooses the ids of everything that it asks us, so they differ; we pass
a request on under the id that it came with, and then answers, errors and cancels have the same bytes on both
sides of us: an answer to the one is the answer to the other, and `$/cancel_request` names the outer id on
this hop, as it must. All that is left to remember is who asked and who was asked.
"""

from __future__ import annotations

import logging
from itertools import groupby

from msgspec import UNSET

from dragoman.errors import ErrorAnswer, LinkClosed
from dragoman.sdk.proxy.hooks import with_member
from dragoman.sdk.proxy.scope import cancelled_request
from dragoman.sdk.proxy.successor_message import INITIALIZE_PROXY, SUCCESSOR, unwrap, wrap
from dragoman.transport.contract import Sink, Transport, TransportLimits
from dragoman.wire import (
    Id,
    MalformedFrame,
    Notification,
    Request,
    decode,
    error_object,
    failure,
    notification,
    request,
)
from dragoman.wire.codes import NAMES
from dragoman.wire.glance import Glance, glance_block, lines_of

log = logging.getLogger(__name__)

CANCEL_REQUEST = "$/cancel_request"


class Successor:
    """The connection to a conductor, as the transports of a client and of an agent."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.client = _Port(self, wraps=False)
        self.agent = _Port(self, wraps=True)
        self._ports = (self.client, self.agent)
        self._is_paused = False

    # What the ports ask for.

    def start(self) -> None:
        if all(port.sink is not None for port in self._ports):
            self.transport.start(self)

    def weigh(self) -> None:
        """Pause the shared transport while either port is paused."""
        is_paused = any(port.is_paused for port in self._ports)
        if is_paused != self._is_paused:
            self._is_paused = is_paused
            (self.transport.pause if is_paused else self.transport.resume)()

    async def on_port_close(self) -> None:
        if all(port.is_closed for port in self._ports):
            await self.transport.aclose()

    # The sink: whose is what arrives?

    def feed(self, block: bytes) -> None:
        sorted_frames = [self._sort(*pair) for pair in zip(lines_of(block), glance_block(block), strict=True)]
        deliveries = [frame for frame in sorted_frames if frame is not None]
        for port, run in groupby(deliveries, key=lambda pair: pair[0]):
            port.feed(b"".join(frame for _, frame in run))

    def on_oversized(self, size: int) -> None:
        if self.client.sink is not None:
            self.client.sink.on_oversized(size)

    def on_end(self, reason: BaseException | None) -> None:
        for port in (self.agent, self.client):
            port.end(reason)

    def _sort(self, frame: bytes, glance: Glance) -> tuple[_Port, bytes] | None:
        if glance.method is UNSET:
            return self._sort_answer(frame, glance)
        if glance.method == SUCCESSOR:
            return self._unwrap(frame)
        if glance.method == CANCEL_REQUEST:
            target = cancelled_request(frame)
            return (self.agent if target and target[0] in self.agent.pending_requests else self.client), frame
        if glance.id is not UNSET:
            self.client.pending_requests.add(glance.id)
        if glance.method == INITIALIZE_PROXY:
            frame = with_member(frame, "method", b'"initialize"')
        return self.client, frame

    def _sort_answer(self, frame: bytes, glance: Glance) -> tuple[_Port, bytes] | None:
        for port in self._ports:
            if glance.id is not UNSET and glance.id in port.pending_calls:
                port.pending_calls.remove(glance.id)
                return port, frame
        envelope = decode(frame)
        if isinstance(envelope, MalformedFrame):
            self.complain(envelope)
        else:
            log.debug("dropped an answer to nothing that was asked")
        return None

    def _unwrap(self, frame: bytes) -> tuple[_Port, bytes] | None:
        envelope = decode(frame)
        if isinstance(envelope, MalformedFrame):
            self.complain(envelope)
            return None
        assert isinstance(envelope, Request | Notification)
        try:
            method, params = unwrap(envelope.params)
        except ErrorAnswer as error:
            if isinstance(envelope, Request):
                self._refuse(envelope.id, error.code, error.message)
            return None
        inner = None if params is None else bytes(params)
        if isinstance(envelope, Notification):
            return self.agent, notification(method, inner)
        self.agent.pending_requests.add(envelope.id)
        return self.agent, request(envelope.id, method, inner)

    def complain(self, bad: MalformedFrame) -> None:
        log.info("refused a message: %s", bad.why)
        if bad.code is not None:
            self._refuse(None, bad.code, f"{NAMES[bad.code]}: {bad.why}")

    def _refuse(self, request_id: Id, code: int, message: str) -> None:
        try:
            self.transport.write(failure(request_id, error_object(code, message)))
        except LinkClosed:
            pass  # the end of the transport is reported by itself


class _Port:
    """One of the two transports that a proxy sees."""

    def __init__(self, successor: Successor, *, wraps: bool) -> None:
        self.sink: Sink | None = None
        self.pending_calls: set[Id] = set()  # we asked this side, and wait
        self.pending_requests: set[Id] = set()  # this side asked us, and waits
        self.is_paused = self.is_closed = self._has_ended = False
        self._successor = successor
        self._wraps = wraps

    def start(self, sink: Sink) -> None:
        self.sink = sink
        self._successor.start()

    def write(self, block: bytes | bytearray | memoryview) -> None:
        if self.is_closed:
            raise LinkClosed("written to after close")
        block = bytes(block)
        glances = glance_block(block)
        for glance in glances:
            self._note(glance)
        if self._wraps:
            block = b"".join(map(self._wrap, lines_of(block)))
        self._successor.transport.write(block)

    def _wrap(self, frame: bytes) -> bytes:
        """A message for the next of the chain. Answers and cancels concern this hop alone, and stay."""
        match decode(frame):
            case Request(request_id, method, params):
                return request(request_id, SUCCESSOR, wrap(method, params))
            case Notification(method, params) if method != CANCEL_REQUEST:
                return notification(SUCCESSOR, wrap(method, params))
            case MalformedFrame() as bad:
                self._successor.complain(bad)
                return b""
            case _:
                return frame

    def _note(self, glance: Glance) -> None:
        if glance.id is UNSET:
            return
        if glance.method is UNSET:
            self.pending_requests.discard(glance.id)
        else:
            self.pending_calls.add(glance.id)

    @property
    def pending(self) -> int:
        return self._successor.transport.pending

    @property
    def limits(self) -> TransportLimits:
        return self._successor.transport.limits

    async def drain(self) -> None:
        await self._successor.transport.drain()

    def pause(self) -> None:
        self.is_paused = True
        self._successor.weigh()

    def resume(self) -> None:
        self.is_paused = False
        self._successor.weigh()

    async def aclose(self) -> None:
        self.is_closed = True
        await self._successor.on_port_close()
        self.end(None)

    def feed(self, block: bytes) -> None:
        if self.sink is not None and not (self.is_closed or self._has_ended):
            self.sink.feed(block)

    def end(self, reason: BaseException | None) -> None:
        if self.sink is not None and not self._has_ended:
            self._has_ended = True
            self.sink.on_end(reason)
