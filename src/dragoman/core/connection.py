"""Ids, calls and debts: what one side of a conversation owes and is owed.

Ids live here and nowhere else. `receive` turns an envelope into one event and never raises; what the events
lead to is the runtime's business. An answer is given once: answering a settled debt yields nothing to send.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct

from dragoman.core.lifecycle import INITIALIZE, Gate, Lifecycle
from dragoman.wire import Envelope, ErrorObject, Failure, Id, Malformed, Notification, Request, Response
from dragoman.wire.codes import CANCELLED, INVALID_REQUEST, NAMES, PARSE_ERROR
from dragoman.wire.encode import error_object, failure, notification, request, response
from dragoman.wire.requests import PlainRequest

CANCEL_REQUEST = "$/cancel_request"

HELD_LIMIT = 1024 * 1024
"""Bytes that may wait for `initialize` to be answered: thousands of small requests, but not any number."""

_HELD_EACH = 256  # bytes that a held request costs beside its params

C = TypeVar("C")  # what the runtime keeps with a call: a future, a timer


class Call(Struct, Generic[C], eq=False):
    """A request that we sent and whose answer is still out."""

    id: int | str
    method: str
    context: C
    stamp: int


class Debt(Struct, eq=False, gc=False):
    """A request that we must answer, exactly once."""

    id: Id
    method: str
    params: Raw | None
    settled: bool = False
    cancelled: bool = False
    """The peer asked us to stop working on it."""


class Asked(Struct, frozen=True, gc=False):
    """Answer this."""

    debt: Debt


class Told(Struct, frozen=True, gc=False):
    """A notification."""

    method: str
    params: Raw | None


class Answered(Struct, Generic[C], frozen=True, gc=False):
    """One of our calls has its answer."""

    call: Call[C]
    answer: Raw | ErrorObject


class CancelAsked(Struct, frozen=True):
    """The peer no longer wants the answer to this debt. It still gets one."""

    debt: Debt


class Complaint(Struct, frozen=True):
    """Send this frame: it answers what nobody works on, because it was wrong or was taken back in time."""

    frame: bytes
    why: str
    stray: bytes = b""
    """The text that it answers, if that was not even the beginning of a frame."""


class Ignored(Struct, frozen=True):
    """Nothing to do; `why` is for the log."""

    why: str


Event: TypeAlias = Asked | Told | Answered[C] | CancelAsked | Complaint | Ignored


class _CancelRequest(Struct):
    request_id: Id = msgspec.field(name="requestId")


_read_cancel = msgspec.json.Decoder(_CancelRequest).decode


class Connection(Generic[C]):
    """One side's books. `lifecycle` is given for the side that has to be initialized, `prefix` for one that
    calls between the calls of somebody else: its ids are strings that begin with it.
    """

    __slots__ = ("_held_size", "_next_id", "_prefix", "calls", "debts", "held", "lifecycle", "stamp")

    def __init__(self, lifecycle: Lifecycle | None = None, *, prefix: str = "", first_id: int = 1) -> None:
        """`first_id` is above the ids of whoever called the same peer before us."""
        self.lifecycle = lifecycle or Lifecycle(ready=True)
        self.calls: dict[Id, Call[C]] = {}
        self.debts: dict[Id, Debt] = {}
        self.stamp = 0  # counts what happened, so that "before" and "after" have a meaning without a clock
        self._next_id = first_id - 1
        self._prefix = prefix
        self.held: dict[Id, Request] = {}  # these wait for `initialize` to be answered
        self._held_size = 0

    # What we ask for.

    def call(self, method: str, params: bytes | None, context: C) -> tuple[Call[C], bytes]:
        """Open a call; returns it with the frame to send."""
        number = self.next_id()
        call = self.expect(f"{self._prefix}{number}" if self._prefix else number, method, context)
        return call, request(call.id, method, params)

    def next_id(self) -> int:
        """A number that no call has had; for a call whose frame somebody else makes and sends."""
        self._next_id += 1
        return self._next_id

    def expect(self, call_id: int | str, method: str, context: C) -> Call[C]:
        """Open a call under this id: somebody else sends its frame, or has sent it before we were there."""
        self.stamp += 1
        call = self.calls[call_id] = Call(call_id, method, context, self.stamp)
        return call

    def forget(self, call: Call[C]) -> bytes | None:
        """We no longer wait. Returns the cancel to send, or None if the answer is already here."""
        if self.calls.pop(call.id, None) is None:
            return None
        return self.cancel(call)

    def cancel(self, call: Call[C]) -> bytes:
        """The frame that asks the peer to stop working on a call; its answer is still expected."""
        return notification(CANCEL_REQUEST, b'{"requestId":%b}' % msgspec.json.encode(call.id))

    def abandon(self) -> list[Call[C]]:
        """The peer is gone: every open call, which nobody will answer."""
        calls, self.calls = list(self.calls.values()), {}
        return calls

    # What we owe.

    def answer(self, debt: Debt, result: bytes) -> bytes | None:
        """The frame of the answer, or None when it was already given."""
        if debt.settled:
            return None
        debt.settled = True
        debt_id = debt.id
        del self.debts[debt_id]
        if debt.method in INITIALIZE:
            self.lifecycle.initialized(accepted=True)
        return response(debt_id, result)

    def refuse(self, debt: Debt, error: ErrorObject) -> bytes | None:
        if debt.settled:
            return None
        debt.settled = True
        del self.debts[debt.id]
        if debt.method in INITIALIZE:
            self.lifecycle.initialized(accepted=False)
        return failure(debt.id, error)

    def take_held(self) -> list[Event[C]]:
        """The requests that waited for `initialize` to be answered, looked at again."""
        if not self.held:
            return []
        held, self.held, self._held_size = self.held, {}, 0
        return [self.ask(asked) for asked in held.values()]

    # What arrives.

    def receive(self, envelope: Envelope) -> Event[C]:
        self.stamp += 1
        # By exact type, commonest first: a `match` on classes would cost more than all the rest of it.
        kind = type(envelope)
        if kind is Notification:
            return self._told(envelope)  # type: ignore[arg-type]
        if kind is Request:
            return self.ask(envelope)  # type: ignore[arg-type]
        if isinstance(envelope, Response):
            return self._answered(envelope.id, envelope.result)
        if isinstance(envelope, Failure):
            return self._answered(envelope.id, envelope.error)
        assert isinstance(envelope, Malformed)
        code, why = envelope.code, envelope.why
        if code is None:
            return Ignored(why)
        # A text that begins like a frame is one that was cut or broken, and nothing that somebody said.
        is_stray = code == PARSE_ERROR and not envelope.frame.lstrip().startswith(b"{")
        stray = envelope.frame if is_stray else b""
        return Complaint(failure(None, error_object(code, f"{NAMES[code]}: {why}")), why, stray)

    def _told(self, note: Notification) -> Event[C]:
        if note.method == CANCEL_REQUEST:
            return self._cancel_asked(note.params)
        if not self.lifecycle.ready:
            return Ignored(f"{note.method} before initialize")
        return Told(note.method, note.params)

    def ask(self, asked: Request) -> Event[C]:
        """What `receive` does with a request."""
        if asked.id in self.debts or asked.id in self.held:
            return self._complain(asked, "this id is still in use by an earlier request")
        gate = self.lifecycle.ask(asked.method)
        if gate is Gate.HOLD:
            return self._hold(asked)
        if gate is Gate.REFUSE:
            again = asked.method in INITIALIZE
            return self._complain(asked, "already initialized" if again else "initialize comes first")
        debt = self.debts[asked.id] = Debt(asked.id, asked.method, asked.params)
        return Asked(debt)

    def ask_all(self, asked: Sequence[PlainRequest]) -> list[Debt]:
        """What `receive` does with a run of requests, in which there is nothing to consider; otherwise
        nothing is done, and the list is empty.
        """
        if not self.lifecycle.is_open:
            return []
        debts: dict[Id, Debt] = {one.id: Debt(one.id, one.method, one.params) for one in asked}
        if len(debts) != len(asked) or not self.debts.keys().isdisjoint(debts):
            return []  # an id is in use already
        if not INITIALIZE.isdisjoint([one.method for one in asked]):
            return []
        self.debts.update(debts)
        return list(debts.values())

    def _hold(self, asked: Request) -> Event[C]:
        if self._held_size + _size(asked) > HELD_LIMIT:
            return self._complain(asked, "too much to hold until initialize is answered")
        self._held_size += _size(asked)
        params = None if asked.params is None else asked.params.copy()  # without the block that it came in
        self.held[asked.id] = Request(asked.id, asked.method, params)
        return Ignored(f"{asked.method} waits for initialize")

    def _complain(self, asked: Request, why: str) -> Complaint:
        error = error_object(INVALID_REQUEST, f"{NAMES[INVALID_REQUEST]}: {why}")
        return Complaint(failure(asked.id, error), why)

    def take(self, call_id: Id) -> Call[C] | None:
        """What `receive` does with an answer: the call that it ends, if one waits for it."""
        return self.calls.pop(call_id, None)

    def _answered(self, call_id: Id, answer: Raw | ErrorObject) -> Event[C]:
        call = self.take(call_id)
        if call is None:
            return Ignored("an answer that nobody waits for (late, doubled or never asked)")
        return Answered(call, answer)

    def _cancel_asked(self, params: Raw | None) -> Event[C]:
        try:
            request_id = _read_cancel(params or b"").request_id
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return Ignored("a cancel without a usable request id")
        if request_id in self.held:
            self._held_size -= _size(self.held.pop(request_id))
            return Complaint(failure(request_id, error_object(CANCELLED)), "cancelled before it could begin")
        debt = self.debts.get(request_id)
        if debt is None or debt.cancelled:
            return Ignored("a cancel for a request that is not open")
        debt.cancelled = True
        return CancelAsked(debt)


def _size(asked: Request) -> int:
    """What it costs to hold a request."""
    return _HELD_EACH + (0 if asked.params is None else memoryview(asked.params).nbytes)
