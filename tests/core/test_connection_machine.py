"""Any order of events: every debt is answered exactly once, nothing else is, and every call settles once."""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec import Raw

from dragoman.core import (
    Answered,
    Asked,
    Call,
    CancelAsked,
    Complaint,
    Connection,
    Debt,
    Event,
    Ignored,
    Lifecycle,
    Told,
)
from dragoman.wire import (
    Envelope,
    ErrorObject,
    Failure,
    Id,
    Malformed,
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
        self.debts: dict[Id, Debt] = {}
        self.settled: list[Debt] = []
        self.held: dict[Id, str] = {}
        self.asked: Counter[Id] = Counter()
        self.answered: Counter[Id] = Counter()
        self.calls: dict[Id, Call[int]] = {}
        self.over: list[Call[int]] = []
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
        if request_id in self.debts or request_id in self.held:
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
        assert isinstance(event, Complaint)
        self.leaves(event.frame, request_id)

    def debt_is(self, event: Event[int], request_id: Id, method: str) -> None:
        assert isinstance(event, Asked)
        assert (event.debt.id, event.debt.method) == (request_id, method)
        self.debts[request_id] = event.debt

    def leaves(self, frame: bytes | None, request_id: Id) -> None:
        assert frame is not None
        (envelope,) = decode_block(frame)
        assert isinstance(envelope, (Response, Failure))
        assert (envelope.id, type(envelope.id)) == (request_id, type(request_id))
        self.answered[request_id] += 1

    @precondition(lambda self: self.debts)
    @rule(data=st.data(), accepted=st.booleans())
    def settle(self, data: st.DataObject, accepted: bool) -> None:
        self.settle_debt(data.draw(st.sampled_from(list(self.debts.values()))), accepted=accepted)

    def settle_debt(self, debt: Debt, *, accepted: bool) -> None:
        del self.debts[debt.id]
        if accepted:
            self.leaves(self.connection.answer(debt, b"{}"), debt.id)
        else:
            self.leaves(self.connection.refuse(debt, error_object(INTERNAL_ERROR)), debt.id)
        self.settled.append(debt)
        if debt.method == "initialize":
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
        debt = data.draw(st.sampled_from(self.settled))
        assert self.connection.answer(debt, b"{}") is None
        assert self.connection.refuse(debt, error_object(INTERNAL_ERROR)) is None

    @rule(request_id=ids)
    def cancel(self, request_id: Id) -> None:
        params = Raw(json.dumps({"requestId": request_id}).encode())
        debt = self.debts.get(request_id)
        fresh = debt is not None and not debt.cancelled
        event = self.connection.receive(Notification("$/cancel_request", params))
        if request_id in self.held:
            del self.held[request_id]
            self.answer_is(event, request_id)
        elif fresh:
            assert event == CancelAsked(debt)  # type: ignore[arg-type]  # fresh says that it is not None
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
            assert isinstance(event, Answered)
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

    def finish(self, call: Call[int]) -> None:
        self.outcomes[call.context] += 1
        self.over.append(call)

    # Everything else that may arrive.

    @rule(code=st.sampled_from([PARSE_ERROR, None]))
    def garble(self, code: int | None) -> None:
        event = self.connection.receive(Malformed(b"{", code, "why"))
        if code is None:
            assert isinstance(event, Ignored)
        else:  # it answers no request that was counted
            assert isinstance(event, Complaint)
            assert json.loads(event.frame)["id"] is None

    @rule()
    def notify(self) -> None:
        event = self.connection.receive(Notification("session/update"))
        assert isinstance(event, Told if self.ready else Ignored)

    @invariant()
    def the_books_agree(self) -> None:
        assert self.connection.debts == self.debts
        assert self.connection.calls == self.calls
        assert self.connection.lifecycle.ready == self.ready
        open_ids = Counter([*self.debts, *self.held])
        assert self.answered + open_ids == self.asked

    def teardown(self) -> None:
        while self.debts:
            self.settle_debt(next(iter(self.debts.values())), accepted=True)
        assert self.held == {}
        assert self.answered == self.asked
        self.abandon()
        assert all(self.outcomes[call.context] == 1 for call in self.over)


TestConnectionMachine = ConnectionMachine.TestCase
TestConnectionMachine.settings = settings(max_examples=80, stateful_step_count=40)
