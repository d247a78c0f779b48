"""Frames to envelopes: JSON at its edges. JSN and FRM name rows of our list of faults."""

import json

import msgspec
import pytest
from msgspec import Raw

from dragoman.wire import (
    Envelope,
    ErrorObject,
    Failure,
    MalformedFrame,
    Notification,
    Request,
    Response,
    decode,
    decode_block,
    encode,
)
from dragoman.wire.codes import INVALID_REQUEST, PARSE_ERROR
from tests.every import every


def request(*, id: bytes = b"1", method: bytes = b'"m"', params: bytes = b"{}") -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (id, method, params)


def read(frame: bytes) -> Envelope:
    """The envelope of a frame, which is the same alone, in a block, and between others."""
    envelope = decode(frame)
    assert decode_block(frame + b"\n") == [envelope]
    note = b'{"jsonrpc":"2.0","method":"n"}'
    block = note + b"\n" + frame + b"\n" + note + b"\n"
    assert decode_block(block) == [Notification("n"), envelope, Notification("n")]
    return envelope


def refused(frame: bytes) -> int | None:
    envelope = read(frame)
    assert isinstance(envelope, MalformedFrame)
    assert envelope.frame == frame
    return envelope.code


def params_of(frame: bytes) -> bytes:
    envelope = read(frame)
    assert isinstance(envelope, Request)
    assert envelope.params is not None
    return bytes(envelope.params)


@pytest.mark.parametrize(
    "params",
    [
        pytest.param(b'{"a":1,}', id="JSN-01"),
        pytest.param(b"{'a':1}", id="JSN-02"),
        pytest.param(b"[01]", id="JSN-04 leading zero"),
        pytest.param(b"[+1]", id="JSN-04 plus sign"),
        pytest.param(b"[0x1]", id="JSN-04 hex"),
        pytest.param(b'{"a":', id="JSN-05"),
        pytest.param(b"[NaN]", id="JSN-14 NaN"),
        pytest.param(b"[Infinity]", id="JSN-14 Infinity"),
        pytest.param(b"[-Infinity]", id="JSN-14 -Infinity"),
        pytest.param(b'"a\x00b"', id="FRM-08"),
        pytest.param(b'"\xff"', id="FRM-11"),
    ],
)
def test_what_is_not_json_is_a_parse_error_even_inside_params(params: bytes) -> None:
    assert refused(request(params=params)) == PARSE_ERROR


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"7", id="JSN-07"),
        pytest.param(b'"session/new"', id="JSN-08"),
        pytest.param(b"true", id="JSN-10"),
        pytest.param(b"[]", id="JSN-11"),
        pytest.param(b"[%b,%b]" % (request(id=b"1"), request(id=b"2")), id="JSN-13"),
    ],
)
def test_json_that_is_no_object_is_refused_as_a_whole(frame: bytes) -> None:
    assert refused(frame) == INVALID_REQUEST


@every("frame", [b"[1,", b"[1]]", b'"a" b', b"7 8", b"truth", b'{"id":{},"method":'])
def test_the_wrong_type_is_no_excuse_for_not_reading_on(frame: bytes) -> None:
    assert refused(frame) == PARSE_ERROR


def test_utf16_is_a_parse_error() -> None:  # FRM-13
    frame = request().decode().encode("utf-16")
    assert decode(frame) == MalformedFrame(frame, PARSE_ERROR, "the text is not UTF-8")
    without_mark = request().decode().encode("utf-16-le")
    assert decode(without_mark) == MalformedFrame(without_mark, PARSE_ERROR, "the text is not JSON")


@every("where", ["id", "method", "params"])
@every("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf8\x88\x80\x80\x80"])
def test_text_that_is_not_utf8_is_never_mended(where: str, bad: bytes) -> None:  # FRM-11
    frame = request(**{where: b'"%b"' % bad})
    assert decode(frame) == MalformedFrame(frame, PARSE_ERROR, "the text is not UTF-8")


@every("text", ["\u2028", "\u2029", "\u0085", "\x7f", "\u200f\u0627", "e\u0301", "👩‍👩‍👧‍👦", "𐍈", "\uffff"])
def test_every_character_comes_through_as_it_was_written(text: str) -> None:  # FRM-20, JSN-28
    written = json.dumps(text, ensure_ascii=False).encode()
    assert params_of(request(params=written)) == written
    envelope = read(request(id=written, method=written))
    assert isinstance(envelope, Request)
    assert (envelope.id, envelope.method) == (text, text)


# Depth and size.


@pytest.mark.parametrize("depth", [2_000, 100_000])
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((b"[", b"]"), id="JSN-16"),
        pytest.param((b'{"a":', b"}"), id="JSN-17"),
        pytest.param((b"[", b""), id="never closed"),
    ],
)
def test_any_depth_is_survived(depth: int, shape: tuple[bytes, bytes]) -> None:
    nested = shape[0] * depth + b"1" + shape[1] * depth
    for frame in (nested, request(params=nested), b'{"jsonrpc":"2.0","id":1,"result":%b}' % nested):
        envelope = decode(frame)
        assert decode_block(frame + b"\n") == [envelope]
        if isinstance(envelope, MalformedFrame):
            assert envelope.code in (PARSE_ERROR, INVALID_REQUEST)


def test_an_error_of_any_depth_is_survived() -> None:
    for depth in (100, 900, 990, 2_000, 100_000):
        data = b"[" * depth + b"]" * depth
        envelope = decode(b'{"id":1,"error":{"code":5,"message":"m","data":%b}}' % data)
        assert isinstance(envelope, (Failure, MalformedFrame))


