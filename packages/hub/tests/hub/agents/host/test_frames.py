from hypothesis import given
from hypothesis import strategies as st

from dragoman_hub.agents.host.frames import ENTRY, KeptFrames


def sent(kept: KeptFrames, *, size: int = 1 << 20) -> list[tuple[int, bytes]]:
    """Everything there is to send, frame by frame; a skipped one shows its size."""
    frames: list[tuple[int, bytes]] = []
    while (record := kept.take(size)) is not None:
        if record.blocks:
            lines = b"".join(record.blocks).splitlines(keepends=True)
            assert record.size == sum(map(len, lines))
            frames += enumerate(lines, record.first)
        else:
            frames.append((record.first, b"skipped %d\n" % record.size))
    return frames


blocks = st.lists(
    st.binary(max_size=6).map(lambda b: b.replace(b"\n", b"").replace(b"\r", b"") + b"\n"), min_size=1
)
steps = st.lists(
    st.one_of(
        blocks.map(lambda lines: ("add", b"".join(lines))),
        st.just(("skip", 9)),
        st.integers(1, 20).map(lambda size: ("take", size)),
        st.integers(0, 30).map(lambda number: ("acknowledge", number)),
        st.just(("rewind", 0)),
    ),
    max_size=25,
)


@given(steps)
def test_every_frame_is_sent_in_order_again_and_again_until_it_is_acknowledged(
    plan: list[tuple[str, int | bytes]],
) -> None:
    kept, said, acknowledged, cursor = KeptFrames(), list[bytes](), 0, 0
    for step, value in plan:
        if isinstance(value, bytes):
            kept.add(value)
            said += value.splitlines(keepends=True)
        elif step == "skip":
            kept.add_oversized(value)
            said.append(b"skipped %d\n" % value)
        elif step == "take":
            record = kept.take(value)
            assert (record is None) == (cursor == len(said))
            if record is not None:
                assert record.first == cursor + 1
                cursor += b"".join(record.blocks).count(b"\n") or 1
        elif step == "acknowledge":
            # A hub knows of nothing that was not sent; but it may have been sent to the one before.
            value = min(value, max(cursor, acknowledged))
            kept.acknowledge(value)
            acknowledged = max(acknowledged, value)
            cursor = max(cursor, acknowledged)
        else:
            kept.rewind()
            cursor = acknowledged
    kept.rewind()
    assert kept.last == len(said)
    assert sent(kept) == list(enumerate(said, 1))[acknowledged:]
    kept.acknowledge(kept.last)
    assert kept.charge == 0
    assert not kept


def test_the_last_frame_of_a_stream_gets_the_newline_that_it_lacks() -> None:
    kept = KeptFrames()
    kept.add(b"one\ntwo")
    assert sent(kept) == [(1, b"one\n"), (2, b"two\n")]


def test_neighbouring_blocks_go_together_up_to_a_size() -> None:
    kept = KeptFrames()
    for _ in range(5):
        kept.add(b"123456789\n")
    records = [kept.take(30), kept.take(30), kept.take(30)]
    assert [(one.first, len(one.blocks)) for one in records if one is not None] == [(1, 3), (4, 2)]


def test_a_block_larger_than_the_size_goes_alone() -> None:
    kept = KeptFrames()
    kept.add(b"x" * 100 + b"\n")
    kept.add(b"y\n")
    record = kept.take(10)
    assert record is not None
    assert len(record.blocks) == 1


def test_a_new_hub_begins_in_the_middle_of_a_block() -> None:
    kept = KeptFrames()
    kept.add(b"one\ntwo\nthree\n")
    sent(kept)
    kept.acknowledge(2)
    kept.rewind()
    assert sent(kept) == [(3, b"three\n")]


def test_what_was_not_said_cannot_be_acknowledged() -> None:
    kept = KeptFrames()
    kept.add(b"one\n")
    kept.acknowledge(99)
    kept.add(b"two\n")
    assert sent(kept) == [(2, b"two\n")]


def test_small_entries_are_charged_for_what_they_cost() -> None:
    kept = KeptFrames()
    kept.add(b"\n")
    kept.add_oversized(10**9)
    assert kept.charge == 1 + 2 * ENTRY
