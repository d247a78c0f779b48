"""Sessions and processes: death in the middle of a turn, and two processes that want the same session."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman import AgentHandle, Session, connect
from dragoman.errors import CallFailed, LinkClosed
from dragoman.schema import v1
from dragoman.testing.pace import patience
from dragoman_local.journal import open_journal
from dragoman_local.kit.restore import CUT_SHORT
from tests.forks import forked
from tests.kit.kit_agents import Heard

pytestmark = pytest.mark.bound(30)  # programs start slowly on a busy machine

PROGRAM = str(Path(__file__).with_name("kept_agent.py"))


@asynccontextmanager
async def program(path: Path, *, slow: float = 0) -> AsyncIterator[tuple[AgentHandle, Heard]]:
    heard = Heard()
    command = forked([sys.executable, PROGRAM, str(path), *([str(slow)] if slow else [])])
    async with connect(command, client=heard.client) as handle:
        yield handle, heard


def pid_of(handle: AgentHandle) -> int:
    return int(handle.link.transport.tree.pid)  # type: ignore[attr-defined]


async def killed_within_a_turn(path: Path) -> str:
    """A session whose process was killed while it worked on its second turn."""
    async with program(path) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt("hello")).text == "1: hello"
        with pytest.raises(LinkClosed):
            await kill_when_stored(handle, session)
        return session.id


async def kill_when_stored(handle: AgentHandle, session: Session) -> None:
    async for text in session.prompt("wait").texts():
        if text == " and stored":
            os.kill(pid_of(handle), signal.SIGKILL)


async def test_a_turn_that_was_killed_is_loaded_as_cut_short_and_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session_id = await killed_within_a_turn(path)
    for number in (1, 2):  # it is said once, whoever loads it
        async with program(path) as (handle, heard):
            session = await handle.load_session(session_id, cwd="/tmp")
            told = [one for one in heard.told(session_id) if one != ("agent_message_chunk", " and stored")]
            assert (
                told[:9]
                == [
                    ("user_message_chunk", "hello"),
                    ("session_info_update", "hello"),
                    ("agent_message_chunk", "1: hello"),
                    ("user_message_chunk", "wait"),
                    ("tool_call", "Wait"),
                    ("agent_message_chunk", "begun"),
                    ("tool_call_update", "waiting"),
                    ("agent_message_chunk", CUT_SHORT),
                ][:9]
            )
            failed = [u for u in heard.updates(session_id) if isinstance(u, v1.ToolCallProgress)]
            assert [update.status for update in failed] == ["failed"]
            if number == 2:
                assert (await session.prompt("again")).text == "3: again"


async def test_a_resume_after_a_death_says_nothing_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session_id = await killed_within_a_turn(path)
    async with program(path) as (handle, heard):
        session = await handle.resume_session(session_id, cwd="/tmp")
        assert heard.told(session_id) == []
        assert (await session.prompt("again")).text == "3: again"


async def test_what_a_client_saw_finished_is_there_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    async with program(path) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        said = (await session.prompt("count 2000")).text
        os.kill(pid_of(handle), signal.SIGKILL)
    async with program(path) as (handle, heard):
        await handle.load_session(session.id, cwd="/tmp")
        assert "".join(text for kind, text in heard.told(session.id) if kind == "agent_message_chunk") == said


@pytest.mark.in_turn("after")
@pytest.mark.parametrize("after", [1, 60, 900])
async def test_a_kill_at_any_moment_leaves_a_beginning_without_gaps(after: int, tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    async with program(path) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        with pytest.raises(LinkClosed):
            await kill_after(handle, session, after)
    async with program(path) as (handle, heard):
        loaded = await handle.load_session(session.id, cwd="/tmp")
        *said, last = [text for kind, text in heard.told(session.id) if kind == "agent_message_chunk"]
        assert said == [f"{number} " for number in range(len(said))]
        assert last == CUT_SHORT
        assert (await loaded.prompt("on")).text in ({"2: on"} if said else {"1: on", "2: on"})


@pytest.mark.in_turn("after")
@pytest.mark.parametrize("after", [0, 1, 700])
async def test_whatever_a_client_has_seen_is_in_the_replay_after_a_kill(after: int, tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    seen: list[str] = []
    async with program(path, slow=0.05) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        with pytest.raises(LinkClosed):
            await see_and_kill(handle, session, seen, after)
    async with program(path) as (handle, heard):
        await handle.load_session(session.id, cwd="/tmp")
        told = [text for kind, text in heard.told(session.id) if kind == "agent_message_chunk"]
        assert len(seen) > after
        assert told[: len(seen)] == seen


async def see_and_kill(handle: AgentHandle, session: Session, seen: list[str], after: int) -> None:
    """Note every chunk that arrives, also what was under way when the agent was killed."""
    async for text in session.prompt("count 1000000").texts():
        seen.append(text)
        if text == f"{after} ":
            os.kill(pid_of(handle), signal.SIGKILL)


async def kill_after(handle: AgentHandle, session: Session, count: int) -> None:
    async for text in session.prompt("count 1000000").texts():
        if text == f"{count} ":
            os.kill(pid_of(handle), signal.SIGKILL)


async def test_a_session_cannot_be_taken_from_a_running_turn(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    async with program(path) as (one, _), program(path) as (other, heard):
        session = await one.new_session(cwd="/tmp")
        turn = session.prompt("wait")
        going = asyncio.ensure_future(drained(turn))
        await asyncio.wait_for(begun(path), patience(20))
        for take in (other.load_session, other.resume_session):
            with pytest.raises(CallFailed, match="running in this session elsewhere"):
                await take(session.id, cwd="/tmp")
        with pytest.raises(CallFailed, match="running in this session elsewhere"):
            await other.delete_session(session.id)
        await session.cancel()
        assert await going == "cancelled"
        heard.notes.clear()
        loaded = await other.load_session(session.id, cwd="/tmp")
        assert CUT_SHORT not in [text for _, text in heard.told(session.id)]
        assert (await loaded.prompt("mine")).text == "2: mine"


async def drained(turn: object) -> str:
    return str((await turn).stop_reason)  # type: ignore[misc]


async def begun(path: Path) -> None:
    """Until a turn is in the journal."""
    while True:
        async with open_journal(path) as journal:
            for info in (await journal.list()).streams:
                async for page in journal.replay(info.stream):
                    if any(b'"begun"' in stored.frame for stored in page):
                        return
        await asyncio.sleep(0.02)


async def test_a_session_belongs_to_whoever_opened_it_last(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    async with program(path) as (one, _), program(path) as (other, heard):
        session = await one.new_session(cwd="/tmp")
        await session.prompt("first")
        taken = await other.load_session(session.id, cwd="/tmp")
        assert (await taken.prompt("second")).text == "2: second"
        with pytest.raises(CallFailed, match="opened elsewhere") as caught:
            await session.prompt("lost")
        assert caught.value.code == -32600
        heard.notes.clear()
        await other.load_session(session.id, cwd="/tmp")
        said = [text for kind, text in heard.told(session.id) if kind == "user_message_chunk"]
        assert said == ["first", "second"]


async def test_a_deleted_session_does_not_come_back(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    async with program(path) as (one, _), program(path) as (other, _):
        session = await one.new_session(cwd="/tmp")
        await session.prompt("first")
        await other.delete_session(session.id)
        with pytest.raises(CallFailed, match="opened elsewhere"):
            await session.prompt("still here?")
        assert [info async for info in other.list_sessions()] == []
