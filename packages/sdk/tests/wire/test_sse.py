"""Server-sent events: what was written is read, however it was cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire.sse import KEEPALIVE, EventReader, SseEvent, encode_event

lines = st.binary(max_size=20).filter(lambda data: b"\n" not in data and b"\r" not in data)
ids = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), max_size=5).filter(
    lambda text: text == text.strip()
)


def with_id(data: bytes, name: str) -> bytes:
    return (f"id: {name}\n".encode() if name else b"") + encode_event(data)


@given(st.lists(st.tuples(lines, ids), max_size=6), st.data())
def test_events_are_the_same_however_they_are_cut(sent: list[tuple[bytes, str]], data: st.DataObject) -> None:
    stream = KEEPALIVE + KEEPALIVE.join(with_id(one, name) for one, name in sent)
    reader, read, last = EventReader(), list[SseEvent](), ""
    expected = []
    for one, name in sent:
        last = name or last
        expected.append(SseEvent(one, last))
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        read += reader.feed(stream[:cut])
        stream = stream[cut:]
    assert read == expected


@given(st.binary())
def test_any_bytes_are_taken(stream: bytes) -> None:
    EventReader().feed(stream)


def test_other_fields_line_ends_and_several_lines_of_data() -> None:
    reader = EventReader()
    stream = b"event: x\r\nid: 7\rdata: a\ndata:b\nretry: 5\nnonsense\n\n"
    assert [event for at in range(len(stream)) for event in reader.feed(stream[at : at + 1])] == [
        SseEvent(b"a\nb", "7")
    ]
    assert reader.size == 0


def test_line_ends_cut_in_two_are_one_and_a_lone_return_ends_a_line_at_once() -> None:
    reader = EventReader()
    assert reader.feed(b"data: a\r") == []
    assert reader.feed(b"\ndata: b\r\n\r") == [SseEvent(b"a\nb")]
    assert reader.feed(b"\ndata: c\r\r") == [SseEvent(b"c")]
    assert reader.feed(b"data: d\n\n") == [SseEvent(b"d")]
    assert reader.size == 0


def test_a_mark_before_the_first_line_means_nothing() -> None:
    reader = EventReader()
    assert reader.feed(b"\xef\xbb") == []
    assert reader.feed(b"\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n") == [SseEvent(b"a")]


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Streams as servers write them, with something odd among the events now and then."""
    parts = st.one_of(
        st.tuples(lines, ids).map(lambda event: with_id(*event)),
        st.sampled_from(
            [b"data: {}\n\n", b"id: 7\ndata: {}\n\n", b"id: \n", b"event: message\ndata: 1\n\n", KEEPALIVE]
        ),
        st.sampled_from(
            [b"data: a\ndata: b\n\n", b"data:c\n\n", b"data: \n\n", b"data:  \t\n\n", b"\n", b"\r\n"]
        ),
        st.sampled_from(
            [b"id: 1\x002\ndata: x\n\n", b"data: d\r\n\r\n", b"\xef\xbb\xbf", b"id: 9\n\n", b"x"]
        ),
    )
    return b"".join(draw(st.lists(parts, max_size=12)))


@given(streams(), st.data())
def test_the_lines_of_a_chunk_are_the_data_of_its_events(stream: bytes, data: st.DataObject) -> None:
    quick, slow = EventReader(), EventReader()
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        chunk, stream = stream[:cut], stream[cut:]
        events = slow.feed(chunk)
        expected = [event.data.replace(b"\n", b" ") for event in events]
        assert quick.feed_lines(chunk) == b"".join(
            line + b"\n" for line in expected if line and not line.isspace()
        )
        assert (quick.size, quick.last_id) == (slow.size, slow.last_id)
    assert quick.feed_lines(b"\n\n") == b"".join(event.data + b"\n" for event in slow.feed(b"\n\n"))


def test_the_last_id_is_that_of_the_last_event_which_is_complete() -> None:
    reader = EventReader()
    assert reader.feed_lines(b":\n\n") == b""
    assert reader.feed_lines(b"id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: c") == b"a\nb\n"
    assert reader.last_id == "2"
    assert reader.feed_lines(b"\n\ndata: d\n\n") == b"c\nd\n"
    assert reader.last_id == "3"
