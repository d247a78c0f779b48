"""Frames to envelopes: what holds for all bytes, and that a block is worth exactly its frames."""

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from dragoman.wire import (
    Envelope,
    MalformedFrame,
    Notification,
    Request,
    Response,
    count_objects,
    decode,
    decode_block,
    encode,
)
from dragoman.wire.codes import INVALID_REQUEST, PARSE_ERROR
from tests.every import every
from tests.wire.corpus import NO_MESSAGE, NOT_JSON
from tests.wire.strategies import frames, good_frames, notifications

REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"a","params":{}}'
NOTE = b'{"jsonrpc":"2.0","method":"b"}'
ANSWER = b'{"jsonrpc":"2.0","id":7,"result":{}}'
TWICE = b'{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}'


def one_by_one(sent: list[bytes]) -> list[Envelope]:
    return [decode(frame) for frame in sent if frame and not frame.isspace()]


def methods(found: list[Envelope]) -> list[str]:
    assert all(isinstance(envelope, (Request, Notification)) for envelope in found)
    return [envelope.method for envelope in found if isinstance(envelope, (Request, Notification))]


# What holds for all bytes.


@given(frame=st.binary(max_size=60))
def test_any_bytes_become_an_envelope(frame: bytes) -> None:  # FRM-10
    decode(frame)
    decode_block(frame)
    decode_block(frame + b"}\n")


@given(frame=frames)
@settings(max_examples=max(100, settings().max_examples))
def test_what_cannot_be_read_keeps_its_bytes_and_says_why(frame: bytes) -> None:
    envelope = decode(frame)
    if isinstance(envelope, MalformedFrame):
        assert envelope.frame == frame
        assert envelope.code in (PARSE_ERROR, INVALID_REQUEST, None)
        assert envelope.why


@given(frame=frames)
@settings(max_examples=max(100, settings().max_examples))
def test_what_can_be_read_can_be_written_and_read_again(frame: bytes) -> None:
    envelope = decode(frame)
    if not isinstance(envelope, MalformedFrame):
        assert decode(encode(envelope)[:-1]) == envelope


@given(frame=good_frames, space=st.sampled_from([b" ", b"\t", b"\r", b" \r"]))
def test_white_space_around_a_frame_means_nothing(frame: bytes, space: bytes) -> None:  # FRM-01
    assert decode(space + frame + space) == decode(frame)


# A block is worth exactly its frames.


@given(sent=st.lists(frames, max_size=6), ended=st.booleans())
@settings(max_examples=max(100, settings().max_examples))
@example(sent=[ANSWER, TWICE], ended=True)
@example(sent=[NOTE, b'{"jsonrpc":"2.0","method":"a","method":"b"}', REQUEST], ended=True)
@example(sent=[NOTE, b'{"jsonrpc":"1.0","method":"b"}', ANSWER], ended=True)
@example(sent=[b'{"jsonrpc":"2.0","id":1,"method":"a","params":{},"params":{"a":1}}', NOTE], ended=True)
def test_a_block_decodes_to_what_its_frames_decode_to(sent: list[bytes], ended: bool) -> None:
    block = b"\n".join(sent) + (b"\n" if ended else b"")
    assert decode_block(block) == one_by_one(sent)


@given(sent=st.lists(good_frames, max_size=8))
def test_a_block_of_good_frames_decodes_to_them_in_order(sent: list[bytes]) -> None:
    block = b"".join(frame + b"\n" for frame in sent)
    assert decode_block(block) == [decode(frame) for frame in sent]


@given(sent=st.lists(notifications, min_size=1, max_size=5), bad=st.sampled_from(list(NOT_JSON.values())))
def test_only_the_bad_line_is_malformed(sent: list[Notification], bad: bytes) -> None:
    good = b"".join(encode(note) for note in sent)
    *before, last, first = decode_block(good + bad + b"\n" + encode(sent[0]))
    assert before == sent
    assert isinstance(last, MalformedFrame)
    assert last.frame == bad
    assert first == sent[0]


