from __future__ import annotations

import asyncio
import os

import pytest

from dragoman.errors import LinkClosed
from dragoman.transport.contract import TransportLimits
from dragoman.transport.file_outlet import FileOutlet
from dragoman.transport.writer import FrameWriter, LoopWriter, ThreadWriter

LIMITS = TransportLimits(low=1000)


def make(kind: str, fd: int, broken: list[OSError]) -> FrameWriter:
    if kind == "thread":
        return ThreadWriter(fd, limits=LIMITS, on_broken=broken.append)
    return LoopWriter(FileOutlet(fd), limits=LIMITS, on_broken=broken.append)


async def read_all(fd: int) -> bytes:
    found = b""
    while chunk := await asyncio.to_thread(os.read, fd, 65536):
        found += chunk
    return found


@pytest.mark.parametrize("kind", ["loop", "thread"])
async def test_blocks_of_every_kind_go_out_in_order(kind: str) -> None:
    read, write = os.pipe()
    writer = make(kind, write, [])
    blocks: list[bytes | bytearray | memoryview] = [
        b"a" * 300_000,
        bytearray(b"b" * 10),
        memoryview(b"c" * 200_000),
        b"",
        b"d",
    ]
    for block in blocks:
        writer.write(block)
    reading = asyncio.ensure_future(read_all(read))
    await writer.drain(0)
    assert writer.pending == 0
    writer.write(b"e")
    await writer.drain(0)
    writer.close()
    assert await reading == b"".join(map(bytes, [*blocks, b"e"]))
    os.close(read)


@pytest.mark.parametrize("kind", ["loop", "thread"])
async def test_a_reader_that_goes_is_told_once_and_nothing_stays_pending(kind: str) -> None:
    read, write = os.pipe()
    broken: list[OSError] = []
    writer = make(kind, write, broken)
    writer.write(b"x" * 300_000)
    assert writer.pending > 0
    os.close(read)
    with pytest.raises(LinkClosed, match="no longer reads"):
        await writer.drain(0)
    with pytest.raises(LinkClosed):
        writer.write(b"y")
    assert writer.pending == 0
    assert len(broken) == 1
    writer.close()


@pytest.mark.parametrize("kind", ["loop", "thread"])
async def test_closing_twice_closes_once(kind: str) -> None:
    read, write = os.pipe()
    writer = make(kind, write, [])
    writer.close()
    other = os.open(os.devnull, os.O_RDONLY)  # takes the number that was just closed
    writer.close()
    os.close(other)
    os.close(read)
    with pytest.raises(LinkClosed):
        await writer.drain(0)


async def test_a_large_block_is_kept_without_a_copy() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    writer = LoopWriter(FileOutlet(write), limits=LIMITS, on_broken=lambda _: None)
    block = b"x" * 1_000_000
    writer.write(block)
    assert writer._head.obj is block
    writer.close()
    os.close(read)
