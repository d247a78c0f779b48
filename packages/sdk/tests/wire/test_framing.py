import re
import resource
import time
import tracemalloc
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.testing.pace import patience
from dragoman.wire import DEFAULT_LIMIT, LineFramer
from dragoman.wire.framing import BYTE_ORDER_MARK, MEBIBYTE
from tests.crash_points import kill_at
from tests.every import every

pieces = st.sampled_from(
    [b"\n", b"\r\n", b"\n\n", b"a", b"{}", b"0123456789", BYTE_ORDER_MARK, b"\xef", b"\xbb", b"\xbf", b"\x00"]
)
streams = st.lists(pieces, max_size=24).map(b"".join)


def expected(stream: bytes, limit: int) -> tuple[bytes, list[int]]:
    """The same thing, said with the whole stream in hand."""
    *lines, rest = stream.removeprefix(BYTE_ORDER_MARK).split(b"\n")
    kept = b"".join(line + b"\n" for line in lines if len(line) <= limit)
    skipped = [len(line) for line in (*lines, rest) if len(line) > limit]
    return kept + (rest if len(rest) <= limit else b""), skipped


def run(framer: LineFramer, *chunks: bytes) -> tuple[bytes, list[int]]:
    blocks = [framer.feed(chunk) for chunk in chunks]
    assert all(block.endswith(b"\n") for block in blocks if block)
    return b"".join(blocks) + framer.finish(), framer.take_skipped()


