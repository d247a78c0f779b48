import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from dragoman.core import (
    CancellationReceived,
    Connection,
    ErrorReply,
    Ignored,
    IncomingRequest,
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
    decode,
    decode_block,
    error_object,
)
from dragoman.wire.codes import CANCELLED, INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR
from tests.every import every

IDS: list[Id] = [0, 1, -1, 2**53 + 1, 10**30, "1", "", "ä", None]


def ready() -> Connection[str]:
    return Connection()


def ask(
    connection: Connection[str], request_id: Id, method: str = "m", params: bytes = b"{}"
) -> IncomingRequest:
    event = connection.receive(Request(request_id, method, Raw(params)))
    assert isinstance(event, RequestReceived)
    return event.request


def cancel(connection: Connection[str], params: bytes | None) -> object:
    return connection.receive(Notification("$/cancel_request", None if params is None else Raw(params)))


def sent(frame: bytes | None) -> Envelope:
    assert frame is not None
    (envelope,) = decode_block(frame)
    return envelope


def complaint(event: object) -> dict[str, Any]:
    assert isinstance(event, ErrorReply)
    fields: dict[str, Any] = json.loads(event.frame)
    return fields


# What we ask for.


def test_every_call_has_an_id_of_its_own() -> None:
    connection = ready()
    calls = [connection.call("m", b"{}", "context") for _ in range(1000)]
    assert len({call.id for call, _ in calls}) == 1000
    for call, frame in calls:
        assert sent(frame) == Request(call.id, "m", Raw(b"{}"))


def test_an_id_is_not_used_again_after_its_answer() -> None:
    connection = ready()
    first, _ = connection.call("m", None, "a")
    connection.receive(Response(first.id, Raw(b"1")))
    second, _ = connection.call("m", None, "b")
    assert second.id != first.id


def test_an_answer_finds_its_call() -> None:
    connection = ready()
    one, _ = connection.call("a", None, "one")
    two, _ = connection.call("b", None, "two")
    event = connection.receive(Response(two.id, Raw(b"[2]")))
    assert event == ResponseReceived(two, Raw(b"[2]"))
    assert isinstance(event, ResponseReceived)
    assert (event.call.context, event.call.method) == ("two", "b")
    error = ErrorObject(1, "m")
    assert connection.receive(Failure(one.id, error)) == ResponseReceived(one, error)
    assert connection.calls == {}


@pytest.mark.parametrize("again", [Response(1, Raw(b"1")), Failure(1, ErrorObject(1, "m"))])
def test_a_second_answer_is_ignored(again: Envelope) -> None:
    connection = ready()
    connection.call("m", None, "context")
    connection.receive(Response(1, Raw(b"1")))
    assert isinstance(connection.receive(again), Ignored)


@every("call_id", [0, 2, -1, "1", "", None, "one"])
def test_an_answer_to_nothing_is_ignored_whatever_its_id(call_id: Id) -> None:  # ENV-20, RPC-03
    connection = ready()
    call, _ = connection.call("m", None, "context")
    assert isinstance(connection.receive(Response(call_id, Raw(b"1"))), Ignored)
    assert isinstance(connection.receive(Failure(call_id, ErrorObject(1, "m"))), Ignored)
    assert connection.receive(Response(call.id, Raw(b"1"))) == ResponseReceived(call, Raw(b"1"))


@every("written", [b'"1"', b"1.0", b"true", b"1e0", b"[1]"])
def test_an_id_of_another_type_answers_no_call(written: bytes) -> None:
    connection = ready()
    call, _ = connection.call("m", None, "context")
    event = connection.receive(decode(b'{"jsonrpc":"2.0","id":%b,"result":{}}' % written))
    assert isinstance(event, Ignored)
    assert call.id in connection.calls


def test_a_call_given_up_is_cancelled_and_its_late_answer_ignored() -> None:
    connection = ready()
    call, _ = connection.call("m", None, "context")
    assert sent(connection.forget(call)) == Notification("$/cancel_request", Raw(b'{"requestId":1}'))
    assert connection.forget(call) is None
    assert isinstance(connection.receive(Response(call.id, Raw(b"1"))), Ignored)


def test_with_a_prefix_our_ids_are_strings_that_begin_with_it() -> None:
    connection: Connection[str] = Connection(prefix="mine-")
    call, frame = connection.call("m", None, "context")
    assert sent(frame) == Request("mine-1", "m")
    assert isinstance(connection.receive(Response(1, Raw(b"{}"))), Ignored)
    assert connection.receive(Response("mine-1", Raw(b"{}"))) == ResponseReceived(call, Raw(b"{}"))


