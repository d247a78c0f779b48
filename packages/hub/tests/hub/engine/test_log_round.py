"""Logs over a journal that calls them: what belongs together is stored together, once, and has its effect."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from dragoman.errors import JournalBusy, JournalError, JournalUncertain
from dragoman_hub.engine.log import AT_ONCE_BYTES, EntryLog
from dragoman_hub.engine.log_round import LogRound
from dragoman_hub.engine.ownership import SoleOwnership
from dragoman_hub.session.events import NewEntry
from dragoman_hub.session.notes import encode_receipt
from dragoman_local.journal import Entry, Journal, SqliteJournal
from dragoman_local.journal.entry_runs import EntryBatch, OnAppended
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.engine.stream_session import StreamSession
from tests.runtime.clock import virtually

pytestmark = pytest.mark.bound(30)  # it is the disk that takes its time, and others use it too


class CountingJournal(SqliteJournal):
    """Remembers how many entries each append had."""

    counts: list[int]

    def try_queue_append(self, stream: str, batch: EntryBatch, *, after: int, on_done: OnAppended) -> bool:
        self.counts.append(len(batch))
        return super().try_queue_append(stream, batch, after=after, on_done=on_done)


class HeldJournal(MemoryJournal):
    """Stores when it is told to, or fails."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[tuple[EntryBatch, int, OnAppended]] = []
        self.is_asked = asyncio.Event()
        self.waited: list[int] = []

    def try_queue_append(self, stream: str, batch: EntryBatch, *, after: int, on_done: OnAppended) -> bool:
        self.held.append((batch, after, on_done))
        self.is_asked.set()
        return True

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        self.waited.append(len(entries))
        return await super().append(stream, entries, after=after)

    async def go_on(self) -> None:
        batch, after, on_done = self.held.pop(0)
        on_done(await super().append("s", batch, after=after), None)

    def fail(self, error: BaseException) -> None:
        self.held.pop(0)[2](0, error)


def log_of(journal: Journal, session: StreamSession, log_round: LogRound | None = None) -> EntryLog:
    return EntryLog(journal, session, ownership=SoleOwnership(), last=0, log_round=log_round or LogRound())


def entry(text: bytes) -> NewEntry:
    return NewEntry("to_agent", (text,), 1.0)


async def test_what_is_added_in_one_turn_of_the_loop_is_one_append(tmp_path: Path) -> None:
    journal = CountingJournal(tmp_path / "j.db")
    journal.counts = []
    async with journal:
        session = StreamSession()
        log = log_of(journal, session)
        for text in (b"1", b"2", b"3"):
            log.add([entry(text)])
        assert journal.counts == []
        await log.flush(20)
        assert journal.counts == [3]
        assert session.stored == [1, 2, 3]
        await log.aclose()


async def test_a_round_that_is_held_stores_as_soon_as_it_is_let_go() -> None:
    journal, log_round = HeldJournal(), LogRound()
    log = log_of(journal, StreamSession(), log_round)
    with log_round:
        log.add([entry(b"1")])
        with log_round:
            log.add([entry(b"2")])
        assert journal.held == []
        log.add([entry(b"3")])
    assert [len(batch) for batch, _, _ in journal.held] == [3]
    await log.aclose()


async def test_a_round_goes_on_behind_somebody_who_fails_while_it_is_held() -> None:
    journal, log_round = HeldJournal(), LogRound()
    log = log_of(journal, StreamSession(), log_round)

    def fail() -> None:
        with log_round:
            log.add([entry(b"1")])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(journal.held) == 1
    await log.aclose()


async def test_what_gathers_meanwhile_is_the_next_append() -> None:
    journal, session, log_round = HeldJournal(), StreamSession(), LogRound()
    log = log_of(journal, session, log_round)
    with log_round:
        log.add([entry(b"1")])
    for text in (b"2", b"3"):
        log.add([entry(text)])
        await asyncio.sleep(0)
    assert len(journal.held) == 1
    await journal.go_on()
    assert [(len(batch), after) for batch, after, _ in journal.held] == [(2, 1)]
    await journal.go_on()
    assert session.stored == [1, 2, 3]
    assert log.is_idle
    await log.aclose()


class AddingSession(StreamSession):
    """What it stores has something else to be stored in its wake."""

    log: EntryLog

    def on_stored(self, first: int, runs: Sequence[object]) -> None:
        self.stored.append(first)
        if first == 1:
            self.log.add([entry(b"2")])


