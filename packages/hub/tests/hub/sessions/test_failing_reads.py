"""A journal that cannot be read now, is ahead of the hub, or does not say what it has stored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import JournalError, JournalUncertain
from dragoman_hub.engine import recovery
from dragoman_hub.engine.log import EntryLog
from dragoman_hub.engine.log_round import LogRound
from dragoman_hub.engine.ownership import SoleOwnership
from dragoman_hub.session.events import NewEntry
from dragoman_local.journal import Entry, StreamInfo
from dragoman_local.journal.contract import Page
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.engine.stream_session import StreamSession
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import staged


class FailingJournal(MemoryJournal):
    """Its next `failing` readings fail, after so many that do not."""

    failing = 0
    spared = 0

    async def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        if self.spared:
            self.spared -= 1
        elif self.failing:
            self.failing -= 1
            raise JournalError("the disk cannot be read now")
        async for page in super().replay(stream, after=after, limit=limit):
            yield page


async def test_a_client_whose_load_failed_goes_on_in_the_session() -> None:
    journal = FailingJournal()
    async with staged({"one": obedient}, journal=journal) as stage:
        first = await stage.client().begin()
        session = await first.new()
        await first.answer(first.prompt(session, "say 3"))
        second = await stage.client().begin()
        journal.failing = 1
        params = {"sessionId": session, "cwd": "/tmp", "mcpServers": []}
        assert "could not be read" in (await second.refusal("session/load", params))["message"]
        answer = await second.answer(second.prompt(session, "say 1"))
        assert answer["result"]["stopReason"] == "end_turn"
        assert second.texts() == ["0 "]


async def test_a_lender_whose_load_failed_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("from the disk")
    journal = FailingJournal()
    async with staged({"one": obedient}, journal=journal, lender_grace=0.05) as stage:
        lender = await stage.client().begin(fs={"readTextFile": True})
        session = await lender.new(str(tmp_path))
        prompt = lender.prompt(session, f"read {tmp_path}/note.txt")
        await lender.asked("fs/read_text_file")
        journal.failing = 1
        params = {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}
        assert "could not be read" in (await lender.refusal("session/load", params))["message"]
        answer = await lender.answer(prompt)
        assert answer["result"]["stopReason"] == "end_turn"


async def test_two_loads_of_one_client_are_both_answered() -> None:
    async with staged({"one": obedient}) as stage:
        first = await stage.client().begin()
        session = await first.new()
        await first.answer(first.prompt(session, "say 3"))
        second = await stage.client().begin()
        params = {"sessionId": session, "cwd": "/tmp", "mcpServers": []}
        asked = [second.ask("session/load", params) for _ in range(2)]
        answers = [await second.answer(request) for request in asked]
        assert "result" in answers[1]


@pytest.mark.parametrize("spared", [0, 1])
async def test_a_turn_goes_on_although_its_stream_could_not_be_read_after_a_crash(
    spared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the reading that opens the session, nor the one for what the agent has not got."""
    monkeypatch.setattr(recovery, "AGAIN_SECONDS", 0.01)
    journal, gate = FailingJournal(), Gate()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        client.prompt(session, "wait", key="k")
        await gate.waiting.wait()
        await stage.crash()
        gate.open.set()
        journal.failing, journal.spared = 1, spared
        await stage.start()
        again = await stage.client().begin()
        await again.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        answer = await again.answer(again.prompt(session, "wait", key="k"))
        assert answer["result"]["stopReason"] == "end_turn"
        assert again.texts() == ["waited"]
        assert not journal.failing


