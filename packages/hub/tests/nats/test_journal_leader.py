"""A server that leads is killed while many append: a pause, and nothing that was acknowledged is lost,
doubled or out of order.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.errors import JournalError
from dragoman_local.journal import Entry, Journal
from tests.nats.places import opened
from tests.nats_servers import started

STREAMS = 8


class Writer:
    """Appends one entry after the other, and remembers what was acknowledged and how long each took."""

    def __init__(self, journal: Journal, stream: str) -> None:
        self._journal = journal
        self.stream = stream
        self.acknowledged: list[tuple[int, bytes]] = []
        self.longest = 0.0
        self.stop, self.grown = asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        number = 0
        while not self.stop.is_set():
            number += 1
            frame = b"%d" % number
            began = time.monotonic()
            last = await self._append(number, frame)
            self.longest = max(self.longest, time.monotonic() - began)
            self.acknowledged.append((last, frame))
            self.grown.set()
            await asyncio.sleep(0.005)

    async def _append(self, number: int, frame: bytes) -> int:
        """On a machine that is slow beyond all patience an append may end in doubt: then one looks."""
        while True:
            try:
                return await self._journal.append(self.stream, [Entry("note", frame, 1.0)])
            except JournalError:
                info = await self._journal.info(self.stream)
                if info is not None and info.last == number:
                    return number

    async def until(self, count: int) -> None:
        while len(self.acknowledged) < count:
            self.grown.clear()
            await self.grown.wait()


async def grown(writers: list[Writer], by: int) -> None:
    wanted = [len(writer.acknowledged) + by for writer in writers]
    for writer, count in zip(writers, wanted, strict=True):
        await writer.until(count)


@pytest.mark.bound(100)
@pytest.mark.timeout(150)
async def test_a_leader_that_is_killed_costs_a_pause_and_no_entry(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with started(tmp_path, count=3) as servers:
        async with opened(servers, "t", query="shards=1") as place, opened(servers, "t") as other:
            writers = [Writer(place.journal, f"s{n}") for n in range(STREAMS)]
            async with asyncio.TaskGroup() as tasks:
                for writer in writers:
                    tasks.create_task(writer.run())
                await grown(writers, 20)
                leader = await asyncio.to_thread(servers.leader, "t_j0")
                assert leader is not None
                servers.kill(leader)
                await grown(writers, 20)
                for writer in writers:
                    writer.stop.set()
            for writer in writers:
                stored = [page async for page in other.journal.replay(writer.stream)]
                entries = [(entry.sequence, entry.frame) for page in stored for entry in page]
                assert entries == writer.acknowledged
                info = await other.journal.info(writer.stream)
                assert info is not None
                assert info.last == len(entries)
        # Twelve seconds is what a machine with time needs; `make bench-cluster` holds it to that.
        record_property("pause", max(writer.longest for writer in writers))
