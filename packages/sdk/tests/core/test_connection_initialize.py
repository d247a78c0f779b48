"""What a connection does before, while and after `initialize` is answered."""

import json

import pytest
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
    RequestReceived,
)
from dragoman.core.connection import HELD_LIMIT
from dragoman.wire import Id, Notification, Request, error_object
from dragoman.wire.codes import CANCELLED, INTERNAL_ERROR, INVALID_REQUEST


def fresh() -> Connection[None]:
    return Connection(Lifecycle())


def ask(connection: Connection[None], request_id: Id, method: str) -> IncomingRequest:
    event = connection.receive(Request(request_id, method))
    assert isinstance(event, RequestReceived)
    return event.request


def refusal(event: Event[None]) -> tuple[Id, int]:
    assert isinstance(event, ErrorReply)
    fields = json.loads(event.frame)
    return fields["id"], fields["error"]["code"]


def cancel(connection: Connection[None], request_id: Id) -> Event[None]:
    params = Raw(json.dumps({"requestId": request_id}).encode())
    return connection.receive(Notification("$/cancel_request", params))


def test_before_initialize_other_requests_are_refused_under_their_id() -> None:  # LIF-01, INIT-17
    connection = fresh()
    assert refusal(connection.receive(Request("a", "session/new"))) == ("a", INVALID_REQUEST)
    assert connection.incoming_requests == {}
    assert connection.answer(ask(connection, "a", "initialize"), b"{}") is not None
    ask(connection, "a", "session/new")


def test_before_initialize_is_answered_notifications_are_ignored() -> None:
    connection = fresh()
    assert isinstance(connection.receive(Notification("session/cancel")), Ignored)
    incoming = ask(connection, 1, "initialize")
    assert isinstance(connection.receive(Notification("session/cancel")), Ignored)
    connection.answer(incoming, b"{}")
    assert connection.receive(Notification("session/cancel")) == NotificationReceived("session/cancel", None)


def test_a_second_initialize_is_refused_once_something_else_was_asked() -> None:  # INIT-18
    connection = fresh()
    connection.answer(ask(connection, 1, "initialize"), b"{}")
    connection.answer(ask(connection, 2, "initialize"), b"{}")
    connection.answer(ask(connection, 3, "session/new"), b"{}")
    event = connection.receive(Request(4, "initialize"))
    assert refusal(event) == (4, INVALID_REQUEST)
    assert isinstance(event, ErrorReply)
    assert "already" in event.why


def test_a_client_refuses_to_be_initialized() -> None:
    assert refusal(Connection[None]().receive(Request(1, "initialize"))) == (1, INVALID_REQUEST)


# Requests that wait.


def test_requests_wait_while_initialize_is_answered_and_then_come_in_order() -> None:
    connection = fresh()
    incoming = ask(connection, 1, "initialize")
    for n in range(2, 6):
        assert isinstance(connection.receive(Request(n, f"m{n}", Raw(b"[%d]" % n))), Ignored)
    connection.answer(incoming, b"{}")
    events = connection.take_held()
    found = [event.request for event in events if isinstance(event, RequestReceived)]
    assert [(incoming.id, incoming.method, incoming.params) for incoming in found] == [
        (n, f"m{n}", Raw(b"[%d]" % n)) for n in range(2, 6)
    ]
    assert connection.take_held() == []
    assert list(connection.incoming_requests) == [2, 3, 4, 5]


def test_requests_that_waited_are_refused_when_initialize_failed() -> None:
    connection = fresh()
    incoming = ask(connection, 1, "initialize")
    connection.receive(Request("a", "session/new"))
    connection.refuse(incoming, error_object(INTERNAL_ERROR))
    assert [refusal(event) for event in connection.take_held()] == [("a", INVALID_REQUEST)]


def test_requests_wait_for_the_last_of_several_initializes() -> None:
    connection = fresh()
    first, second = ask(connection, 1, "initialize"), ask(connection, 2, "initialize")
    connection.receive(Request(3, "session/new"))
    connection.receive(Request(4, "session/list"))
    connection.answer(first, b"{}")
    assert all(isinstance(event, Ignored) for event in connection.take_held())
    connection.answer(second, b"{}")
    events = connection.take_held()
    assert [event.request.id for event in events if isinstance(event, RequestReceived)] == [3, 4]


def test_taking_what_waits_too_early_loses_nothing() -> None:
    connection = fresh()
    incoming = ask(connection, 1, "initialize")
    connection.receive(Request(2, "session/new"))
    for _ in range(3):
        assert isinstance(connection.take_held()[0], Ignored)
    connection.answer(incoming, b"{}")
    assert isinstance(connection.take_held()[0], RequestReceived)


@pytest.mark.parametrize("method", ["session/new", "initialize"])
def test_the_id_of_a_request_that_waits_is_in_use(method: str) -> None:  # ENV-11
    connection = fresh()
    incoming = ask(connection, 1, "initialize")
    connection.receive(Request("a", "first"))
    assert refusal(connection.receive(Request("a", method))) == ("a", INVALID_REQUEST)
    connection.answer(incoming, b"{}")
    (event,) = connection.take_held()
    assert isinstance(event, RequestReceived)
    assert event.request.method == "first"


def test_a_request_cancelled_while_it_waits_is_answered_and_never_begins() -> None:  # CRQ-03
    connection = fresh()
    incoming = ask(connection, 1, "initialize")
    connection.receive(Request("a", "session/load"))
    connection.receive(Request("b", "session/list"))
    assert isinstance(cancel(connection, 2), Ignored)
    assert refusal(cancel(connection, "a")) == ("a", CANCELLED)
    assert isinstance(cancel(connection, "a"), Ignored)
    connection.answer(incoming, b"{}")
    events = connection.take_held()
    assert [event.request.id for event in events if isinstance(event, RequestReceived)] == ["b"]


def test_initialize_itself_can_be_cancelled() -> None:
    connection = fresh()
    incoming = ask(connection, 1, "initialize")
    assert cancel(connection, 1) == CancellationReceived(incoming)


def test_no_more_waits_than_the_limit_allows() -> None:
    connection = fresh()
    incoming = ask(connection, 0, "initialize")
    params = Raw(b'"%b"' % (b"x" * (HELD_LIMIT // 4)))
    events = [connection.receive(Request(n, "m", params)) for n in range(1, 5)]
    assert [type(event) for event in events] == [Ignored, Ignored, Ignored, ErrorReply]
    assert refusal(events[-1]) == (4, INVALID_REQUEST)
    assert refusal(cancel(connection, 2)) == (2, CANCELLED)
    assert isinstance(connection.receive(Request(5, "m", params)), Ignored)
    connection.answer(incoming, b"{}")
    assert [event.request.id for event in connection.take_held() if isinstance(event, RequestReceived)] == [
        1,
        3,
        5,
    ]


def test_a_thousand_small_requests_may_wait_but_not_any_number() -> None:  # FRM-05
    connection = fresh()
    ask(connection, 0, "initialize")
    events = [connection.receive(Request(n, "session/list", Raw(b"{}"))) for n in range(1, 20_000)]
    assert all(isinstance(event, Ignored) for event in events[:1000])
    assert isinstance(events[-1], ErrorReply)


def test_what_was_let_go_makes_room_for_others() -> None:
    connection = fresh()
    params = Raw(b'"%b"' % (b"x" * (HELD_LIMIT // 2)))
    for n in range(3):
        incoming = ask(connection, "i", "initialize")
        assert isinstance(connection.receive(Request(n, "m", params)), Ignored)
        connection.refuse(incoming, error_object(INTERNAL_ERROR))
        assert len(connection.take_held()) == 1
