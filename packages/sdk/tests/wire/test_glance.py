"""One look at a block: what it sees is what decoding sees, frame by frame, whatever the bytes."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from dragoman.wire import Failure, MalformedFrame, Notification, Request, Response, decode
from dragoman.wire.glance import UNREADABLE, Glance, glance, glance_block, lines_of
from tests.every import every
from tests.wire.strategies import frames, good_frames

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{"id":9,"method":"inner"}}\n'


def expected(frame: bytes) -> Glance:
    """What the full decoder says of a frame that it accepts."""
    match decode(frame):
        case Request(request_id, method, _):
            return Glance(method, request_id)
        case Notification(method, _):
            return Glance(method)
        case Response(answered, _) | Failure(answered, _):
            return Glance(id=answered)
        case MalformedFrame():
            return UNREADABLE


@given(frame=good_frames)
@settings(max_examples=max(100, settings().max_examples))
def test_a_glance_agrees_with_the_decoder(frame: bytes) -> None:
    assert glance(frame) == expected(frame)


@given(sent=st.lists(frames, max_size=6))
@settings(max_examples=max(100, settings().max_examples))
@example(sent=[UPDATE[:-1], b"", b"  ", UPDATE[:-1]])
@example(sent=[b'{"id":1}{"id":2}', b'{"method":"a"', b"}"])
def test_a_block_gives_the_glance_of_each_of_its_lines(sent: list[bytes]) -> None:
    block = b"".join(frame + b"\n" for frame in sent)
    lines = lines_of(block)
    assert [line[:-1] for line in lines] == [frame for frame in sent if frame and not frame.isspace()]
    assert glance_block(block) == [glance(line) for line in lines]


@given(data=st.binary(max_size=80))
def test_any_bytes_give_one_glance_a_line(data: bytes) -> None:
    assert len(glance_block(data)) == len(lines_of(data))
    assert len(glance_block(data + b"}\n")) == len(lines_of(data + b"}\n"))


def test_two_objects_on_one_line_are_not_taken_for_two_frames() -> None:
    # Three objects and three newlines, but not one a line.
    block = b'{"method":"a"}{"method":"b"}\n{"method":\n"c"}\n'
    assert glance_block(block) == [UNREADABLE, UNREADABLE, UNREADABLE]


def test_two_objects_on_one_line_are_unreadable_and_their_neighbours_are_not() -> None:
    block = b'{"method":"a"}\n{"method":"b"}{"method":"c"}\n{"method":"d"}\n'
    assert glance_block(block) == [Glance("a"), UNREADABLE, Glance("d")]


def test_an_object_over_two_lines_is_no_frame() -> None:
    assert glance_block(b'{"method":\n"a"}\n') == [UNREADABLE, UNREADABLE]


def test_names_inside_params_do_not_count() -> None:
    assert glance_block(UPDATE * 3) == [Glance("session/update")] * 3


def test_escapes_are_read() -> None:
    assert glance(rb'{"m\u0065thod":"session\/prompt","\u0069d":"\u0031"}') == Glance("session/prompt", "1")


def test_a_null_id_is_not_an_absent_one() -> None:
    assert glance(b'{"method":"a","id":null}').id is None
    assert glance(b'{"method":"a"}').id is UNSET


@every("frame", [b'{"method":5}', b'{"id":1.5}', b"[]", b"nothing", b'{"id":true}', b"\xff"])
def test_what_cannot_be_read_is_said_to_be_so(frame: bytes) -> None:
    assert glance(frame) == UNREADABLE
    assert glance_block(UPDATE + frame + b"\n" + UPDATE) == [
        Glance("session/update"),
        UNREADABLE,
        Glance("session/update"),
    ]


def test_a_carriage_return_ends_no_line() -> None:
    assert lines_of(b'{"id":1,\r"method":"a"}\r\n{}\r\n') == [b'{"id":1,\r"method":"a"}\r\n', b"{}\r\n"]


def test_a_last_frame_without_its_newline_is_still_a_frame() -> None:
    assert glance_block(UPDATE + b'{"id":1}') == [Glance("session/update"), Glance(id=1)]


@every(
    "odd",
    [
        b'{"jsonrpc":"2.0","method":"session/update","params":{"a":{}},"id":7}\n',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"a":{}},"id":7,"more":{"b":{}}}\n',
        b'{"jsonrpc":"2.0","id":7,"method":"session/update","params":{"a":{}}}\n',
        b'{"jsonrpc":"2.0","method":"session/updated","params":{"a":{}}}\n',
        b'{"jsonrpc":"2.0","method":"session/up\\u0064ate","params":{"a":{}}}\n',
        b'{"jsonrpc":"2.0","method":"session/update","params":[]}\n',
        b'{"jsonrpc":"2.0","id":7,"result":{"a":{}}}\n',
        b"noise\n",
        b"\n",
    ],
)
@every("place", [0, 1, 3])
def test_a_run_of_notifications_does_not_hide_what_is_none_of_them(odd: bytes, place: int) -> None:
    sent = [b'{"jsonrpc":"2.0","method":"session/update","params":{"a":{"b":"c"}}}\n'] * 3
    sent.insert(place, odd)
    expected = [glance(line) for line in sent if not line.isspace()]
    assert glance_block(b"".join(sent)) == expected


def test_a_run_of_notifications_has_a_glance_for_each() -> None:
    note = b'{"jsonrpc":"2.0","method":"_acme/\xc3\xa4","params":{"a":{"b":"\\"id\\""}}}\n'
    assert glance_block(note * 5) == [Glance("_acme/\u00e4")] * 5
