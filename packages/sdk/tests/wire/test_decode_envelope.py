"""Frames to envelopes: which of the five a JSON object is, and which error its sender should get."""

import msgspec
import pytest
from msgspec import UNSET, Raw

from dragoman.wire import (
    ErrorObject,
    Failure,
    Id,
    MalformedFrame,
    Notification,
    Request,
    Response,
    decode,
    decode_block,
)
from dragoman.wire.codes import INVALID_REQUEST
from tests.every import every


def refused(frame: bytes) -> int | None:
    envelope = decode(frame)
    assert isinstance(envelope, MalformedFrame)
    assert envelope.frame == frame
    assert decode_block(frame + b"\n") == [envelope]
    return envelope.code


def error_of(frame: bytes) -> ErrorObject:
    envelope = decode(frame)
    assert isinstance(envelope, Failure)
    assert envelope.id == 1
    assert decode_block(frame + b"\n") == [envelope]
    return envelope.error


# Requests and notifications.


@every(
    ("written", "read"),
    [
        (b"0", 0),
        (b"1", 1),
        (b"-1", -1),
        (b"9007199254740993", 2**53 + 1),
        (b"9223372036854775807", 2**63 - 1),
        (b"18446744073709551616", 2**64),
        (b'"1"', "1"),
        (b'""', ""),
        (b'"\xc3\xa4\\u00e4"', "ää"),
        (b"null", None),
    ],
)
def test_an_id_keeps_its_type_and_value(written: bytes, read: Id) -> None:
    envelope = decode(b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % written)
    assert envelope == Request(read, "m")
    assert isinstance(envelope, Request)
    assert type(envelope.id) is type(read)
    assert decode(b'{"jsonrpc":"2.0","id":%b,"result":1}' % written) == Response(read, Raw(b"1"))


def test_ids_of_different_types_are_different_in_one_block() -> None:  # ENV-10
    block = b'{"jsonrpc":"2.0","id":1,"method":"m"}\n{"jsonrpc":"2.0","id":"1","method":"m"}\n'
    assert decode_block(block) == [Request(1, "m"), Request("1", "m")]


def test_without_an_id_it_is_a_notification() -> None:  # ENV-25
    assert decode(b'{"jsonrpc":"2.0","method":"session/prompt"}') == Notification("session/prompt")


def test_the_order_of_members_means_nothing() -> None:
    frame = b'{"params":[1],"method":"m","id":"a","jsonrpc":"2.0"}'
    assert decode(frame) == Request("a", "m", Raw(b"[1]"))


def test_unknown_members_are_ignored() -> None:  # ENV-23
    frame = b'{"jsonrpc":"2.0","id":1,"method":"m","_meta":{"method":"x","id":2},"trace":[],"Method":"y"}'
    assert decode(frame) == Request(1, "m")


@every("params", [b"{}", b"[]", b"null", b'"x"', b"7", b'{"_meta":{"sessionId":"x"}}'])
def test_params_of_any_shape_are_the_handlers_business(params: bytes) -> None:  # ENV-16, ENV-26
    assert decode(b'{"jsonrpc":"2.0","id":1,"method":"m","params":%b}' % params) == Request(
        1, "m", Raw(params)
    )
    assert decode(b'{"jsonrpc":"2.0","method":"m","params":%b}' % params) == Notification("m", Raw(params))


def test_missing_params_are_none() -> None:  # ENV-17
    assert decode(b'{"jsonrpc":"2.0","id":1,"method":"m"}') == Request(1, "m", None)


