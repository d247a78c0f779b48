"""The pure rules of one side of a JSON-RPC connection: ids, our open calls, and the peer's open requests.

Ids live here and nowhere else. `receive` turns an envelope into one event and never raises; what the events
lead to is the runtime's business. An answer is given once: answering a settled request yields nothing to
send.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct

from dragoman.core.lifecycle import INITIALIZE, Lifecycle, RequestAdmission
from dragoman.decoders import json_decoder
from dragoman.wire import Envelope, ErrorObject, Failure, Id, MalformedFrame, Notification, Request, Response
from dragoman.wire.codes import CANCELLED, INVALID_REQUEST, NAMES, PARSE_ERROR
from dragoman.wire.encode import error_object, failure, notification, request, response
from dragoman.wire.plain import PlainRequest

CANCEL_REQUEST = "$/cancel_request"

HELD_LIMIT = 1024 * 1024
"""The most bytes of requests that may wait for `initialize`: enough for thousands of small requests."""

_HELD_EACH = 256  # bytes that a held request costs beside its params

C = TypeVar("C")  # what the runtime keeps with a call: a future, a timer


ECHO = "it repeats what it gets, so it is not an ACP agent"


class OutgoingCall(Struct, Generic[C], eq=False):
    """A request that we sent, and that has no answer yet."""

    id: int | str
    method: str
    context: C
    stamp: int


class IncomingRequest(Struct, eq=False, gc=False):
    """A request that we must answer, exactly once."""

    id: Id
    method: str
    params: Raw | None
    is_settled: bool = False
    is_cancelled: bool = False
    """The peer asked us to stop working on it."""


class RequestReceived(Struct, frozen=True, gc=False):
    """The peer sent a request; answer it."""

    request: IncomingRequest


class NotificationReceived(Struct, frozen=True, gc=False):
    """The peer sent a notification."""

    method: str
    params: Raw | None


class ResponseReceived(Struct, Generic[C], frozen=True, gc=False):
    """The peer answered one of our calls."""

    call: OutgoingCall[C]
    answer: Raw | ErrorObject


class CancellationReceived(Struct, frozen=True):
    """The peer no longer wants the answer to this request. It still gets one."""

    request: IncomingRequest


class ErrorReply(Struct, frozen=True):
    """Send this frame: the answer to a request without a handler, because it was wrong or cancelled in
    time.
    """

    frame: bytes
    why: str
    stray: bytes = b""
    """The text that this error answers, if the text was not even the beginning of a frame."""


class Ignored(Struct, frozen=True):
    """Nothing to do; `why` is for the log."""

    why: str


Event: TypeAlias = (
    RequestReceived | NotificationReceived | ResponseReceived[C] | CancellationReceived | ErrorReply | Ignored
)


class _CancelRequest(Struct):
    request_id: Id = msgspec.field(name="requestId")


_read_cancel = json_decoder(_CancelRequest).decode


class Connection(Generic[C]):
    """The ids and open requests of one side. `lifecycle` is for the side that must be initialized. `prefix`
    is for a side that adds its own calls to those of another side: its ids are strings with this prefix.
    """

    __slots__ = (
        "_held_size",
        "_next_id",
        "_prefix",
        "calls",
        "held_requests",
        "incoming_requests",
        "lifecycle",
        "stamp",
    )

    def __init__(self, lifecycle: Lifecycle | None = None, *, prefix: str = "", first_id: int = 1) -> None:
        """`first_id` is higher than the ids of earlier callers of the same peer."""
        self.lifecycle = lifecycle or Lifecycle(ready=True)
        self.calls: dict[Id, OutgoingCall[C]] = {}
        self.incoming_requests: dict[Id, IncomingRequest] = {}
        self.stamp = 0  # counts what happened, so that "before" and "after" have a meaning without a clock
        self._next_id = first_id - 1
        self._prefix = prefix
        self.held_requests: dict[Id, Request] = {}  # these wait for `initialize` to be answered
        self._held_size = 0

    # What we ask for.

    def call(self, method: str, params: bytes | None, context: C) -> tuple[OutgoingCall[C], bytes]:
        """Open a call; return the call and the frame to send."""
        # `next_id` and `expect` in so many words: a thousand calls may be made at once.
        self._next_id += 1
        call_id = f"{self._prefix}{self._next_id}" if self._prefix else self._next_id
        self.stamp += 1
        call = self.calls[call_id] = OutgoingCall(call_id, method, context, self.stamp)
        return call, request(call_id, method, params)

    def next_id(self) -> int:
        """Return an unused id for a call whose frame is built and sent elsewhere."""
        self._next_id += 1
        return self._next_id

    def expect(self, call_id: int | str, method: str, context: C) -> OutgoingCall[C]:
        """Open a call under this id. Its frame is sent elsewhere, or was sent before this
        connection existed.
        """
        self.stamp += 1
        call = self.calls[call_id] = OutgoingCall(call_id, method, context, self.stamp)
        return call

    def forget(self, call: OutgoingCall[C]) -> bytes | None:
        """Stop waiting for an answer. Returns the cancel to send, or None if the answer is already here."""
        if self.calls.pop(call.id, None) is None:
            return None
        return self.cancel(call)

    def cancel(self, call: OutgoingCall[C]) -> bytes:
        """Return the frame that asks the peer to stop working on a call; its answer is still expected."""
        return notification(CANCEL_REQUEST, b'{"requestId":%b}' % msgspec.json.encode(call.id))

    def abandon(self) -> list[OutgoingCall[C]]:
        """Return every open call after the peer is gone: none of them will be answered."""
        calls, self.calls = list(self.calls.values()), {}
        return calls

    # What we owe.

    def answer(self, incoming: IncomingRequest, result: bytes) -> bytes | None:
        """Return the frame of the answer, or None if the request was already answered."""
        if incoming.is_settled:
            return None
        incoming.is_settled = True
        request_id = incoming.id
        del self.incoming_requests[request_id]
        if incoming.method in INITIALIZE:
            self.lifecycle.settle_initialize(is_accepted=True)
        return response(request_id, result)

    def refuse(self, incoming: IncomingRequest, error: ErrorObject) -> bytes | None:
        if incoming.is_settled:
            return None
        incoming.is_settled = True
        del self.incoming_requests[incoming.id]
        if incoming.method in INITIALIZE:
            self.lifecycle.settle_initialize(is_accepted=False)
        return failure(incoming.id, error)

    def take_held(self) -> list[Event[C]]:
        """Receive again the requests that waited for `initialize`."""
        if not self.held_requests:
            return []
        requests, self.held_requests, self._held_size = self.held_requests, {}, 0
        return [self.ask(request) for request in requests.values()]

    # What arrives.

    def receive(self, envelope: Envelope) -> Event[C]:
        self.stamp += 1
        # By exact type, commonest first: a `match` on classes would cost more than all the rest of it.
        kind = type(envelope)
        if kind is Notification:
            return self._notification(envelope)  # type: ignore[arg-type]
        if kind is Request:
            return self.ask(envelope)  # type: ignore[arg-type]
        if isinstance(envelope, Response):
            return self._response(envelope.id, envelope.result)
        if isinstance(envelope, Failure):
            return self._response(envelope.id, envelope.error)
        assert isinstance(envelope, MalformedFrame)
        code, why = envelope.code, envelope.why
        if code is None:
            return Ignored(why)
        # A text that begins like a frame is one that was cut or broken, and nothing that somebody said.
        is_stray = code == PARSE_ERROR and not envelope.frame.lstrip().startswith(b"{")
        stray = envelope.frame if is_stray else b""
        return ErrorReply(failure(envelope.id, error_object(code, f"{NAMES[code]}: {why}")), why, stray)

    def _notification(self, note: Notification) -> Event[C]:
        if note.method == CANCEL_REQUEST:
            return self._cancellation(note.params)
        if not self.lifecycle.ready:
            return Ignored(f"{note.method} before initialize")
        return NotificationReceived(note.method, note.params)

    def ask(self, request: Request) -> Event[C]:
        """Handle a request for `receive`."""
        if request.id in self.incoming_requests or request.id in self.held_requests:
            return self._reject(request, "this id is still in use by an earlier request")
        gate = self.lifecycle.ask(request.method)
        if gate is RequestAdmission.HOLD:
            return self._hold(request)
        if gate is RequestAdmission.REFUSE:
            again = request.method in INITIALIZE
            call = self.calls.get(request.id) if again else None
            if call is not None and call.method == request.method:
                # `cat`, or a terminal that repeats what is typed. Our refusal would come back as an answer.
                return self._response(request.id, error_object(INVALID_REQUEST, ECHO))
            return self._reject(request, "already initialized" if again else "initialize comes first")
        incoming = self.incoming_requests[request.id] = IncomingRequest(
            request.id, request.method, request.params
        )
        return RequestReceived(incoming)

    def ask_all(self, requests: Sequence[PlainRequest]) -> list[IncomingRequest]:
        """Handle a run of ordinary requests for `receive`; return an empty list, and do nothing, if any
        needs a check.
        """
        if not self.lifecycle.is_open:
            return []
        incoming_requests: dict[Id, IncomingRequest] = {
            plain.id: IncomingRequest(plain.id, plain.method, plain.params) for plain in requests
        }
        if len(incoming_requests) != len(requests) or not self.incoming_requests.keys().isdisjoint(
            incoming_requests
        ):
            return []  # an id is in use already
        if not INITIALIZE.isdisjoint([plain.method for plain in requests]):
            return []
        self.incoming_requests.update(incoming_requests)
        return list(incoming_requests.values())

    def _hold(self, request: Request) -> Event[C]:
        if self._held_size + _size(request) > HELD_LIMIT:
            return self._reject(request, "too much to hold until initialize is answered")
        self._held_size += _size(request)
        params = (
            None if request.params is None else request.params.copy()
        )  # without the block that it came in
        self.held_requests[request.id] = Request(request.id, request.method, params)
        return Ignored(f"{request.method} waits for initialize")

    def _reject(self, request: Request, why: str) -> ErrorReply:
        error = error_object(INVALID_REQUEST, f"{NAMES[INVALID_REQUEST]}: {why}")
        return ErrorReply(failure(request.id, error), why)

    def take(self, call_id: Id) -> OutgoingCall[C] | None:
        """Handle an answer for `receive`: return the call that it ends, if one is open."""
        return self.calls.pop(call_id, None)

    def _response(self, call_id: Id, answer: Raw | ErrorObject) -> Event[C]:
        call = self.take(call_id)
        if call is None:
            return Ignored("an answer that nobody waits for (late, doubled or never asked for)")
        return ResponseReceived(call, answer)

    def _cancellation(self, params: Raw | None) -> Event[C]:
        try:
            request_id = _read_cancel(params or b"").request_id
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return Ignored("a cancel without a usable request id")
        if request_id in self.held_requests:
            self._held_size -= _size(self.held_requests.pop(request_id))
            return ErrorReply(failure(request_id, error_object(CANCELLED)), "cancelled before it could begin")
        incoming = self.incoming_requests.get(request_id)
        if incoming is None or incoming.is_cancelled:
            return Ignored("a cancel for a request that is not open")
        incoming.is_cancelled = True
        return CancellationReceived(incoming)


def _size(request: Request) -> int:
    """What it costs to hold a request."""
    return _HELD_EACH + (0 if request.params is None else memoryview(request.params).nbytes)
