import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_hub.agents.host import records
from dragoman_hub.agents.host.records import SPACE, OutOfStep, Records
from tests.hub.agents.host.raw_hub import a_socketpair

Said = list[tuple[int, int, bytes]]

some_records = st.lists(
    st.tuples(st.integers(0, 255), st.integers(0, 2**64 - 1), st.binary(max_size=40)), max_size=6
)


@settings(max_examples=30)  # each makes sockets, and there is little to be found by more
@given(some_records, st.data())
def test_a_record_is_handed_over_when_it_is_whole_however_it_is_cut(said: Said, data: st.DataObject) -> None:
    ours, theirs = a_socketpair()
    heard: Said = []
    reader = Records(lambda *record: heard.append(record))
    stream = b"".join(records.record(*record) for record in said)
    ends = [len(b"".join(records.record(*one) for one in said[: n + 1])) for n in range(len(said))]
    sent = 0
    with ours, theirs:
        while sent < len(stream):
            cut = data.draw(st.integers(sent + 1, len(stream)))
            theirs.send(stream[sent:cut])
            sent = cut
            assert reader.receive(ours)
            assert heard == said[: sum(end <= sent for end in ends)]


@pytest.mark.parametrize("size", [SPACE - records.HEADER.size, SPACE, 3 * SPACE + 1])
def test_a_large_record_comes_in_one_piece_with_its_neighbours(size: int) -> None:
    ours, theirs = a_socketpair()
    heard: Said = []
    reader = Records(lambda *record: heard.append(record))
    said = [(1, 7, b"before"), (2, 8, bytes(size)), (3, 9, b"after")]
    stream = b"".join(records.record(*record) for record in said)
    with ours, theirs:
        while stream or len(heard) < 3:
            if stream:
                stream = stream[theirs.send(stream[:100_000]) :]
            assert reader.receive(ours)
    assert heard == said


def test_a_torn_record_is_as_if_it_had_not_been_said() -> None:
    ours, theirs = a_socketpair()
    heard: Said = []
    reader = Records(lambda *record: heard.append(record))
    with ours:
        theirs.send(records.record(1, 1, b"whole") + records.record(2, 2, b"torn")[:-1])
        theirs.close()
        assert reader.receive(ours)
        assert not reader.receive(ours)
    assert heard == [(1, 1, b"whole")]


def test_nothing_is_handed_over_after_a_stop() -> None:
    ours, theirs = a_socketpair()
    heard: Said = []

    def hear_one(*record: object) -> None:
        heard.append(record)  # type: ignore[arg-type]
        reader.stop()

    reader = Records(hear_one)
    with ours, theirs:
        theirs.send(records.record(1) + records.record(2))
        reader.receive(ours)
    assert [kind for kind, _, _ in heard] == [1]


def test_a_record_is_handed_over_once_even_to_somebody_who_fails_at_it() -> None:
    ours, theirs = a_socketpair()
    heard: list[int] = []

    def fail(kind: int, *_: object) -> None:
        heard.append(kind)
        raise LookupError

    reader = Records(fail)
    with ours, theirs:
        theirs.send(records.record(1) + records.record(2)[:-1])
        with pytest.raises(LookupError):
            reader.receive(ours)
        theirs.send(records.record(2)[-1:])
        with pytest.raises(LookupError):
            reader.receive(ours)
    assert heard == [1, 2]


def test_a_size_that_cannot_be_is_refused_before_it_is_gathered() -> None:
    ours, theirs = a_socketpair()
    reader = Records(lambda *_: None, largest=100)
    with ours, theirs:
        theirs.send(records.HEADER.pack(1, 101, 0))
        with pytest.raises(OutOfStep):
            reader.receive(ours)


@settings(max_examples=30)
@given(st.text(max_size=30), st.integers(0, 2**64 - 1), st.binary(max_size=50))
def test_a_write_carries_its_stream_and_block(stream: str, last: int, block: bytes) -> None:
    ours, theirs = a_socketpair()
    heard: Said = []
    with ours, theirs:
        theirs.send(records.write_head(stream, last, len(block)) + block)
        Records(lambda *record: heard.append(record)).receive(ours)
    ((kind, number, payload),) = heard
    assert (kind, number, records.split_write(payload)) == (records.WRITE, last, (stream, block))


def test_a_write_without_room_for_a_stream_is_refused() -> None:
    with pytest.raises(OutOfStep):
        records.split_write(b"\x05")
