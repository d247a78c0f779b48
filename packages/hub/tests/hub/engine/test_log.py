"""What a session stores at once is bounded in entries and bytes, whatever gathers meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from dragoman_hub.engine.log import AT_ONCE_BYTES, EntryLog
from dragoman_hub.engine.log_round import LogRound
from dragoman_hub.engine.ownership import SoleOwnership
from dragoman_hub.session.events import NewEntry
from dragoman_local.journal import Entry
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.engine.stream_session import StreamSession
from tests.journal.streams import replayed


class CountingJournal(MemoryJournal):
    def __init__(self) -> None:
        super().__init__()
        self.appends: list[int] = []

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        self.appends.append(sum(len(entry.frame) for entry in entries))
        return await super().append(stream, entries, after=after)


async def test_one_append_holds_no_more_than_its_bytes_and_the_entry_that_reaches_them() -> None:
    journal, session = CountingJournal(), StreamSession()
    unstored = session.bounds.entries
    log = EntryLog(journal, session, ownership=SoleOwnership(), last=0, log_round=LogRound())
    size = AT_ONCE_BYTES * 2 // 3
    for _ in range(10):
        log.add([NewEntry("to_agent", (b"x" * size,), 1.0)])
    assert unstored.held_bytes == 10 * size
    await log.flush(20)
    assert journal.appends == [2 * size] * 5
    assert unstored.held_bytes == 0
    await log.aclose()


class LeaseOfANode(SoleOwnership):
    """That of a node which was paused for so long that others may have its sessions."""

    def __init__(self) -> None:
        self.is_regained = asyncio.Event()

    async def may_act(self) -> None:
        await self.is_regained.wait()


async def test_nothing_is_appended_while_the_session_may_be_another_nodes() -> None:
    """Another node may have deleted the session and loaded it again, with as many entries as we know."""
    journal, lease = CountingJournal(), LeaseOfANode()
    log = EntryLog(journal, StreamSession(), ownership=lease, last=0, log_round=LogRound())
    log.add([NewEntry("to_agent", (b"{}",), 1.0)])
    for _ in range(20):
        await asyncio.sleep(0)
    assert journal.appends == []
    lease.is_regained.set()
    await log.flush(20)
    assert journal.appends == [2]
    await log.aclose()


async def test_requests_that_a_policy_decides_on_are_stored_a_few_at_a_time() -> None:
    journal, session = CountingJournal(), StreamSession()
    log = EntryLog(journal, session, ownership=SoleOwnership(), last=0, log_round=LogRound())
    for _ in range(100):
        log.add([NewEntry("to_client", (b"{}",), 1.0, pending=True)])
    await log.flush(20)
    assert session.stored == list(range(1, 101))
    assert max(journal.appends) == 2 * 32
    await log.aclose()


async def test_updates_that_wait_together_have_the_moment_of_the_first() -> None:
    journal = MemoryJournal()
    log = EntryLog(journal, StreamSession(), ownership=SoleOwnership(), last=0, log_round=LogRound())
    for number, time in enumerate((1.0, 1.04, 1.06, 1.07, 2.0)):
        log.add([NewEntry("to_client", (b'{"n":%d}' % number, b"{}"), time)])
    await log.flush(20)
    stored = await replayed(journal, "s")
    assert [entry.frame for entry in stored[::2]] == [b'{"n":%d}' % number for number in range(5)]
    assert [entry.time for entry in stored[::2]] == [1.0, 1.0, 1.06, 1.06, 2.0]
    await log.aclose()
