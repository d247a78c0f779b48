import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

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
    encode,
    error_object,
    failure,
    notification,
    request,
    response,
)
from dragoman.wire.codes import INTERNAL_ERROR, PARSE_ERROR
from dragoman.wire.encode import one_line
from tests.every import every
from tests.wire.strategies import bad_frames, envelopes, values

IDS: list[Id] = [0, 1, -1, 2**53 + 1, 2**63, 10**40, "1", "", "ä😀", 'a"\\\n\x00', None]


@given(envelope=envelopes)
def test_what_is_written_is_read_back_the_same(envelope: Envelope) -> None:
    frame = encode(envelope)
    assert decode(frame[:-1]) == envelope
    assert decode_block(frame) == [envelope]


@given(envelope=envelopes)
def test_a_frame_holds_one_newline_and_ends_with_it(envelope: Envelope) -> None:
    frame = encode(envelope)
    assert frame.count(b"\n") == 1
    assert frame.endswith(b"\n")
    assert b"\r" not in frame


def strictly(text: bytes) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


@given(envelope=envelopes)
def test_every_other_reader_of_json_understands_it(envelope: Envelope) -> None:
    fields = strictly(encode(envelope))
    assert fields.pop("jsonrpc") == "2.0"
    match envelope:
        case Request(request_id, method, _):
            assert (fields["id"], fields["method"]) == (request_id, method)
        case Notification(method, _):
            assert fields["method"] == method
            assert "id" not in fields
        case Response(request_id, result):
            assert fields == {"id": request_id, "result": json.loads(bytes(result))}
        case Failure(request_id, _):
            assert fields.keys() == {"id", "error"}
            assert fields["id"] == request_id


@given(value=values)
def test_params_are_joined_not_encoded_again(value: Any) -> None:
    params = msgspec.json.encode(value)
    assert request(1, "m", params) == b'{"jsonrpc":"2.0","id":1,"method":"m","params":%b}\n' % params
    assert notification("m", params) == b'{"jsonrpc":"2.0","method":"m","params":%b}\n' % params
    assert response("a", params) == b'{"jsonrpc":"2.0","id":"a","result":%b}\n' % params


def test_without_params_there_is_no_member_for_them() -> None:
    assert request(1, "m", None) == b'{"jsonrpc":"2.0","id":1,"method":"m"}\n'
    assert notification("m", None) == b'{"jsonrpc":"2.0","method":"m"}\n'


@every("request_id", IDS)
def test_an_id_is_echoed_with_its_type_and_value(request_id: Id) -> None:
    for frame in (
        request(request_id, "m", None),
        response(request_id, b"{}"),
        failure(request_id, error_object(INTERNAL_ERROR)),
    ):
        found = json.loads(frame)["id"]
        assert found == request_id
        assert type(found) is type(request_id)


@every("method", ["session/new", "", "ä", 'a"b', "a\\b", "a\nb", "\u2028"])
def test_any_method_can_be_written(method: str) -> None:
    assert decode_block(notification(method, b"{}")) == [Notification(method, Raw(b"{}"))]
    assert decode_block(request(1, method, b"{}")) == [Request(1, method, Raw(b"{}"))]


# Errors.


def test_an_error_gets_the_name_of_its_code_when_it_has_no_text() -> None:
    assert error_object(INTERNAL_ERROR) == ErrorObject(INTERNAL_ERROR, "Internal error")
    assert error_object(PARSE_ERROR, "why") == ErrorObject(PARSE_ERROR, "why")
    assert error_object(4711).message != ""


@every("data", [0, False, "", [], {}])
def test_empty_data_of_an_error_is_data(data: Any) -> None:
    assert error_object(1, "m", data).data == data
    assert json.loads(failure(1, error_object(1, "m", data)))["error"] == {
        "code": 1,
        "message": "m",
        "data": data,
    }


def test_an_error_without_data_has_no_member_for_it() -> None:
    assert error_object(1, "m").data is UNSET
    assert (
        failure(None, error_object(1, "m"))
        == b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}\n'
    )


def test_null_data_that_came_goes_on_as_null() -> None:
    frame = b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":null}}\n'
    assert encode(decode(frame[:-1])) == frame


# Bytes from elsewhere.


def test_params_with_line_ends_become_one_line_with_the_same_meaning() -> None:
    pretty = Raw(json.dumps({"a": [1, "x\ny"], "b": {}}, indent=2).encode().replace(b"\n", b"\r\n"))
    for envelope in (Request(1, "m", pretty), Notification("m", pretty), Response(1, pretty)):
        frame = encode(envelope)
        assert frame.count(b"\n") == 1
        assert b"\r" not in frame
        fields = json.loads(frame)
        assert fields.get("params", fields.get("result")) == {"a": [1, "x\ny"], "b": {}}


@given(value=values, indent=st.integers(0, 3))
def test_one_line_keeps_the_meaning(value: Any, indent: int) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    assert b"\n" not in one_line(text)
    assert json.loads(one_line(text)) == value


def test_one_line_does_not_touch_what_is_one_line() -> None:
    text = b'{"a": "x\\ny", "b":  1 }'
    assert one_line(text) is text


@given(frame=bad_frames)
def test_what_is_malformed_goes_on_as_it_came(frame: bytes) -> None:
    assert encode(MalformedFrame(frame, PARSE_ERROR, "why")) == frame + b"\n"


def test_what_is_malformed_never_becomes_two_frames() -> None:
    smuggled = b'{"a":\n{"jsonrpc":"2.0","id":1,"method":"session/new"}\n}'
    assert encode(MalformedFrame(smuggled, PARSE_ERROR, "why")).count(b"\n") == 1
