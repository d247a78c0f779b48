"""What the machine itself takes for an update at the pace of people, whatever program stores it.

Each step is done once in `GAP` seconds, so that the processor's caches have gone cold as they have in a hub:
8 KB written and forced to the disk, one row committed by SQLite with its write-ahead log, and 200 bytes
passed on by asyncio from one socket to another.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

GAP = 0.02
SYNC_BYTES, PASSED_BYTES = 8 * 1024, 200


async def measure_floor(folder: Path, count: int) -> dict[str, float]:
    """CPU microseconds of each step, the mean of `count`."""
    return {
        "sync_us": await _measure_sync(folder / "sync", count),
        "commit_us": await _measure_commit(folder / "commit.db", count),
        "pass_us": await _measure_pass(count),
    }


async def _measure_sync(path: Path, count: int) -> float:
    fd = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:

        async def step() -> None:
            os.pwrite(fd, os.urandom(SYNC_BYTES), 0)
            os.fdatasync(fd)

        return await _mean(step, count)
    finally:
        os.close(fd)


async def _measure_commit(path: Path, count: int) -> float:
    base = sqlite3.connect(path, isolation_level=None)
    try:
        base.execute("pragma journal_mode = wal")
        base.execute("pragma synchronous = full")
        base.execute("create table entries (number integer primary key, frame blob)")

        async def step() -> None:
            base.execute("begin immediate")
            base.execute("insert into entries (frame) values (?)", (bytes(PASSED_BYTES),))
            base.execute("commit")

        return await _mean(step, count)
    finally:
        base.close()


async def _measure_pass(count: int) -> float:
    """From one pair of sockets to another, by a reader and a writer of asyncio."""
    near, first = socket.socketpair()
    second, far = socket.socketpair()
    far.setblocking(False)
    near.setblocking(False)
    reader, first_writer = await asyncio.open_connection(sock=first)
    _, writer = await asyncio.open_connection(sock=second)
    loop = asyncio.get_running_loop()

    async def step() -> None:
        near.send(bytes(PASSED_BYTES))
        writer.write(await reader.readexactly(PASSED_BYTES))
        await loop.sock_recv(far, PASSED_BYTES)

    try:
        return await _mean(step, count)
    finally:
        for closing in (first_writer, writer):
            closing.close()
        near.close()
        far.close()


async def _mean(step: Callable[[], Awaitable[None]], count: int) -> float:
    used = 0.0
    for _ in range(count):
        await asyncio.sleep(GAP)
        before = time.process_time()
        await step()
        used += time.process_time() - before
    return used / count * 1e6
