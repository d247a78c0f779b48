"""Any order of events: each request is answered exactly once, nothing else is, each call settles once."""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
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
from dragoman.wire import (
    Envelope,
    ErrorObject,
    Failure,
    Id,
    MalformedFrame,
    Notification,
    Request,
    Response,
    decode_block,
    error_object,
)
from dragoman.wire.codes import INTERNAL_ERROR, PARSE_ERROR

# Few ids, so that they collide; of all types, so that they could be confused.
ids = st.sampled_from([0, 1, 2, "0", "1", "", None])
methods = st.sampled_from(["initialize", "session/new", "session/prompt", "$/foo"])


class ConnectionMachine(RuleBasedStateMachine):
    """The model counts requests and answers by id, and says for itself what must happen to a request."""

    def __init__(self) -> None:
        super().__init__()
        self.connection: Connection[int] = Connection()
        self.ready = self.used = True
        self.initializing = 0
        self.incoming_requests: dict[Id, IncomingRequest] = {}
        self.settled: list[IncomingRequest] = []
        self.held: dict[Id, str] = {}
        self.asked: Counter[Id] = Counter()
        self.answered: Counter[Id] = Counter()
        self.calls: dict[Id, OutgoingCall[int]] = {}
        self.over: list[OutgoingCall[int]] = []
        self.outcomes: Counter[int] = Counter()

    @initialize(agent=st.booleans(), prefix=st.sampled_from(["", "p-"]))
    def begin(self, agent: bool, prefix: str) -> None:
        self.connection = Connection(Lifecycle() if agent else None, prefix=prefix)
        self.ready = self.used = not agent

    # Requests of the peer.

    @rule(request_id=ids, method=methods)
    def ask(self, request_id: Id, method: str) -> None:
        self.asked[request_id] += 1
        self.expect(request_id, method, self.connection.receive(Request(request_id, method)))

    def expect(self, request_id: Id, method: str, event: Event[int]) -> None:
        if request_id in self.incoming_requests or request_id in self.held:
            self.answer_is(event, request_id)
        elif method == "initialize":
            if self.used:
                self.answer_is(event, request_id)
            else:
                self.initializing += 1
                self.debt_is(event, request_id, method)
        elif self.initializing:
            assert isinstance(event, Ignored)
            self.held[request_id] = method
        elif not self.ready:
            self.answer_is(event, request_id)
        else:
            self.used = True
            self.debt_is(event, request_id, method)

    def answer_is(self, event: Event[int], request_id: Id) -> None:
        assert isinstance(event, ErrorReply)
        self.leaves(event.frame, request_id)

    def debt_is(self, event: Event[int], request_id: Id, method: str) -> None:
        assert isinstance(event, RequestReceived)
        assert (event.request.id, event.request.method) == (request_id, method)
        self.incoming_requests[request_id] = event.request

    def leaves(self, frame: bytes | None, request_id: Id) -> None:
        assert frame is not None
        (envelope,) = decode_block(frame)
        assert isinstance(envelope, (Response, Failure))
        assert (envelope.id, type(envelope.id)) == (request_id, type(request_id))
        self.answered[request_id] += 1

    @precondition(lambda self: self.incoming_requests)
    @rule(data=st.data(), accepted=st.booleans())
    def settle(self, data: st.DataObject, accepted: bool) -> None:
        self.settle_debt(data.draw(st.sampled_from(list(self.incoming_requests.values()))), accepted=accepted)

    def settle_debt(self, incoming: IncomingRequest, *, accepted: bool) -> None:
        del self.incoming_requests[incoming.id]
        if accepted:
            self.leaves(self.connection.answer(incoming, b"{}"), incoming.id)
        else:
            self.leaves(self.connection.refuse(incoming, error_object(INTERNAL_ERROR)), incoming.id)
        self.settled.append(incoming)
        if incoming.method == "initialize":
            self.initializing -= 1
            self.ready = self.ready or accepted
        self.release()

    def release(self) -> None:
        held, self.held = self.held, {}
        for (request_id, method), event in zip(held.items(), self.connection.take_held(), strict=True):
            self.expect(request_id, method, event)

    @precondition(lambda self: self.settled)
    @rule(data=st.data())
    def settle_again(self, data: st.DataObject) -> None:
        incoming = data.draw(st.sampled_from(self.settled))
        assert self.connection.answer(incoming, b"{}") is None
        assert self.connection.refuse(incoming, error_object(INTERNAL_ERROR)) is None

    @rule(request_id=ids)
    def cancel(self, request_id: Id) -> None:
        params = Raw(json.dumps({"requestId": request_id}).encode())
        incoming = self.incoming_requests.get(request_id)
        fresh = incoming is not None and not incoming.is_cancelled
        event = self.connection.receive(Notification("$/cancel_request", params))
        if request_id in self.held:
            del self.held[request_id]
            self.answer_is(event, request_id)
        elif fresh:
            assert event == CancellationReceived(incoming)  # type: ignore[arg-type]  # fresh says that it is not None
        else:
            assert isinstance(event, Ignored)

    # Calls of ours.

    @rule()
    def call(self) -> None:
        number = len(self.calls) + len(self.over)
        call, frame = self.connection.call("m", None, number)
        assert decode_block(frame) == [Request(call.id, "m")]
        assert all(call.id != other.id for other in (*self.calls.values(), *self.over))
        self.calls[call.id] = call

    @rule(
        call_id=st.one_of(ids, st.integers(0, 8), st.integers(0, 8).map("p-{}".format)), error=st.booleans()
    )
    def answer(self, call_id: Id, error: bool) -> None:
        answer: Envelope = Failure(call_id, ErrorObject(1, "m")) if error else Response(call_id, Raw(b"1"))
        event = self.connection.receive(answer)
        call = self.calls.pop(call_id, None)
        if call is None:
            assert isinstance(event, Ignored)
        else:
            assert isinstance(event, ResponseReceived)
            assert event.call is call
            self.finish(call)

    @precondition(lambda self: self.calls or self.over)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        call = data.draw(st.sampled_from([*self.calls.values(), *self.over]))
        frame = self.connection.forget(call)
        assert (frame is not None) == (call.id in self.calls)
        if frame is not None:
            assert frame == self.connection.cancel(call)
            assert json.loads(frame)["params"] == {"requestId": call.id}
            self.finish(self.calls.pop(call.id))

    @rule()
    def abandon(self) -> None:
        gone, self.calls = self.calls, {}
        assert self.connection.abandon() == list(gone.values())
        for call in gone.values():
            self.finish(call)

    def finish(self, call: OutgoingCall[int]) -> None:
        self.outcomes[call.context] += 1
        self.over.append(call)

    # Everything else that may arrive.

    @rule(code=st.sampled_from([PARSE_ERROR, None]))
    def garble(self, code: int | None) -> None:
        event = self.connection.receive(MalformedFrame(b"{", code, "why"))
        if code is None:
            assert isinstance(event, Ignored)
        else:  # it answers no request that was counted
            assert isinstance(event, ErrorReply)
            assert json.loads(event.frame)["id"] is None

    @rule()
    def notify(self) -> None:
        event = self.connection.receive(Notification("session/update"))
        assert isinstance(event, NotificationReceived if self.ready else Ignored)

    @invariant()
    def the_books_agree(self) -> None:
        assert self.connection.incoming_requests == self.incoming_requests
        assert self.connection.calls == self.calls
        assert self.connection.lifecycle.ready == self.ready
        open_ids = Counter([*self.incoming_requests, *self.held])
        assert self.answered + open_ids == self.asked

    def teardown(self) -> None:
        while self.incoming_requests:
            self.settle_debt(next(iter(self.incoming_requests.values())), accepted=True)
        assert self.held == {}
        assert self.answered == self.asked
        self.abandon()
        assert all(self.outcomes[call.context] == 1 for call in self.over)


TestConnectionMachine = ConnectionMachine.TestCase
TestConnectionMachine.settings = settings(
    max_examples=max(40, settings().max_examples), stateful_step_count=40
)
