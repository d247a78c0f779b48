"""What is special about descriptors; what holds for every transport is tried in
packages/sdk/tests/testing/test_transports.py.
"""

from __future__ import annotations

import asyncio
import os
import pty
import select
import socket
import termios
import time
import tty
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman.errors import LinkClosed
from dragoman.testing.pace import patience
from dragoman.testing.transports import SinkRecorder
from dragoman.transport.contract import TransportLimits
from dragoman.transport.pipe import PipeTransport

BRIEF = TransportLimits(flush=0.2)


class Loose:
    """A transport whose other ends are bare descriptors in the test's hand."""

    def __init__(self, limits: TransportLimits = BRIEF) -> None:
        read, self.give = os.pipe()
        self.take, write = os.pipe()
        self.transport = PipeTransport(read, write, limits=limits)
        self.heard = SinkRecorder()

    def close(self, *names: str) -> None:
        for name in names or ("give", "take"):
            if getattr(self, name) >= 0:
                os.close(getattr(self, name))
                setattr(self, name, -1)


@asynccontextmanager
async def loose(limits: TransportLimits = BRIEF) -> AsyncIterator[Loose]:
    ends = Loose(limits)
    ends.transport.start(ends.heard)
    try:
        yield ends
    finally:
        await ends.transport.aclose()
        ends.close()
        assert ends.heard.faults == []
        assert len(ends.heard.endings) == 1


async def test_a_frame_in_one_byte_writes_is_fed_once_and_whole() -> None:
    async with loose() as ends:
        for byte in b'{"id":1}\n{"id"':
            os.write(ends.give, bytes([byte]))
            await asyncio.sleep(0)
        await ends.heard.until_size(9)
        assert ends.heard.blocks == [b'{"id":1}\n']


async def test_a_last_frame_without_newline_is_fed_at_the_end() -> None:
    async with loose() as ends:
        os.write(ends.give, b"whole\nhalf")
        ends.close("give")
        await ends.heard.until_ended()
        assert ends.heard.blocks == [b"whole\n", b"half"]
        assert ends.heard.endings == [None]


async def test_after_the_end_of_what_is_read_answers_can_still_be_written() -> None:
    async with loose() as ends:
        ends.close("give")
        await ends.heard.until_ended()
        ends.transport.write(b"answer\n")
        assert os.read(ends.take, 100) == b"answer\n"


async def test_a_small_block_is_handed_to_the_system_at_once() -> None:
    async with loose() as ends:
        ends.transport.write(b"now\n")
        assert ends.transport.pending == 0
        assert os.read(ends.take, 100) == b"now\n"


async def test_a_peer_that_no_longer_reads_has_gone_but_its_last_words_count() -> None:
    async with loose() as ends:
        ends.close("take")
        os.write(ends.give, b"last words\n")
        with pytest.raises(LinkClosed, match="no longer reads"):
            ends.transport.write(b"hello?\n")
        await ends.heard.until_ended()
        assert ends.heard.stream == b"last words\n"
        assert isinstance(ends.heard.endings[0], LinkClosed)
        with pytest.raises(LinkClosed):
            await ends.transport.drain()


async def test_a_peer_that_goes_while_bytes_are_pending_wakes_those_who_wait() -> None:
    async with loose() as ends:
        ends.transport.write(b"x" * 1_000_000 + b"\n")
        assert ends.transport.pending > 0
        waiting = asyncio.ensure_future(ends.transport.drain())
        await asyncio.sleep(0)
        ends.close("take")
        with pytest.raises(LinkClosed):
            await waiting
        assert ends.transport.pending == 0


async def test_an_endless_line_is_dropped_while_it_arrives() -> None:
    async with loose(TransportLimits(frame=100_000, flush=0.2)) as ends:
        for _ in range(100):
            await asyncio.to_thread(os.write, ends.give, b"x" * 50_000)
        os.write(ends.give, b"\nnext\n")
        await ends.heard.until_size(5)
        assert ends.heard.stream == b"next\n"
        assert ends.heard.skipped_sizes == [5_000_000]


async def test_a_paused_transport_leaves_the_bytes_in_the_pipe() -> None:
    async with loose() as ends:
        ends.transport.pause()
        ends.heard.is_paused = True
        os.set_blocking(ends.give, False)
        while select.select([], [ends.give], [], 0)[1]:
            os.write(ends.give, b"x" * 4095 + b"\n")
            await asyncio.sleep(0)
            assert ends.transport.read_bytes == 0
        ends.heard.is_paused = False
        ends.transport.resume()
        await ends.heard.until_size(65536)


