"""A session's log: in order, bounded, and honest about what could not be stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from dragoman.errors import ErrorAnswer, JournalFull
from dragoman_local.journal import Entry, Journal, MemoryJournal, open_journal
from dragoman_local.kit import log as log_module
from dragoman_local.kit.log import KitJournal
from tests.kit.kit_agents import chatting, listening


async def stored(journal: Journal) -> list[bytes]:
    return [entry.frame async for page in journal.replay("s") for entry in page]


class Narrow(MemoryJournal):
    """A journal that has no room while it is `full`, and waits while it is `slow`."""

    def __init__(self) -> None:
        super().__init__()
        self.full = False
        self.fast = asyncio.Event()
        self.fast.set()

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        await self.fast.wait()
        if self.full:
            raise JournalFull("/some/place: no room is left for the journal")
        return await super().append(stream, entries, after=after)


async def test_what_is_added_is_stored_in_order(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "s.db") as journal:
        log = KitJournal(journal, "s", last=0)
        frames = [str(number).encode() for number in range(500)]
        for frame in frames:
            log.add("to_client", frame)
            if frame.endswith(b"7"):
                await asyncio.sleep(0)
        await log.flush()
        assert await stored(journal) == frames
        assert log.last == 500


async def test_a_full_disk_is_told_without_the_place_and_what_was_said_is_stored_when_there_is_room() -> None:
    journal = Narrow()
    log = KitJournal(journal, "s", last=0)
    journal.full = True
    log.add("to_client", b"one")
    for _ in range(2):
        with pytest.raises(ErrorAnswer, match="no room is left") as caught:
            await log.flush()
        assert caught.value.code == -32603
        assert "/some/place" not in caught.value.message
    log.add("to_client", b"two")
    journal.full = False
    await log.flush()
    assert await stored(journal) == [b"one", b"two"]


async def test_who_speaks_faster_than_the_disk_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "WAITING_BYTES", 10)
    journal = Narrow()
    log = KitJournal(journal, "s", last=0)
    journal.fast.clear()
    log.add("to_client", b"twelve bytes")
    assert log.is_full
    waiting = asyncio.ensure_future(log.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    journal.fast.set()
    await waiting
    assert not log.is_full


async def test_a_stream_that_moved_is_over_here_for_good() -> None:
    journal = MemoryJournal()
    log = KitJournal(journal, "s", last=await journal.append("s", [Entry("note", b"a", 0)]))
    await journal.append("s", [Entry("note", b"b", 0)])
    for frame in (b"c", b"d"):
        log.add("to_client", frame)
        log.describe(title="new")
        with pytest.raises(ErrorAnswer, match="opened elsewhere"):
            await log.flush()
    assert await stored(journal) == [b"a", b"b"]
    assert (info := await journal.info("s"))
    assert info.title == ""


async def test_a_flush_that_nobody_waits_for_is_carried_out() -> None:
    journal = Narrow()
    log = KitJournal(journal, "s", last=0)
    journal.fast.clear()
    log.add("to_client", b"one")
    flushing = asyncio.ensure_future(log.flush())
    await asyncio.sleep(0)
    flushing.cancel()
    await asyncio.wait([flushing])
    journal.fast.set()
    await log.flush()
    assert await stored(journal) == [b"one"]


async def test_a_turn_that_cannot_be_stored_is_not_answered_as_if_it_were() -> None:
    journal = Narrow()
    agent, kit = chatting(journal)

    @kit.command("fill", "Fills the disk")
    async def fill(turn: object, argument: str) -> None:
        journal.full = True

    async with listening(agent) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        with pytest.raises(Exception, match="could not be stored"):
            await session.prompt("/fill")
        journal.full = False
        assert (await session.prompt("again")).text == "1: again"


async def test_what_is_said_is_sent_only_when_it_is_stored() -> None:
    journal = Narrow()
    log = KitJournal(journal, "s", last=0)
    sent: list[bytes] = []
    log.send = sent.append
    journal.fast.clear()
    log.add_update(b"one")
    log.add("note", b"not for the client")
    catching_up = asyncio.ensure_future(log.catch_up())
    await asyncio.sleep(0)
    log.add_update(b"two")  # behind the group that is being stored
    assert sent == []
    journal.fast.set()
    await catching_up
    assert b"".join(sent).startswith(b"one\n")
    await log.flush()
    assert b"".join(sent) == b"one\ntwo\n"
    assert await stored(journal) == [b"one", b"not for the client", b"two"]


async def test_what_cannot_be_stored_is_not_sent_until_it_is() -> None:
    journal = Narrow()
    log = KitJournal(journal, "s", last=0)
    sent: list[bytes] = []
    log.send = sent.append
    journal.full = True
    log.add_update(b"one")
    with pytest.raises(ErrorAnswer, match="no room is left"):
        await log.catch_up()
    log.add_update(b"two")
    assert sent == []
    journal.full = False
    await log.flush()
    assert b"".join(sent) == b"one\ntwo\n"


async def test_small_entries_are_counted_with_what_they_cost_in_memory() -> None:
    journal = MemoryJournal()
    log = KitJournal(journal, "s", last=0)
    for _ in range(5000):
        log.add("note", b"0123456789")
    assert log.is_full, "50 kB of frames take more than a megabyte while they wait"
    await log.flush()
    assert not log.is_full
