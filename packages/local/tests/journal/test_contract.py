"""Every journal of ours keeps every promise, and the check notices one that does not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

from dragoman_local.contracts import check_journal
from dragoman_local.journal import Durability, Entry, Journal, MemoryJournal, StreamInfo, open_journal


@pytest.mark.bound(40)
@pytest.mark.in_turn("durability")
@pytest.mark.parametrize("durability", ["full", "normal", "off"])
async def test_the_journal_on_disk_keeps_its_promises(tmp_path: Path, durability: Durability) -> None:
    names = count()
    await check_journal(lambda: open_journal(tmp_path / f"{next(names)}.db", durability=durability))


async def test_the_journal_in_memory_keeps_its_promises() -> None:
    await check_journal(MemoryJournal)


class Forgetful(MemoryJournal):
    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        return await super().append(stream, entries[:-1] or entries, after=after)


class Vague(MemoryJournal):
    async def info(self, stream: str) -> StreamInfo | None:
        return await super().info(stream) or StreamInfo(stream=stream)


class Unfenced(MemoryJournal):
    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        return await super().append(stream, entries)


@pytest.mark.parametrize(
    ("kind", "broken"),
    [(Forgetful, "What was appended"), (Vague, "A stream that is not"), (Unfenced, "`after` refuses")],
)
async def test_a_journal_that_breaks_a_promise_is_told_which(kind: type[MemoryJournal], broken: str) -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[Journal]:
        yield kind()

    with pytest.raises(AssertionError, match=broken):
        await check_journal(make)