@every(
    ("block", "count"),
    [
        (NOTE + b"\n", 1),
        (NOTE + b"\n" + ANSWER + b"\n", 2),
        (b"", 0),
        (b"\n", 0),
        (NOTE, 0),
        (NOTE + b"\r\n", 0),
        (NOTE + b"\n\n" + ANSWER + b"\n", 0),
        (NOTE + b"\n" + ANSWER, 0),
        (NOTE + b"\n[]\n", 0),
        (b'{"jsonrpc":\n"2.0"}\n', 0),
        (b'{"params":\n{}}\n', 0),
    ],
)
def test_objects_are_counted_only_where_lines_and_objects_can_coincide(block: bytes, count: int) -> None:
    assert count_objects(block) == count


@given(sent=st.lists(frames, min_size=1, max_size=4))
def test_where_objects_are_counted_each_line_begins_and_ends_like_one(sent: list[bytes]) -> None:
    block = b"".join(frame + b"\n" for frame in sent)
    plain = all(frame[:1] == b"{" and frame[-1:] == b"}" for frame in sent)
    # The very first brace is not looked at: whoever decodes the block sees it.
    assert count_objects(block) == len(sent) if plain else count_objects(block) in (0, len(sent))


def test_a_thousand_requests_in_one_block_are_a_thousand_envelopes() -> None:  # FRM-05
    block = b"".join(encode(Request(n, "session/list", Raw(b"{}"))) for n in range(1000))
    assert decode_block(block) == [Request(n, "session/list", Raw(b"{}")) for n in range(1000)]


@every("space", [b"\n", b" \n", b"\r\n", b"\t\n\n\n", b"\n \r\n\n"])
def test_blank_lines_are_nothing(space: bytes) -> None:  # FRM-02
    assert decode_block(space + REQUEST + b"\n" + space + NOTE + b"\n" + space) == one_by_one([REQUEST, NOTE])
    assert decode_block(space) == []


def test_carriage_returns_before_newlines_mean_nothing() -> None:  # FRM-01
    assert decode_block(REQUEST + b"\r\n" + NOTE + b"\r\n") == one_by_one([REQUEST, NOTE])


def test_an_empty_block_holds_nothing() -> None:
    assert decode_block(b"") == []


@every("gap", [b"", b" ", b"\r", b"\t"])
def test_two_objects_on_one_line_are_one_bad_line(gap: bytes) -> None:  # FRM-19
    line = REQUEST + gap + NOTE
    assert decode_block(line + b"\n") == [MalformedFrame(line, PARSE_ERROR, "the text is not JSON")]
    block = NOTE + b"\n" + line + b"\n" + ANSWER + b"\n"
    assert decode_block(block) == one_by_one([NOTE, line, ANSWER])


@every("cut", [b'"method":', b'"id":1,', b"{", b'"params":'])
def test_an_object_over_two_lines_is_two_bad_lines(cut: bytes) -> None:
    at = REQUEST.index(cut) + len(cut)
    first, second = decode_block(REQUEST[:at] + b"\n" + REQUEST[at:] + b"\n")
    assert isinstance(first, MalformedFrame)
    assert isinstance(second, MalformedFrame)
    assert (first.code, second.code) == (PARSE_ERROR, PARSE_ERROR)


def test_lines_too_many_and_lines_too_few_do_not_cancel_out() -> None:
    two_on_one, one_on_two = NOTE + ANSWER, REQUEST.replace(b'"id"', b'\n"id"')
    for block in (two_on_one + b"\n" + one_on_two + b"\n", one_on_two + b"\n" + two_on_one + b"\n"):
        found = decode_block(block)
        assert [type(envelope) for envelope in found] == [MalformedFrame] * 3