async def test_what_is_added_because_of_what_is_stored_is_appended_once() -> None:
    journal, session, log_round = HeldJournal(), AddingSession(), LogRound()
    session.log = log = log_of(journal, session, log_round)
    with log_round:
        log.add([entry(b"1")])
    await journal.go_on()
    for _ in range(3):
        await asyncio.sleep(0)
    assert [(len(batch), after) for batch, after, _ in journal.held] == [(1, 1)]
    await journal.go_on()
    assert session.stored == [1, 2]
    await log.aclose()


async def test_what_is_refused_has_no_effect_and_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman_hub.engine.log.AGAIN_SECONDS", 0.0)
    journal, session, log_round = HeldJournal(), StreamSession(tries_again=True), LogRound()
    log = log_of(journal, session, log_round)
    with log_round:
        log.add([entry(b"1")])
    journal.fail(JournalBusy("another process is using the journal"))
    assert session.stored == []
    journal.is_asked.clear()
    async with asyncio.timeout(20):
        await journal.is_asked.wait()
    await journal.go_on()
    assert session.stored == [1]
    await log.aclose()


async def test_behind_an_append_of_which_nobody_knows_the_journal_is_asked_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dragoman_hub.engine.log.AGAIN_SECONDS", 0.0)
    journal, session, log_round = HeldJournal(), StreamSession(tries_again=True), LogRound()
    log = log_of(journal, session, log_round)
    with log_round:
        log.add([entry(b"1")])
    await MemoryJournal.append(journal, "s", journal.held[0][0], after=0)
    journal.fail(JournalUncertain("nobody answered in time"))
    await log.flush(20)
    assert session.stored == [1]
    assert (journal.held, journal.waited) == ([], [])
    await log.aclose()


async def test_what_is_stored_behind_the_logs_end_has_no_effect() -> None:
    journal, session, log_round = HeldJournal(), StreamSession(), LogRound()
    log = log_of(journal, session, log_round)
    with log_round:
        log.add([entry(b"1")])
    await log.aclose()
    await journal.go_on()
    assert session.stored == []
    with pytest.raises(JournalError, match="closed before"):
        await log.flush(20)


class SharedOwnership(SoleOwnership):
    is_shared = True


async def test_where_others_may_have_the_session_that_is_asked_before_each_append() -> None:
    journal, session = HeldJournal(), StreamSession()
    log = EntryLog(journal, session, ownership=SharedOwnership(), last=0, log_round=LogRound())
    log.add([entry(b"1")])
    await log.flush(20)
    assert (journal.held, journal.waited) == ([], [1])
    assert session.stored == [1]
    await log.aclose()


def update(text: bytes) -> list[NewEntry]:
    """What an agent that outlives its hub says, with the receipt for it."""
    return [NewEntry("to_client", (text,), 1.0), NewEntry("note", (encode_receipt(7),), 1.0)]


def question(text: bytes) -> list[NewEntry]:
    return [NewEntry("to_client", (text,), 1.0, pending=True), NewEntry("note", (encode_receipt(7),), 1.0)]


async def gathering(journal: HeldJournal, count: int) -> list[EntryLog]:
    """Logs of one round, of which the first has stored an update just now."""
    log_round = LogRound()
    logs = [log_of(journal, StreamSession(), log_round) for _ in range(count)]
    logs[0].add(update(b"first"))
    await asyncio.sleep(0)
    assert len(journal.held) == 1, "with nobody before it, an update is stored at once"
    journal.held.clear()
    return logs


def test_updates_of_several_sessions_gather_for_a_moment() -> None:
    async def play() -> None:
        journal = HeldJournal()
        _, *logs = await gathering(journal, 4)
        journal.is_asked.clear()
        for log in logs:
            log.add(update(b"next"))
            await asyncio.sleep(0)
        assert journal.held == []
        await journal.is_asked.wait()
        assert len(journal.held) == 3
        for log in logs:
            await log.aclose()

    virtually(play())