def test_a_call_that_is_cancelled_still_gets_its_answer() -> None:
    connection: Connection[str] = Connection(prefix="p")
    call, _ = connection.call("m", None, "context")
    assert json.loads(connection.cancel(call))["params"] == {"requestId": "p1"}
    assert isinstance(connection.receive(Response("p1", Raw(b"{}"))), ResponseReceived)


def test_a_call_that_is_answered_cannot_be_given_up() -> None:  # CRQ-06
    connection = ready()
    call, _ = connection.call("m", None, "context")
    connection.receive(Response(call.id, Raw(b"1")))
    assert connection.forget(call) is None


def open_at_once(connection: Connection[str], prefix: str) -> OutgoingCall[str]:
    return connection.call("m", b"{}", "context")[0]


def open_in_two_steps(connection: Connection[str], prefix: str) -> OutgoingCall[str]:
    number = connection.next_id()
    return connection.expect(f"{prefix}{number}" if prefix else number, "m", "context")


STEPS: dict[str, Callable[[Connection[str], OutgoingCall[str]], object]] = {
    "answer": lambda connection, call: connection.receive(Response(call.id, Raw(b"1"))),
    "failure": lambda connection, call: connection.receive(Failure(call.id, ErrorObject(1, "m"))),
    "timeout": lambda connection, call: connection.forget(call),
    "cancel": lambda connection, call: connection.cancel(call),
    "taken": lambda connection, call: connection.take(call.id),
    "end": lambda connection, _: connection.abandon(),
}

FATES: list[tuple[str, ...]] = [
    (),
    ("answer",),
    ("failure",),
    ("timeout",),
    ("cancel",),
    ("taken",),
    ("end",),
    ("answer", "answer"),
    ("answer", "timeout"),
    ("timeout", "answer"),
    ("timeout", "timeout"),
    ("cancel", "answer"),
    ("cancel", "timeout", "failure"),
    ("taken", "answer"),
    ("end", "answer"),
    ("end", "timeout"),
]


def outcome(
    open_call: Callable[[Connection[str], str], OutgoingCall[str]],
    fate: tuple[str, ...],
    *,
    prefix: str,
    first_id: int,
) -> list[bytes]:
    """What the steps said of the first of two calls, and the books when a third has been opened after it."""
    connection: Connection[str] = Connection(prefix=prefix, first_id=first_id)
    call = open_call(connection, prefix)
    open_call(connection, prefix)
    said = [STEPS[step](connection, call) for step in fate]
    open_call(connection, prefix)
    books = (connection.calls, list(connection.calls), connection.stamp, connection.next_id())
    return [msgspec.json.encode(value) for value in (*said, *books)]  # calls are equal to themselves alone


@pytest.mark.parametrize(("prefix", "first_id"), [("", 1), ("", 7), ("mine-", 1), ("mine-", 7)])
@pytest.mark.parametrize("fate", FATES, ids=" then ".join)
def test_a_call_that_is_opened_in_two_steps_leaves_the_same_books(
    fate: tuple[str, ...], prefix: str, first_id: int
) -> None:
    at_once = outcome(open_at_once, fate, prefix=prefix, first_id=first_id)
    assert outcome(open_in_two_steps, fate, prefix=prefix, first_id=first_id) == at_once


def test_calls_that_are_opened_in_either_way_share_no_id() -> None:
    connection = ready()
    ways = (open_at_once, open_in_two_steps) * 3
    calls = [open_call(connection, "") for open_call in ways]
    assert [call.id for call in calls] == list(connection.calls) == [1, 2, 3, 4, 5, 6]
    assert [call.stamp for call in calls] == [1, 2, 3, 4, 5, 6]


def test_when_the_peer_is_gone_every_open_call_is_handed_back_once() -> None:
    connection = ready()
    calls = [connection.call("m", None, "context")[0] for _ in range(3)]
    connection.receive(Response(calls[0].id, Raw(b"1")))
    connection.forget(calls[1])
    assert connection.abandon() == [calls[2]]
    assert connection.abandon() == []
    assert connection.forget(calls[2]) is None
    assert isinstance(connection.receive(Response(calls[2].id, Raw(b"1"))), Ignored)