def test_a_newline_in_a_string_ends_the_line_even_where_it_looks_like_a_seam() -> None:
    block = b'{"jsonrpc":"2.0","method":"a","params":{"text":"}\n{"}}' + NOTE + b"\n"
    assert [type(envelope) for envelope in decode_block(block)] == [MalformedFrame, MalformedFrame]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_bad_utf8_spoils_its_own_line_only(at: int) -> None:  # FRM-11
    sent = [NOTE, REQUEST, ANSWER]
    sent[at] = b'{"jsonrpc":"2.0","id":1,"result":"\xff"}'
    found = decode_block(b"\n".join(sent) + b"\n")
    assert found == one_by_one(sent)
    assert found[at] == MalformedFrame(sent[at], PARSE_ERROR, "the text is not UTF-8")


def test_half_a_surrogate_pair_in_a_block_is_mended_in_its_own_line_only() -> None:
    lone = rb'{"jsonrpc":"2.0","method":"a","params":"\ud800"}'
    whole = rb'{"jsonrpc":"2.0","method":"b","params":"\ud83d\ude00"}'
    found = decode_block(lone + b"\n" + whole + b"\n")
    assert found == [Notification("a", Raw(rb'"\ufffd"')), Notification("b", Raw(rb'"\ud83d\ude00"'))]


def test_params_are_the_very_bytes_that_came() -> None:
    params = b'{ "b":1.50, "a" : [ 1e2 ],"\\u0061":null, "a":2}'
    for found in (
        decode(b'{"jsonrpc":"2.0","method":"m","params":%b}' % params),
        *decode_block(b'{"jsonrpc":"2.0","method":"m","params":%b}\n' % params * 2),
    ):
        assert isinstance(found, Notification)
        assert found.params is not None
        assert bytes(found.params) == params


def test_a_result_is_the_very_bytes_that_came() -> None:
    found = decode(b'{"jsonrpc":"2.0","id":1,"result": [ 1.0 ] }')
    assert isinstance(found, Response)
    assert bytes(found.result) == b"[ 1.0 ]"


def test_a_large_message_is_read_whole() -> None:  # FRM-14
    text = "äöü€😀" * 100_000
    params = msgspec.json.encode({"text": text})
    (found,) = decode_block(b'{"jsonrpc":"2.0","id":1,"method":"m","params":%b}\n' % params)
    assert isinstance(found, Request)
    assert found.params is not None
    assert msgspec.json.decode(found.params)["text"] == text


@every("at", [0, 1_048_575, 1_048_576, 1_500_000])
def test_bad_utf8_is_found_anywhere_in_a_large_message(at: int) -> None:
    text = bytearray("é".encode() * 1_000_000)
    text[at] = 0xFF
    frame = b'{"jsonrpc":"2.0","method":"m","params":"%b"}' % bytes(text)
    assert decode(frame) == MalformedFrame(frame, PARSE_ERROR, "the text is not UTF-8")


def test_a_large_message_may_end_in_the_middle_of_a_character_only_as_malformed() -> None:
    frame = b'"' + "é".encode() * 1_000_000 + b"\xc3"
    assert decode(frame) == MalformedFrame(frame, PARSE_ERROR, "the text is not UTF-8")


def test_the_corpus_is_large_and_each_text_is_one_line() -> None:  # JSN-29
    assert len(NOT_JSON) >= 60
    assert not any(b"\n" in frame or frame.isspace() for frame in (*NOT_JSON.values(), *NO_MESSAGE.values()))


@every("frame", NOT_JSON.values(), ids=NOT_JSON)
def test_text_that_is_not_json_is_a_parse_error(frame: bytes) -> None:  # JSN-29
    envelope = decode(frame)
    assert isinstance(envelope, MalformedFrame)
    assert envelope.code == PARSE_ERROR
    assert decode_block(frame + b"\n") == [envelope]


@every("frame", NO_MESSAGE.values(), ids=NO_MESSAGE)
def test_json_that_is_no_message_is_an_invalid_request(frame: bytes) -> None:
    envelope = decode(frame)
    assert isinstance(envelope, MalformedFrame)
    assert envelope.code == INVALID_REQUEST
    assert decode_block(frame + b"\n") == [envelope]