@pytest.mark.parametrize("urgent_entries", [question(b"may I?"), [entry(b"prompt")], update(b"x" * 5000)])
async def test_what_somebody_waits_for_is_stored_at_once_with_all_that_gathered(
    monkeypatch: pytest.MonkeyPatch, urgent_entries: list[NewEntry]
) -> None:
    monkeypatch.setattr("dragoman_hub.engine.log_round.GATHER_SECONDS", 3600.0)
    journal = HeldJournal()
    _, one, two, three = await gathering(journal, 4)
    one.add(update(b"said"))
    two.add(update(b"said"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert journal.held == [], "nobody waits for these"
    two.add(urgent_entries)
    three.add(update(b"said"))
    await asyncio.sleep(0)
    assert [len(batch) for batch, _, _ in journal.held] == [2, 2 + len(urgent_entries), 2]
    for log in (one, two, three):
        await log.aclose()


async def test_an_urgent_entry_in_a_held_round_is_stored_with_what_gathered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dragoman_hub.engine.log_round.GATHER_SECONDS", 3600.0)
    journal, log_round = HeldJournal(), LogRound()
    log = log_of(journal, StreamSession(), log_round)
    with log_round:
        log.add(update(b"first"))
    await journal.go_on()
    with log_round:
        log.add(update(b"second"))
    assert journal.held == []
    with log_round:
        log.add(question(b"may I?"))
    assert [len(batch) for batch, _, _ in journal.held] == [4]
    await log.aclose()


async def test_a_flush_does_not_wait_until_updates_have_gathered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman_hub.engine.log_round.GATHER_SECONDS", 3600.0)
    async with SqliteJournal(tmp_path / "j.db") as journal:
        session = StreamSession()
        log = log_of(journal, session)
        for text in (b"1", b"2"):
            log.add(update(text))
            await log.flush(20)
        assert session.stored == [1, 2, 3, 4]
        await log.aclose()


def said(text: bytes, number: int, now: float) -> list[NewEntry]:
    return [NewEntry("to_client", (text,), now), NewEntry("note", (encode_receipt(number),), now)]


async def test_updates_that_are_stored_together_have_one_receipt_and_those_of_a_moment_are_one_run() -> None:
    journal, session, log_round = HeldJournal(), StreamSession(), LogRound()
    log = log_of(journal, session, log_round)
    now = 100.0
    with log_round:
        assert not log.may_go_on()
        log.add(said(b"a", 1, now))
        for number, text, moment in ((2, b"b", now + 0.001), (3, b"c", now + 1)):
            assert log.may_go_on()
            log.add(said(text, number, moment), replaces_receipt=True)
    assert not log.may_go_on(), "the journal has it"
    ((batch, *_),) = journal.held
    assert [(run.direction, list(run.frames)) for run in batch.runs] == [
        ("to_client", [b"a", b"b"]),
        ("to_client", [b"c"]),
        ("note", [encode_receipt(3)]),
    ]
    log.add(said(b"d", 4, now))
    assert log.may_go_on()
    log.add([entry(b"prompt")])
    assert not log.may_go_on(), "something else came behind it"
    await log.aclose()


async def test_how_a_session_stands_is_told_with_its_entries_and_known_when_they_are_stored() -> None:
    journal, session = HeldJournal(), StreamSession()
    await journal.describe("s", agent="a")
    session.log = log = log_of(journal, session)
    for state in ("running", "running", "idle"):
        session.listed_state = state
        log.add([entry(b"1")])
        await journal.is_asked.wait()
        journal.is_asked.clear()
        was_known, is_told = log.state == state, journal.held[0][0].state == state
        assert was_known is not is_told, (
            "what is on its way is not known, and what is known is not told again"
        )
        await journal.go_on()
        assert log.state == state
        info = await journal.info("s")
        assert info is not None
        assert info.state == state
    await log.aclose()


async def test_a_part_of_what_waits_does_not_say_how_the_session_stands() -> None:
    journal, session = HeldJournal(), StreamSession()
    log = log_of(journal, session)
    session.listed_state = "running"
    log.add([entry(b"x" * AT_ONCE_BYTES)])
    log.add([entry(b"2")])
    for told in ("", "running"):
        await journal.is_asked.wait()
        journal.is_asked.clear()
        assert journal.held[0][0].state == told
        assert log.state == ""
        await journal.go_on()
    assert log.state == "running"
    await log.aclose()


async def test_what_was_told_with_a_failed_append_is_not_known_and_is_told_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dragoman_hub.engine.log.AGAIN_SECONDS", 0.0)
    journal, session = HeldJournal(), StreamSession(tries_again=True)
    log = log_of(journal, session)
    session.listed_state = "running"
    log.add([entry(b"1")])
    await journal.is_asked.wait()
    journal.is_asked.clear()
    journal.fail(JournalBusy("another process holds it"))
    assert log.state == ""
    await journal.is_asked.wait()
    await journal.go_on()
    assert log.state == "running"
    await log.aclose()