class AheadJournal(MemoryJournal):
    """It has more than it has said, in small pages, until somebody has read the first of them."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size
        self.said = asyncio.Event()
        self.said.set()

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        last = await super().append(stream, entries, after=after)
        await self.said.wait()
        return last

    async def replay(self, stream: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Page]:
        left = 1_000_000 if limit is None else limit
        while left > 0:
            pages = [page async for page in super().replay(stream, after=after, limit=min(left, self._size))]
            if not pages:
                return
            yield pages[0]
            self.said.set()
            for _ in range(20):
                await asyncio.sleep(0)
            after, left = pages[0][-1].sequence, left - len(pages[0])


@pytest.mark.parametrize("size", [2, 3, 4, 5])
async def test_a_client_that_catches_up_misses_nothing_of_what_the_hub_does_not_know_yet(size: int) -> None:
    journal = AheadJournal(size)
    async with staged({"one": obedient}, journal=journal) as stage:
        first = await stage.client().begin()
        session = await first.new()
        await first.answer(first.prompt(session, "say 2"))
        second = await stage.client().begin()
        journal.said.clear()
        request = first.prompt(session, "say 9")
        for _ in range(50):
            await asyncio.sleep(0)
        await second.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        journal.said.set()
        await first.answer(request)
        await second.until(lambda message: "8 " in str(message))
        assert second.texts() == first.texts()


class SilentJournal(MemoryJournal):
    """Nobody knows what becomes of the first append: nothing."""

    silent = True

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        if self.silent:
            self.silent = False
            raise JournalUncertain("nobody answered in time")
        return await super().append(stream, entries, after=after)


async def test_a_stream_whose_first_append_was_lost_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman_hub.engine.log.AGAIN_SECONDS", 0.0)
    session = StreamSession(tries_again=True)
    kept = EntryLog(SilentJournal(), session, ownership=SoleOwnership(), last=0, log_round=LogRound())
    kept.add([NewEntry("note", (b"{}",), 1.0)])
    await kept.flush(20)
    assert (kept.last, session.stored) == (1, [1])
    await kept.aclose()


async def test_a_fork_of_a_session_in_the_middle_of_a_turn_takes_prompts() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        running = client.prompt(session, "wait")
        await gate.waiting.wait()
        made = await client.call("session/fork", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        answer = await client.answer(client.prompt(made["sessionId"], "say 1"))
        assert answer["result"]["stopReason"] == "end_turn"
        gate.open.set()
        assert (await client.answer(running))["result"]["stopReason"] == "end_turn"


async def test_a_client_that_left_while_it_was_answered_follows_nothing() -> None:
    async with staged({"one": obedient}) as stage:
        first = await stage.client().begin()
        session = await first.new()
        second = await stage.client().begin()
        live = stage.hub.sessions[session]
        (gone,) = [client for client in stage.hub.clients if live.follower_of(client) is None]
        second.ask("session/resume", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        for _ in range(100):
            if len(gone._owner):  # its request is being answered
                break
            await asyncio.sleep(0)
        gone.on_end(None)
        await first.answer(first.prompt(session, "say 1"))
        assert live.follower_of(gone) is None


class SlowListing(MemoryJournal):
    """It takes its time with what listings say."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may_go_on = asyncio.Event(), asyncio.Event()

    async def describe(self, stream: str, **fields: Any) -> StreamInfo:
        self.asked.set()
        await self.may_go_on.wait()
        return await super().describe(stream, **fields)


async def test_a_session_whose_agent_died_while_it_was_made_takes_prompts() -> None:
    journal = SlowListing()
    async with staged({"one": obedient}, journal=journal) as stage:
        client = await stage.client().begin()
        request = client.ask("session/new", {"cwd": "/tmp", "mcpServers": []})
        await journal.asked.wait()
        await stage.end_agent("one")
        for _ in range(1000):
            if not stage.hub.sessions:  # nobody follows it, and nothing goes on in it
                break
            await asyncio.sleep(0)
        journal.may_go_on.set()
        session = (await client.answer(request))["result"]["sessionId"]
        answer = await client.answer(client.prompt(session, "say 1"))
        assert answer["result"]["stopReason"] == "end_turn"


async def test_a_session_that_another_program_has_written_to_is_read_again() -> None:
    journal = MemoryJournal()
    async with staged({"one": obedient}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        assert (await client.answer(client.prompt(session, "say 1")))["result"]["stopReason"] == "end_turn"
        await journal.append(session, [Entry("note", b'{"hub":"foreign"}', 1.0)])
        number = client.prompt(session, "say 3")
        error = (await client.answer(number))["error"]
        assert "another program has written to this session" in error["message"]
        answer = await client.answer(client.prompt(session, "say 2"))
        assert answer["result"]["stopReason"] == "end_turn"
        assert (await client.call("session/list"))["sessions"][0]["sessionId"] == session


async def test_a_turn_during_which_another_program_writes_is_answered() -> None:
    journal, gate = MemoryJournal(), Gate()
    async with staged({"one": lambda: obedient(gate)}, journal=journal) as stage:
        client = await stage.client().begin()
        session = await client.new()
        number = client.prompt(session, "wait")
        await gate.waiting.wait()
        await journal.append(session, [Entry("note", b'{"hub":"foreign"}', 1.0)])
        client.say({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
        assert "another program has written" in (await client.answer(number))["error"]["message"]
        answer = await client.answer(client.prompt(session, "say 2"))
        assert answer["result"]["stopReason"] == "end_turn"