@given(stream=streams, limit=st.integers(0, 12) | st.just(DEFAULT_LIMIT), data=st.data())
def test_chunking_never_changes_the_lines_nor_the_reported_sizes(
    stream: bytes, limit: int, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert run(LineFramer(limit), *chunks) == expected(stream, limit)


@given(stream=streams, limit=st.integers(0, 12))
@example(stream=BYTE_ORDER_MARK + b"0123456789\n{}\n", limit=10)
@example(stream=BYTE_ORDER_MARK + b"0123456789A\n" + BYTE_ORDER_MARK + b"{}\n", limit=10)
@example(stream=b"\xef\xbb", limit=1)
def test_one_byte_at_a_time_is_as_good_as_all_at_once(stream: bytes, limit: int) -> None:  # FRM-04
    assert run(LineFramer(limit), *(stream[i : i + 1] for i in range(len(stream)))) == expected(stream, limit)


def test_a_block_holds_every_line_that_is_complete_and_no_more() -> None:
    framer = LineFramer()
    assert framer.feed(b"a\nb\nc") == b"a\nb\n"
    assert framer.feed(b"d") == b""
    assert framer.feed(b"\ne\n") == b"cd\ne\n"


def test_a_line_held_open_is_completed_by_what_comes_much_later() -> None:  # FRM-17
    framer = LineFramer()
    assert [framer.feed(chunk) for chunk in (b'{"a"', b"", b"", b":1}", b"")] == [b""] * 5
    assert framer.feed(b"\n") == b'{"a":1}\n'


def test_line_ends_and_blank_lines_are_passed_on_as_they_are() -> None:  # FRM-01, FRM-02
    stream = b"\n\r\n  \n{}\r\n\n\t\n"
    assert LineFramer().feed(stream) == stream


def test_other_line_separators_are_text() -> None:  # FRM-20
    stream = "a\u2028b\u2029c\u0085d\x0be\x0cf\rg\n".encode()
    assert LineFramer().feed(stream) == stream


# The byte order mark (FRM-07).


@every("cut", [1, 2, 3, 4])
@every("limit", [1, 2, DEFAULT_LIMIT])
def test_a_mark_at_the_start_is_dropped_wherever_it_is_cut(cut: int, limit: int) -> None:
    stream = BYTE_ORDER_MARK + b"7\n"
    assert run(LineFramer(limit), stream[:cut], stream[cut:]) == (b"7\n", [])


def test_a_mark_does_not_count_towards_the_size_of_its_line() -> None:
    assert run(LineFramer(4), BYTE_ORDER_MARK + b"1234", b"\n") == (b"1234\n", [])
    assert run(LineFramer(4), BYTE_ORDER_MARK + b"12345", b"\n") == (b"", [5])


@every("first", [b"a\n", b"\n", b"a", b"12345\n"])
def test_a_mark_anywhere_else_is_left_alone(first: bytes) -> None:
    lines, _ = run(LineFramer(4), first, BYTE_ORDER_MARK + b"\n")
    assert lines.endswith(BYTE_ORDER_MARK + b"\n")


def test_half_a_mark_at_the_end_of_the_stream_is_a_line() -> None:
    assert run(LineFramer(), b"\xef", b"\xbb") == (b"\xef\xbb", [])


# Lines above the limit (FRM-16).


@every("size", [63, 64, 65, 66, 200])
@every("chunk", [1, 7, 64, 65, 1000])
def test_reading_goes_on_behind_an_oversized_line(size: int, chunk: int) -> None:
    stream = b"before\n" + b"x" * size + b"\nafter\n"
    lines, skipped = run(LineFramer(64), *(stream[i : i + chunk] for i in range(0, len(stream), chunk)))
    assert lines == (stream if size <= 64 else b"before\nafter\n")
    assert skipped == ([] if size <= 64 else [size])


def test_several_oversized_lines_in_one_chunk_are_reported_one_by_one() -> None:
    assert run(LineFramer(3), b"1234\nok\n12345\n\n123456") == (b"ok\n\n", [4, 5, 6])


def test_an_oversized_line_is_reported_when_it_ends_and_only_once() -> None:
    framer = LineFramer(3)
    framer.feed(b"1234")
    assert framer.take_skipped() == []
    assert framer.feed(b"56\nok\n") == b"ok\n"
    assert framer.take_skipped() == [6]
    assert framer.take_skipped() == []


def test_a_block_larger_than_the_limit_made_of_small_lines_is_kept() -> None:
    assert run(LineFramer(4), b"1234\n" * 100) == (b"1234\n" * 100, [])


def test_an_endless_line_is_never_held() -> None:
    framer, chunk = LineFramer(MEBIBYTE), b"x" * 65_536
    tracemalloc.start()
    try:
        for _ in range(4096):
            assert framer.feed(chunk) == b""
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * MEBIBYTE
    assert framer.feed(b"\n{}\n") == b"{}\n"
    assert framer.take_skipped() == [4096 * 65_536]


# What a long line costs.


def test_a_long_line_costs_time_in_proportion_to_its_length() -> None:
    framer, chunk = LineFramer(), b"x" * 2048
    start = time.process_time()
    for _ in range(8192):
        framer.feed(chunk)
    line = framer.feed(b"\n")
    assert len(line) == 8192 * 2048 + 1
    # It takes some ten milliseconds; copying the line with every chunk would take more than ten seconds.
    assert time.process_time() - start < patience(2)


def test_a_line_in_tiny_chunks_costs_memory_in_proportion_to_its_length() -> None:
    framer, size = LineFramer(), 65_536
    stream = bytes(range(32, 96)) * (size // 64)
    tracemalloc.start()
    try:
        for start in range(0, size, 2):
            framer.feed(stream[start : start + 2])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert framer.feed(b"\n") == stream + b"\n"
    assert peak < 4 * size


# The end of the stream.


def test_the_last_line_may_lack_its_newline() -> None:
    framer = LineFramer()
    assert framer.feed(b"a\nb") == b"a\n"
    assert framer.finish() == b"b"
    assert framer.finish() == b""


def test_nothing_is_left_when_the_last_line_had_its_newline() -> None:
    framer = LineFramer()
    framer.feed(b"a\n")
    assert framer.finish() == b""


def test_an_oversized_line_that_never_ended_is_reported_at_the_end() -> None:
    framer = LineFramer(3)
    framer.feed(b"12345")
    framer.feed(b"678")
    assert framer.finish() == b""
    assert framer.take_skipped() == [8]
    assert framer.finish() == b""
    assert framer.take_skipped() == []


def test_the_usual_limit_lets_a_hundred_megabytes_through_and_not_much_more() -> None:
    assert LineFramer().limit == DEFAULT_LIMIT
    assert 100_000_000 < DEFAULT_LIMIT < 128 * MEBIBYTE


def test_a_line_for_which_there_is_no_memory_is_dropped_and_the_next_one_is_read() -> None:
    def feed_with_little_memory() -> None:
        status = Path("/proc/self/status").read_text()
        size = int(re.findall(r"VmSize:\s+(\d+) kB", status)[0]) * 1024
        resource.setrlimit(resource.RLIMIT_AS, (size + 20 * MEBIBYTE, resource.RLIM_INFINITY))
        framer, chunk = LineFramer(), b"x" * 65536
        for _ in range(40 * MEBIBYTE // len(chunk)):
            assert framer.feed(chunk) == b""
        assert framer.feed(b"\n{}\n") == b"{}\n"
        assert framer.take_skipped() == [40 * MEBIBYTE]
        for _ in range(12 * MEBIBYTE // len(chunk)):  # it fits, but not what would become of it
            assert framer.feed(chunk) == b""
        assert framer.feed(b"y\n[]\n{}") == b"[]\n"
        assert framer.take_skipped() == [12 * MEBIBYTE + 1]
        assert framer.finish() == b"{}"

    assert not kill_at(0, feed_with_little_memory)
