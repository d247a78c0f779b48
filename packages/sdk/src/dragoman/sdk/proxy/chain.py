"""The routes of a chain: who receives each message, under which id, and wrapped or not.

Each hop has books of its own, because each chooses its ids: whatever is carried from one hop to another gets
a new id there, and its answer finds the way back. Everything is carried on in the moment that it arrives, so
nothing overtakes; params and results stay the bytes that they are.

https://agentclientprotocol.com/rfds/proxy-chains: a cancel names the request of its own hop and becomes the
cancel of the next hop's request; an error of a component is handed on unchanged, one of ours is ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TypeAlias

import msgspec
from msgspec import Raw

from dragoman.core import (
    CancellationReceived,
    Connection,
    ErrorReply,
    Event,
    Ignored,
    IncomingRequest,
    Lifecycle,
    NotificationReceived,
    OutgoingCall,
    RequestReceived,
    ResponseReceived,
)
from dragoman.decoders import json_decoder
from dragoman.errors import ErrorAnswer, LinkClosed
from dragoman.runtime.faults import to_error
from dragoman.runtime.owner import TaskOwner
from dragoman.sdk.proxy.successor_message import INITIALIZE, INITIALIZE_PROXY, SUCCESSOR, unwrap, wrap
from dragoman.transport.contract import Transport
from dragoman.transport.waiters import Waiters
from dragoman.wire import ErrorObject, decode_block, error_object, failure, notification
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_REQUEST, method_not_found
from dragoman.wire.encode import one_line
from dragoman.wire.glance import lines_of

log = logging.getLogger(__name__)

COMPONENT_ENDED = error_object(INTERNAL_ERROR, "Internal error: a component of the chain has ended")

_members = json_decoder(dict[str, Raw])


class Hop:
    """A member of a chain: the client (0), a proxy or the agent, with its transport and its open requests."""

    def __init__(self, chain: ProxyChain, transport: Transport, *, index: int) -> None:
        self.index = index
        self.transport = transport
        self.is_over = False
        self.books: Connection[Route] = Connection(None if index else Lifecycle())
        self._chain = chain
        self._slow: set[int] = set()  # the hops that do not take what this one says

    def send(self, frame: bytes, *, source: Hop) -> None:
        """Write a frame; pause its source while the writer is behind."""
        try:
            self.transport.write(frame)
        except LinkClosed:
            return  # its end is reported by itself
        if self.transport.pending > self.transport.limits.high and self.index not in source._slow:
            source.wait_for(self)

    def wait_for(self, target: Hop) -> None:
        if not self._slow:
            self.transport.pause()
        self._slow.add(target.index)
        self._chain.owner.start(self._listen_again(target))

    async def _listen_again(self, target: Hop) -> None:
        try:
            await target.transport.drain()
        except LinkClosed:
            pass  # nobody will read this any more; the chain is about to end
        self._slow.discard(target.index)
        if not self._slow:
            self.transport.resume()

    # The sink.

    def feed(self, block: bytes) -> None:
        for frame, envelope in zip(lines_of(block), decode_block(block), strict=True):
            self._chain.on_event(self, self.books.receive(envelope), frame)

    def on_oversized(self, size: int) -> None:
        limit = self.transport.limits.frame
        log.warning("component %d: skipped a message of %d bytes; the limit is %d", self.index, size, limit)
        why = (
            f"Invalid request: the message is larger than the limit of {limit} bytes, or than the free memory"
        )
        self.send(failure(None, error_object(INVALID_REQUEST, why)), source=self)

    def on_end(self, reason: BaseException | None) -> None:
        self._chain.on_hop_end(self, reason)


Route: TypeAlias = tuple[Hop, IncomingRequest]
"""The receiver of an answer."""


class ProxyChain:
    """All hops of a chain: the client first, the agent last."""

    def __init__(self, transports: list[Transport], *, owner: TaskOwner) -> None:
        self.owner = owner
        self.end_event = asyncio.Event()  # one hop has
        self.hops = [Hop(self, transport, index=index) for index, transport in enumerate(transports)]
        self._waiters = Waiters()  # a request was answered, or a hop has ended
        self._calls: dict[IncomingRequest, tuple[Hop, OutgoingCall[Route]]] = {}

    def start(self) -> None:
        for hop in reversed(self.hops):
            hop.transport.start(hop)

    def on_event(self, hop: Hop, event: Event[Route], frame: bytes) -> None:
        match event:
            case RequestReceived(debt):
                self._ask(hop, debt)
            case NotificationReceived(method, params):
                self._tell(hop, method, params)
            case ResponseReceived(call, answer):
                self._answer(hop, call, answer, frame)
            case CancellationReceived(debt):
                self._cancel(hop, debt)
            case ErrorReply(complaint, why):
                log.info("component %d: refused a message: %s", hop.index, why)
                hop.send(complaint, source=hop)
            case Ignored(why):
                log.debug("component %d: ignored: %s", hop.index, why)

    def on_hop_end(self, hop: Hop, reason: BaseException | None) -> None:
        """Handle the end of a hop: refuse the requests that wait for its answer."""
        if hop.index and not self.end_event.is_set():
            log.warning(
                "component %d of the chain has ended: %s", hop.index, reason or "it closed the connection"
            )
        hop.is_over = True
        for call in hop.books.abandon():
            self._refuse(*call.context, COMPONENT_ENDED)
        self.end_event.set()
        self._waiters.wake()

    async def last_answers(self, seconds: float) -> None:
        """Wait for open answers after the end of the input, as in `chain < requests > answers`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.hops[0].books.incoming_requests and not any(hop.is_over for hop in self.hops[1:]):
                    await self._waiters.wait()

    def refuse_the_rest(self) -> None:
        """Refuse every open request of the client when the chain ends."""
        client = self.hops[0]
        for debt in list(client.books.incoming_requests.values()):
            self._refuse(client, debt, COMPONENT_ENDED)

    # Carrying.

    def _ask(self, hop: Hop, debt: IncomingRequest) -> None:
        try:
            target, method, params = self._route(hop, debt.method, debt.params)
        except ErrorAnswer as error:
            self._refuse(hop, debt, to_error(error, debt.method))
            return
        call, frame = target.books.call(method, params, (hop, debt))
        self._calls[debt] = (target, call)
        target.send(frame, source=hop)

    def _tell(self, hop: Hop, method: str, params: Raw | None) -> None:
        try:
            target, method, inner = self._route(hop, method, params)
        except ErrorAnswer as error:
            log.info("component %d: left out a notification: %s", hop.index, error)
            return
        target.send(notification(method, inner), source=hop)

    def _answer(self, hop: Hop, call: OutgoingCall[Route], answer: Raw | ErrorObject, frame: bytes) -> None:
        origin, debt = call.context
        self._calls.pop(debt, None)
        if isinstance(answer, Raw):
            reply = origin.books.answer(debt, one_line(bytes(answer)))
        else:
            reply = origin.books.refuse(debt, answer)
            # The error object itself is handed on, with whatever else it holds.
            error = _members.decode(frame).get("error")
            if reply is not None and error is not None:
                reply = _failure(debt, error)
        self._give(origin, reply, source=hop)

    def _cancel(self, hop: Hop, debt: IncomingRequest) -> None:
        route = self._calls.get(debt)
        if route is not None:
            target, call = route
            target.send(target.books.cancel(call), source=hop)

    def _refuse(self, hop: Hop, debt: IncomingRequest, error: ErrorObject) -> None:
        self._calls.pop(debt, None)
        self._give(hop, hop.books.refuse(debt, error), source=hop)

    def _give(self, hop: Hop, answer: bytes | None, *, source: Hop) -> None:
        if answer is None:
            return
        hop.send(answer, source=source)
        self._waiters.wake()
        for event in hop.books.take_held():
            self.on_event(hop, event, b"")

    def _route(self, hop: Hop, method: str, params: Raw | None) -> tuple[Hop, str, bytes | None]:
        """The hop that gets a message, with the method and params it gets."""
        last = len(self.hops) - 1
        if hop.index and method != SUCCESSOR:
            target = self.hops[hop.index - 1]
            if target.index:
                return target, SUCCESSOR, wrap(method, params)
            return target, method, _bytes(params)
        if hop.index:
            if hop.index == last:
                raise method_not_found(method)
            method, params = unwrap(params)
        if method in (INITIALIZE_PROXY, SUCCESSOR):
            raise method_not_found(method)
        target = self.hops[hop.index + 1]
        if method == INITIALIZE and target.index < last:
            method = INITIALIZE_PROXY
        return target, method, _bytes(params)


def _bytes(params: Raw | None) -> bytes | None:
    return None if params is None else one_line(bytes(params))


def _failure(debt: IncomingRequest, error: Raw) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (msgspec.json.encode(debt.id), one_line(bytes(error)))