def test_the_ids_of_both_sides_have_nothing_to_do_with_each_other() -> None:  # RPC-19
    connection = ready()
    call, _ = connection.call("m", None, "context")
    incoming = ask(connection, call.id)
    assert connection.receive(Response(call.id, Raw(b"7"))) == ResponseReceived(call, Raw(b"7"))
    assert sent(connection.answer(incoming, b"8")) == Response(call.id, Raw(b"8"))


# What we owe.


@every("request_id", IDS)
def test_an_answer_repeats_the_id_with_type_and_value(request_id: Id) -> None:  # RPC-03
    connection = ready()
    answer = sent(connection.answer(ask(connection, request_id), b"{}"))
    assert answer == Response(request_id, Raw(b"{}"))
    refusal = sent(connection.refuse(ask(connection, request_id), error_object(INTERNAL_ERROR)))
    assert refusal == Failure(request_id, ErrorObject(INTERNAL_ERROR, "Internal error"))
    assert isinstance(answer, Response)
    assert type(answer.id) is type(request_id)


def test_a_debt_carries_what_was_asked() -> None:
    incoming = ask(ready(), "a", "fs/read_text_file", b'{"path":"/x"}')
    assert (incoming.id, incoming.method, incoming.is_settled, incoming.is_cancelled) == (
        "a",
        "fs/read_text_file",
        False,
        False,
    )
    assert incoming.params == Raw(b'{"path":"/x"}')


def test_a_debt_is_settled_once() -> None:
    connection = ready()
    incoming = ask(connection, 1)
    assert connection.answer(incoming, b"1") is not None
    assert connection.answer(incoming, b"2") is None
    assert connection.refuse(incoming, error_object(INTERNAL_ERROR)) is None
    other = ask(connection, 1)
    assert connection.refuse(other, error_object(INTERNAL_ERROR)) is not None
    assert connection.answer(other, b"1") is None


def test_a_settled_debt_does_not_settle_a_later_one_of_the_same_id() -> None:
    connection = ready()
    first = ask(connection, 1)
    connection.answer(first, b"1")
    second = ask(connection, 1)
    assert connection.answer(first, b"1") is None
    assert not second.is_settled
    assert connection.answer(second, b"2") is not None


@every("request_id", IDS)
def test_an_id_still_in_use_is_refused_and_the_first_request_stands(request_id: Id) -> None:  # ENV-11
    connection = ready()
    incoming = ask(connection, request_id, "first")
    fields = complaint(connection.receive(Request(request_id, "second")))
    assert (fields["id"], fields["error"]["code"]) == (request_id, INVALID_REQUEST)
    assert connection.incoming_requests == {request_id: incoming}
    assert sent(connection.answer(incoming, b"1")) == Response(request_id, Raw(b"1"))


def test_ids_that_differ_only_in_type_are_two_requests() -> None:  # ENV-10
    connection = ready()
    number, text = ask(connection, 1), ask(connection, "1")
    assert sent(connection.answer(text, b"1")) == Response("1", Raw(b"1"))
    assert sent(connection.answer(number, b"2")) == Response(1, Raw(b"2"))


# What is wrong, and what is only told.


def test_a_notification_is_told_and_never_answered() -> None:  # RPC-05
    connection = ready()
    assert connection.receive(Notification("session/update", Raw(b"{}"))) == NotificationReceived(
        "session/update", Raw(b"{}")
    )
    assert connection.receive(Notification("nope/nope")) == NotificationReceived("nope/nope", None)
    assert connection.receive(Notification("$/unknown")) == NotificationReceived("$/unknown", None)


@pytest.mark.parametrize("code", [PARSE_ERROR, INVALID_REQUEST])
def test_what_cannot_be_read_is_complained_about_under_no_id(code: int) -> None:  # RPC-10, RPC-11
    fields = complaint(ready().receive(MalformedFrame(b"{", code, "the text is not JSON")))
    assert (fields["id"], fields["error"]["code"]) == (None, code)
    assert "the text is not JSON" in fields["error"]["message"]


def test_a_request_of_another_version_is_complained_about_under_its_id() -> None:
    fields = complaint(ready().receive(decode(b'{"id":"a","method":"m"}')))
    assert (fields["id"], fields["error"]["code"]) == ("a", INVALID_REQUEST)


def test_a_malformed_answer_is_never_answered() -> None:  # ENV-22, RPC-15
    assert ready().receive(MalformedFrame(b"{}", None, "why")) == Ignored("why")


def test_the_bad_bytes_are_not_sent_back() -> None:
    event = ready().receive(decode(b'{"secret":"hunter2"'))
    assert isinstance(event, ErrorReply)
    assert b"hunter2" not in event.frame


