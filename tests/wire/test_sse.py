"""Server-sent events: what was written is read, however it was cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire.sse import KEEPALIVE, EventReader, SseEvent, encode_event

lines = st.binary(max_size=20).filter(lambda data: b"\n" not in data and b"\r" not in data)
ids = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), max_size=5).filter(
    lambda text: text == text.strip()
)


@given(st.lists(st.tuples(lines, ids), max_size=6), st.data())
def test_events_are_the_same_however_they_are_cut(sent: list[tuple[bytes, str]], data: st.DataObject) -> None:
    stream = KEEPALIVE + KEEPALIVE.join(encode_event(one, event_id=name) for one, name in sent)
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