@every("method", ["nope/nope", "_ext/x", "$/foo", "", " ", "ä\u0000"])
def test_any_string_is_a_method(method: str) -> None:  # ENV-13, ENV-14
    written = method.encode().replace(b"\0", rb"\u0000")
    assert decode(b'{"jsonrpc":"2.0","id":1,"method":"%b"}' % written) == Request(1, method)
    assert decode(b'{"jsonrpc":"2.0","method":"%b"}' % written) == Notification(method)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b'{"id":1,"method":"m"}', id="ENV-01"),
        pytest.param(b'{"method":"m"}', id="ENV-01 notification"),
        pytest.param(b'{"jsonrpc":"1.0","id":1,"method":"m"}', id="ENV-02"),
        pytest.param(b'{"jsonrpc":2.0,"id":1,"method":"m"}', id="ENV-02 number"),
        pytest.param(b'{"jsonrpc":null,"method":"m"}', id="ENV-02 null"),
        pytest.param(b'{"jsonrpc":["2.0"],"method":"m"}', id="ENV-02 array"),
        pytest.param(b'{"jsonrpc":" 2.0","method":"m"}', id="ENV-02 blank"),
        pytest.param(b'{"jsonrpc":"2.0","id":{},"method":"m"}', id="ENV-04"),
        pytest.param(b'{"jsonrpc":"2.0","id":[1],"method":"m"}', id="ENV-05"),
        pytest.param(b'{"jsonrpc":"2.0","id":true,"method":"m"}', id="id is a boolean"),
        pytest.param(b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', id="id has a fraction"),
        pytest.param(b'{"jsonrpc":"2.0","id":1.0,"method":"m"}', id="id has an empty fraction"),
        pytest.param(b'{"jsonrpc":"2.0","id":1e2,"method":"m"}', id="id has an exponent"),
        pytest.param(b'{"jsonrpc":"2.0","id":1e400,"method":"m"}', id="id is beyond floats"),
        pytest.param(b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % (b"7" * 5000), id="id has 5000 digits"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":null}', id="ENV-07"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":{}}', id="ENV-08"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":7}', id="method is a number"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":["m"]}', id="method is an array"),
        pytest.param(b'{"jsonrpc":"2.0","method":true}', id="method is a boolean"),
    ],
)
def test_a_bad_request_is_an_invalid_request(frame: bytes) -> None:
    assert refused(frame) == INVALID_REQUEST


@every(
    ("frame", "expected"),
    [
        (b'{"id":1,"method":"m"}', 1),
        (b'{"jsonrpc":"1.0","id":"a","method":"m"}', "a"),
        (b'{"jsonrpc":"2.0","id":7,"method":null}', None),  # RPC-11
        (b'{"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}', None),  # which of them?
        (b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', None),
        (b'{"id":"\\ud800","method":"m"}', None),
        (b"[]", None),
    ],
)
def test_a_request_of_another_version_is_answered_under_its_id(frame: bytes, expected: object) -> None:
    for envelope in (decode(frame), decode_block(frame + b"\n")[0]):
        assert isinstance(envelope, MalformedFrame)
        assert (envelope.code, envelope.id, envelope.frame) == (INVALID_REQUEST, expected, frame)


def test_the_reason_names_what_is_wrong() -> None:
    def why(frame: bytes) -> str:
        envelope = decode(frame)
        assert isinstance(envelope, MalformedFrame)
        return envelope.why

    assert "jsonrpc" in why(b'{"jsonrpc":2,"id":1,"method":"m"}')
    assert "method" in why(b'{"jsonrpc":"2.0","id":1,"method":7}')
    assert "array" in why(b"[]")
    assert "array" in why(b" [ ]")
    assert "object" in why(b"7")
    assert "twice" in why(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}')
    assert "without an id" in why(b'{"jsonrpc":"2.0","result":1}')


# Answers. None of them is ever answered.


@every("result", [b"null", b"{}", b"false", b"0", b'""'])
def test_a_result_of_any_value_is_an_answer(result: bytes) -> None:
    assert decode(b'{"jsonrpc":"2.0","id":1,"result":%b}' % result) == Response(1, Raw(result))


@every("said", [b"", b'"jsonrpc":"1.0",', b'"jsonrpc":2.0,', b'"jsonrpc":null,', b'"jsonrpc":{},'])
def test_an_answer_need_not_say_jsonrpc(said: bytes) -> None:
    assert decode(b'{%b"id":1,"result":1}' % said) == Response(1, Raw(b"1"))
    assert error_of(b'{%b"id":1,"error":{"code":2,"message":"m"}}' % said) == ErrorObject(2, "m")


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b'{"jsonrpc":"2.0","result":1}', id="no id"),
        pytest.param(b'{"jsonrpc":"2.0","result":null,"error":null}', id="nulls and no id"),
        pytest.param(b'{"jsonrpc":"2.0","error":null}', id="a null error and no id"),
        pytest.param(b'{"jsonrpc":"2.0","id":{},"result":1}', id="id is an object"),
        pytest.param(b'{"jsonrpc":"2.0","id":true,"result":1}', id="id is a boolean"),
        pytest.param(b'{"jsonrpc":"2.0","id":1.0,"result":1}', id="id has a fraction"),
        pytest.param(b'{"jsonrpc":"2.0","id":[],"error":{"code":1,"message":""}}', id="id is an array"),
    ],
)
def test_a_bad_answer_is_never_answered(frame: bytes) -> None:
    assert refused(frame) is None