def test_whatever_arrives_is_counted() -> None:
    connection = ready()
    arriving: list[Envelope] = [Notification("m"), Request(1, "m"), Response(9, Raw(b"1"))]
    for number, envelope in enumerate(arriving, start=1):
        connection.receive(envelope)
        assert connection.stamp == number
    call, _ = connection.call("m", None, "context")
    assert call.stamp == connection.stamp == 4


# Cancels that the peer sends.


@every("request_id", IDS)
def test_a_cancel_finds_the_debt_of_its_id_once(request_id: Id) -> None:  # CRQ-08
    connection = ready()
    incoming = ask(connection, request_id)
    params = json.dumps({"requestId": request_id}).encode()
    assert cancel(connection, params) == CancellationReceived(incoming)
    assert incoming.is_cancelled
    assert isinstance(cancel(connection, params), Ignored)


@pytest.mark.parametrize("answer", [b'{"a":1}', None])
def test_a_cancelled_debt_is_still_answered(answer: bytes | None) -> None:  # CRQ-03, CAN-08
    connection = ready()
    incoming = ask(connection, 1)
    cancel(connection, b'{"requestId":1}')
    if answer is None:
        frame = connection.refuse(incoming, error_object(CANCELLED))
        assert sent(frame) == Failure(1, ErrorObject(CANCELLED, "Request cancelled"))
    else:
        assert sent(connection.answer(incoming, answer)) == Response(1, Raw(answer))


@pytest.mark.parametrize(
    "params",
    [
        pytest.param(b'{"requestId":"1"}', id="CAN-10 text for a number"),
        pytest.param(b'{"requestId":true}', id="CAN-10 true for 1"),
        pytest.param(b'{"requestId":1.0}', id="CAN-10 fraction for 1"),
        pytest.param(b'{"requestId":1e0}', id="exponent for 1"),
        pytest.param(b'{"requestId":2}', id="CRQ-07 unknown"),
        pytest.param(b'{"requestId":null}', id="CRQ-07 null"),
        pytest.param(b'{"requestId":{}}', id="CRQ-07 object"),
        pytest.param(b'{"requestId":[1]}', id="CRQ-07 array"),
        pytest.param(b'{"request_id":1}', id="misspelt"),
        pytest.param(b'{"id":1}', id="as language servers write it"),
        pytest.param(b"{}", id="CRQ-07 missing"),
        pytest.param(b"[1]", id="CAN-05 array"),
        pytest.param(b"1", id="CAN-05 number"),
        pytest.param(b"null", id="CAN-05 null"),
        pytest.param(b"", id="CAN-05 nothing"),
        pytest.param(None, id="CAN-05 no params"),
        pytest.param(b'{"requestId":%b}' % (b"[" * 100_000), id="deep"),
        pytest.param(rb'{"requestId":"\ud800"}', id="half a surrogate pair"),
        pytest.param(b'{"requestId":"\xff"}', id="not UTF-8"),
    ],
)
def test_a_cancel_that_names_no_open_request_cancels_nothing(params: bytes | None) -> None:
    connection = ready()
    incoming = ask(connection, 1)
    assert isinstance(cancel(connection, params), Ignored)
    assert not incoming.is_cancelled


def test_a_cancel_after_the_answer_is_ignored_and_hits_nothing_later() -> None:  # CRQ-06
    connection = ready()
    connection.answer(ask(connection, 1), b"1")
    assert isinstance(cancel(connection, b'{"requestId":1}'), Ignored)
    assert not ask(connection, 1).is_cancelled


def test_a_cancel_does_not_touch_our_own_calls() -> None:
    connection = ready()
    call, _ = connection.call("m", None, "context")
    assert isinstance(cancel(connection, json.dumps({"requestId": call.id}).encode()), Ignored)
    assert call.id in connection.calls


def test_a_request_named_like_the_cancel_is_a_request() -> None:
    incoming = ask(ready(), 1, "$/cancel_request", b'{"requestId":1}')
    assert not incoming.is_cancelled


def test_a_peer_that_sends_our_initialize_back_is_told_for_what_it_is() -> None:
    connection = ready()
    call, frame = connection.call("initialize", b"{}", "handshake")
    event = connection.receive(sent(frame))
    assert isinstance(event, ResponseReceived)
    assert event.call is call
    assert isinstance(event.answer, ErrorObject)
    assert "it repeats what it gets" in event.answer.message
