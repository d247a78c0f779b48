from __future__ import annotations

import asyncio
import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.testing.transports import SinkRecorder
from dragoman.transport.reader import Frames, LoopReader, ThreadReader, open_reader


def recorded(heard: SinkRecorder) -> Frames:
    return Frames(heard, limit=1000)


async def test_a_pipe_is_watched_and_a_file_is_read_by_a_thread() -> None:
    heard = SinkRecorder()
    read, write = os.pipe()
    over = asyncio.Event()
    watched = open_reader(read, intake=recorded(heard), on_end=lambda _: over.set())
    threaded = open_reader(
        os.open(os.devnull, os.O_RDONLY), intake=recorded(heard), on_end=lambda _: over.set()
    )
    assert isinstance(watched, LoopReader)
    assert isinstance(threaded, ThreadReader)
    await over.wait()
    watched.close()
    os.close(write)


@given(st.lists(st.binary(max_size=50)))
async def test_however_the_chunks_are_cut_the_frames_are_the_same(chunks: list[bytes]) -> None:
    heard = SinkRecorder()
    frames = recorded(heard)
    for chunk in chunks:
        frames.feed(chunk)
    frames.finish()
    assert heard.stream == b"".join(chunks).removeprefix(b"\xef\xbb\xbf")
    assert all(block.endswith(b"\n") for block in heard.blocks[:-1])
    assert heard.faults == []


async def test_a_closed_reader_says_nothing_more() -> None:
    heard = SinkRecorder()
    read, write = os.pipe()
    reader = open_reader(read, intake=recorded(heard), on_end=heard.on_end)
    os.write(write, b"1\n")
    reader.close()
    reader.close()
    reader.resume()
    reader.pause()
    os.close(write)
    for _ in range(5):
        await asyncio.sleep(0)
    assert (heard.blocks, heard.endings) == ([], [])


async def test_a_thread_tells_of_a_failing_read() -> None:
    read, write = os.pipe()
    told: asyncio.Future[OSError | None] = asyncio.get_running_loop().create_future()
    ThreadReader(
        write, intake=recorded(SinkRecorder()), on_end=told.set_result
    )  # the end that cannot be read
    assert isinstance(await told, OSError)
    os.close(read)


async def test_a_thread_in_a_read_that_never_returns_is_left_behind() -> None:
    read, write = os.pipe()
    heard = SinkRecorder()
    reader = ThreadReader(read, intake=recorded(heard), on_end=heard.on_end)
    reader.close()
    os.write(write, b"too late\n")
    os.close(write)
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert (heard.blocks, heard.endings) == ([], [])


class Overwhelmed:
    """Takes what it gets as somebody without memory does."""

    def feed(self, chunk: bytes) -> None:
        raise MemoryError

    def finish(self) -> None:
        raise AssertionError("there is nothing left to finish")


@pytest.mark.parametrize("kind", [LoopReader, ThreadReader])
async def test_who_has_no_memory_for_what_was_read_hears_of_an_end(
    kind: type[LoopReader] | type[ThreadReader],
) -> None:
    read, write = os.pipe()
    ended: asyncio.Future[OSError | None] = asyncio.get_running_loop().create_future()
    kind(read, intake=Overwhelmed(), on_end=ended.set_result)
    os.write(write, b"1\n")
    error = await ended
    os.close(write)
    assert error is not None
    assert error.errno == errno.ENOMEM