def test_an_error_without_an_id_could_not_be_placed_by_the_peer() -> None:
    for written in (b"", b'"id":null,'):
        frame = b'{"jsonrpc":"2.0",%b"error":{"code":-32700,"message":"m"}}' % written
        assert decode(frame) == Failure(None, ErrorObject(-32700, "m"))


# Errors are never lost because they are odd.


@every(
    ("written", "data"),
    [(b"", UNSET), (b',"data":null', None), (b',"data":{"a":[1]}', {"a": [1]}), (b',"data":"x"', "x")],
)
def test_the_data_of_an_error_may_be_absent_null_or_anything(written: bytes, data: object) -> None:
    error = error_of(b'{"id":1,"error":{"code":-32603,"message":"m"%b}}' % written)
    assert error == ErrorObject(-32603, "m", data)


def test_unknown_members_of_an_error_are_ignored() -> None:
    assert error_of(b'{"id":1,"error":{"code":1,"message":"m","stack":"s"}}') == ErrorObject(1, "m")


def test_an_error_that_is_a_bare_string_keeps_its_text() -> None:
    assert error_of(b'{"id":1,"error":"no such file"}') == ErrorObject(0, "no such file")


@every(
    ("written", "data"),
    [
        (b'{"code":"ENOENT","message":"m"}', {"code": "ENOENT", "message": "m"}),
        (b'{"code":1.5,"message":"m"}', {"code": 1.5, "message": "m"}),
        (b'{"message":"m"}', {"message": "m"}),
        (b'{"code":1,"message":null}', {"code": 1, "message": None}),
        (b"{}", {}),
        (b"[1]", [1]),
        (b"7", 7),
    ],
)
def test_an_error_of_another_shape_is_kept_as_data(written: bytes, data: object) -> None:
    error = error_of(b'{"id":1,"error":%b}' % written)
    assert error.code == 0
    assert "malformed" in error.message
    assert error.data == data


@every("data", [b"1e400", b"-1e999", b"7" * 5000, b"[[1e400]]"])
def test_data_that_python_cannot_hold_costs_only_the_data(data: bytes) -> None:
    error = error_of(b'{"id":1,"error":{"code":-32603,"message":"m","data":%b}}' % data)
    assert error == ErrorObject(-32603, "m")


def test_an_error_of_which_nothing_can_be_held_is_still_an_error() -> None:
    assert error_of(b'{"id":1,"error":[1e400]}').code == 0


@every("members", [b"", b',"error":null', b',"result":null', b',"result":null,"error":null'])
@every("name", [b"1", b'"a"'])
def test_an_answer_without_a_result_is_the_answer_null(name: bytes, members: bytes) -> None:  # ENV-22
    frame = b'{"jsonrpc":"2.0","id":%b%b}' % (name, members)
    for answer in (decode(frame), *decode_block(frame + b"\n"), *decode_block((frame + b"\n") * 2)):
        assert isinstance(answer, Response)
        assert (answer.id, bytes(answer.result)) == (msgspec.json.decode(name), b"null")


@pytest.mark.parametrize("result", [b"null", b"1", b'{"outcome":{"outcome":"selected","optionId":"allow"}}'])
def test_an_error_beside_a_result_counts(result: bytes) -> None:  # ENV-22
    error = error_of(b'{"jsonrpc":"2.0","id":1,"result":%b,"error":{"code":1,"message":"m"}}' % result)
    assert error == ErrorObject(1, "m")


def test_a_null_error_beside_a_result_does_not_count() -> None:
    answer = decode(b'{"jsonrpc":"2.0","id":1,"result":{"a":1},"error":null}')
    assert isinstance(answer, Response)
    assert (answer.id, bytes(answer.result)) == (1, b'{"a":1}')