def test_reasonable_depth_is_read() -> None:
    nested = b"[" * 200 + b"]" * 200
    assert params_of(request(params=nested)) == nested


@every("number", [b"9" * 5_000, b"-" + b"9" * 5_000, b"1e400", b"0." + b"1" * 400, b"1E-400"])
def test_numbers_that_python_cannot_hold_stay_bytes(number: bytes) -> None:  # JSN-19
    assert params_of(request(params=b'{"n":%b}' % number)) == b'{"n":%b}' % number


def test_a_hundred_thousand_members_are_read() -> None:  # JSN-26
    members = b",".join(b'"m%d":%d' % (n, n) for n in range(100_000))
    assert len(params_of(request(params=b'{"_meta":{%b}}' % members))) > len(members)


@every("name", ["__proto__", "constructor", "__class__", "__dict__", "toString"])
def test_no_member_name_is_special(name: str) -> None:  # JSN-25
    frame = b'{"%b":{"method":"evil"},' % name.encode() + request()[1:]
    assert read(frame) == Request(1, "m", Raw(b"{}"))
    assert read(request()) == Request(1, "m", Raw(b"{}"))


# Surrogates: a pair is one character, half a pair is none.

HALVES = [
    rb"\ud800",
    rb"\uDBFF",
    rb"\udc00",
    rb"\uDfFf",
    rb"\ud83d\ud83d\ude00",
    rb"\ud83d\ude00\ude00",
    rb"\ud800\u0041",
]


@every("half", HALVES)
def test_half_a_pair_in_the_id_of_a_request_is_refused(half: bytes) -> None:  # JSN-22
    assert refused(request(id=b'"a%bz"' % half)) == INVALID_REQUEST


@every("half", HALVES)
def test_half_a_pair_in_the_id_of_an_answer_is_never_answered(half: bytes) -> None:
    assert refused(b'{"jsonrpc":"2.0","id":"%b","result":1}' % half) is None
    assert refused(b'{"jsonrpc":"2.0","id":"%b","error":{"code":1,"message":""}}' % half) is None


@every(
    ("written", "text"),
    [
        (rb"\ud800", "\ufffd"),
        (rb"\uDC00", "\ufffd"),
        (rb"a\udBffz", "a\ufffdz"),
        (rb"\ud800\ud800", "\ufffd\ufffd"),
        (rb"\udc00\ud800", "\ufffd\ufffd"),
        (rb"\ud83d\ude00\ud83d", "😀\ufffd"),
        (rb"\ud83d\ud83d\ude00", "\ufffd😀"),
        (rb"\ude00\ud83d\ude00\ude00", "\ufffd😀\ufffd"),
        (rb"\ud800\u0041", "\ufffdA"),
        (rb"\ud800\n", "\ufffd\n"),
        (rb"\\\ud800", "\\\ufffd"),
        (rb"\\ud800\udc00", "\\ud800\ufffd"),
        (rb"\\\\ud83d\ud83d\ude00\udc00", "\\\\ud83d😀\ufffd"),
        (rb"\ud800\\udc00", "\ufffd\\udc00"),
    ],
)
def test_half_a_pair_in_a_text_is_read_as_the_replacement_character(
    written: bytes, text: str
) -> None:  # JSN-23
    envelope = read(request(method=b'"%b"' % written, params=b'["%b"]' % written))
    assert isinstance(envelope, Request)
    assert envelope.method == text
    assert envelope.params is not None
    assert msgspec.json.decode(envelope.params) == [text]
    assert decode(encode(envelope)[:-1]) == envelope


@every(
    ("written", "text"),
    [
        (rb"\ud83d\ude00", "😀"),
        (rb"\uD83D\uDE00\ud83d\ude00", "😀😀"),
        (rb"\\ud800", "\\ud800"),
        (rb"\\\\udc00", "\\\\udc00"),
        (rb"\\ud83d\ud83d\ude00", "\\ud83d😀"),
        (rb"\ufffd\ud7ff\ue000", "\ufffd\ud7ff\ue000"),
    ],
)
def test_whole_pairs_and_escaped_backslashes_are_left_alone(written: bytes, text: str) -> None:
    quoted = b'"%b"' % written
    assert read(request(id=quoted, method=quoted, params=quoted)) == Request(text, text, Raw(quoted))


def test_half_a_pair_does_not_make_other_faults_into_parse_errors() -> None:
    assert refused(rb'{"jsonrpc":"2.0","method":"\ud800","id":{}}') == INVALID_REQUEST
    assert refused(rb'{"jsonrpc":"1.0","method":"\ud800","id":1}') == INVALID_REQUEST
    assert refused(rb'["\ud800"]') == INVALID_REQUEST
    assert refused(rb'{"jsonrpc":"2.0","method":"\ud800","id":1,"method":"b"}') == INVALID_REQUEST
    assert refused(rb'{"jsonrpc":"2.0","method":"\ud800","id":1,}') == PARSE_ERROR


def test_half_a_pair_in_an_answer_costs_no_more_than_itself() -> None:
    assert read(rb'{"id":1,"result":{"text":"\ud800"}}') == Response(1, Raw(rb'{"text":"\ufffd"}'))
    envelope = read(rb'{"id":1,"error":{"code":-32603,"message":"\ud800!","data":"\udc00"}}')
    assert envelope == Failure(1, ErrorObject(-32603, "\ufffd!", "\ufffd"))