async def test_it_can_be_paused_before_it_starts() -> None:
    ends = Loose()
    ends.transport.pause()
    ends.heard.is_paused = True
    ends.transport.start(ends.heard)
    os.write(ends.give, b"1\n")
    for _ in range(5):
        await asyncio.sleep(0)
    ends.heard.is_paused = False
    ends.transport.resume()
    await ends.heard.until_size(2)
    await ends.transport.aclose()
    ends.close()
    assert ends.heard.faults == []


async def test_closed_before_it_starts_it_ends_when_it_starts() -> None:
    ends = Loose()
    await ends.transport.aclose()
    ends.transport.start(ends.heard)
    assert ends.heard.endings == [None]
    ends.close()


async def test_a_cancelled_close_lets_go_of_everything_at_once() -> None:
    before = len(os.listdir("/proc/self/fd"))
    ends = Loose(TransportLimits(flush=60))
    ends.transport.start(ends.heard)
    ends.transport.write(b"x" * 1_000_000)
    closing = asyncio.ensure_future(ends.transport.aclose())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait({closing})
    assert ends.heard.endings == [None]
    ends.close()
    assert len(os.listdir("/proc/self/fd")) == before


async def test_one_socket_serves_both_ways_and_keeps_its_blocking_mode() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        kept = ours.dup()
        fd = ours.detach()
        transport = PipeTransport(fd, fd, limits=TransportLimits(flush=0.1))
        transport.start(heard := SinkRecorder())
        theirs.send(b"ping\n")
        await heard.until_size(5)
        transport.write(b"x" * 5_000_000)
        assert transport.pending > 0, "a blocking socket would have blocked"
        with kept:
            assert kept.getblocking()
            await transport.aclose()


async def test_a_reset_connection_ends_with_a_reason() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with listener, socket.create_connection(listener.getsockname()) as theirs:
        ours, _ = listener.accept()
        fd = ours.detach()
        transport = PipeTransport(fd, fd)
        transport.start(heard := SinkRecorder())
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        theirs.close()
        await heard.until_ended()
        assert isinstance(heard.endings[0], LinkClosed)
        await transport.aclose()


async def test_a_terminal_works_and_its_hang_up_is_an_end() -> None:
    ours, theirs = pty.openpty()
    tty.setraw(theirs, termios.TCSANOW)
    transport = PipeTransport(os.dup(ours), ours)
    transport.start(heard := SinkRecorder())
    os.write(theirs, b"typed\n")
    await heard.until_size(6)
    transport.write(b"shown\n")
    assert os.read(theirs, 100) == b"shown\n"
    os.close(theirs)
    await heard.until_ended()
    await transport.aclose()


async def test_files_are_read_to_their_end_and_written_in_full(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"line\n" * 200_000)
    read = os.open(tmp_path / "in", os.O_RDONLY)
    write = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    transport = PipeTransport(read, write)
    transport.start(heard := SinkRecorder())
    await heard.until_ended()
    transport.write(heard.stream)
    assert transport.pending == 0
    await transport.aclose()
    assert (tmp_path / "out").read_bytes() == b"line\n" * 200_000
    assert heard.faults == []


async def test_a_file_is_read_no_faster_than_it_is_taken(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"line\n" * 1_000_000)
    read, write = os.open(tmp_path / "in", os.O_RDONLY), os.open(os.devnull, os.O_WRONLY)
    transport = PipeTransport(read, write)
    transport.start(heard := SinkRecorder())
    await heard.until_size(1)
    transport.pause()
    heard.is_paused = True
    so_far = heard.size
    await asyncio.sleep(0.1)  # time enough to read it all
    assert os.lseek(read, 0, os.SEEK_CUR) - so_far <= 6 * 65536
    heard.is_paused = False
    transport.resume()
    await heard.until_ended()
    await transport.aclose()
    assert heard.size == 5_000_000
    assert heard.faults == []


async def test_closing_in_the_middle_of_a_file_stops_its_thread(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    (tmp_path / "in").write_bytes(b"line\n" * 1_000_000)
    transport = PipeTransport(os.open(tmp_path / "in", os.O_RDONLY), os.open(os.devnull, os.O_WRONLY))
    transport.start(heard := SinkRecorder())
    await heard.until_size(1)
    await transport.aclose()
    assert heard.endings == [None]
    began = time.monotonic()
    while len(os.listdir("/proc/self/fd")) > before:
        assert time.monotonic() - began < patience(4), "the thread still holds the file"
        await asyncio.sleep(0.01)
