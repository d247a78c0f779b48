"""What a hub finishes of the one before it, and what it forgets by itself."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from dragoman.testing.pace import deadline
from dragoman_hub.engine import recovery
from dragoman_local.journal import open_journal
from dragoman_local.journal.erasure import FORGETTING
from dragoman_local.journal.sqlite import SqliteJournal
from tests.hub.sessions.raw_agents import raw_stage


async def test_what_was_half_erased_is_never_listed_and_goes_with_the_next_start(tmp_path: Path) -> None:
    async with open_journal(tmp_path / "j.db") as journal:
        async with raw_stage("one", journal=journal) as (_, client):
            session, other = await client.new(), await client.new()
        await journal.describe(session, state=FORGETTING)
        async with raw_stage("one", journal=journal) as (_, client):
            listing = await client.call("_dragoman/hub/sessions")
            assert [line["sessionId"] for line in listing["sessions"]] == [other]
            assert await journal.info(session) is None
            await journal.describe(other, state=FORGETTING)
            assert (await client.call("_dragoman/hub/sessions"))["sessions"] == []


async def test_sessions_older_than_keep_days_are_forgotten_and_others_stay(tmp_path: Path) -> None:
    late = time.time() - 10 * 86400
    async with (
        SqliteJournal(tmp_path / "j.db", clock=lambda: late) as late_journal,
        raw_stage("one", journal=late_journal) as (_, client),
    ):
        old = await client.new()
    async with open_journal(tmp_path / "j.db") as journal:
        async with raw_stage("one", journal=journal) as (_, client):
            new = await client.new()
        async with raw_stage("one", journal=journal, keep_days=11):
            assert await journal.info(old) is not None
        async with raw_stage("one", journal=journal, keep_days=9):
            async with deadline(20.0):
                while await journal.info(old) is not None:
                    pass
            assert await journal.info(new) is not None


async def test_a_clock_that_is_set_forward_for_a_moment_erases_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = 0.0
    begin, end = asyncio.Queue[None](), asyncio.Queue[None]()

    async def until_next(seconds: float) -> None:
        end.put_nowait(None)
        await begin.get()

    async def look(days_ahead: int) -> bool:
        nonlocal ahead
        ahead = days_ahead * 86400.0
        begin.put_nowait(None)
        await end.get()
        return await journal.info(session) is None

    clock = SimpleNamespace(monotonic=time.monotonic, time=lambda: time.time() + ahead)
    monkeypatch.setattr(recovery, "time", clock)
    monkeypatch.setattr(recovery, "asyncio", SimpleNamespace(**vars(asyncio) | {"sleep": until_next}))
    async with (
        open_journal(tmp_path / "j.db") as journal,
        raw_stage("one", journal=journal, keep_days=9) as (_, client),
    ):
        session = await client.new()
        await client.call("session/close", {"sessionId": session})
        await end.get()
        erased = [await look(days) for days in (0, 10, 0, 0, 10, 10)]
        assert erased == [False, False, False, False, False, True]
