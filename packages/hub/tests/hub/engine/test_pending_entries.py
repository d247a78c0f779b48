"""What is acted upon is what was said, after a crash too; what is kept afterwards is redacted.

The journal is a real one on disk, which redacts. The secret is a key as providers make them.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.pace import deadline
from dragoman.transport.memory import memory_pair
from dragoman_hub.agents.process import AgentProcess
from dragoman_hub.agents.specs import specs_of
from dragoman_hub.engine.checkpoints import read_session
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.engine.pending_entries import PendingEntries
from dragoman_hub.gate.admission import Grant
from dragoman_hub.hub import Hub
from dragoman_hub.session.checkpoint import write_checkpoint
from dragoman_hub.session.state import restore
from dragoman_hub.settings import AgentSettings
from dragoman_local.journal import Journal, MemoryJournal, SqliteJournal, open_journal, open_sealed
from dragoman_local.journal.journal_copy import CopyClock, copy_journal
from dragoman_local.journal.redaction import is_redacted, redact
from dragoman_local.journal.transcript import export
from tests.forks import DRAGOMAN
from tests.hub.cluster.together import LEASE, nodes
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import Held, Stage, Talker, staged

pytestmark = pytest.mark.bound(40)

SECRET = "sk-" + "Q7w8" * 6
AWARE: dict[str, Any] = {"cursors": True, "events": True}
LOAD = {"cwd": "/tmp", "mcpServers": []}
WRITES = {"fs": {"writeTextFile": True}}


@asynccontextmanager
async def stored_on_disk(
    path: Path, gate: Gate | None = None, *, journal: SqliteJournal | None = None, **options: Any
) -> AsyncIterator[Stage]:
    opened = journal or open_journal(path / "hub.db", durability="normal")
    async with opened, staged({"one": lambda: obedient(gate)}, journal=opened, **options) as stage:
        yield stage


async def until(done: Callable[[], Awaitable[bool]]) -> None:
    async with deadline(10.0):
        while not await done():  # noqa: ASYNC110  # a journal on disk tells nobody when it was changed
            await asyncio.sleep(0.01)


async def until_settled(journal: Journal, session: str) -> None:
    async def is_settled() -> bool:
        return not await journal.originals(session)

    await until(is_settled)


async def is_gone(journal: Journal, folder: Path, session: str) -> bool:
    """Whether no byte of the secret is in the journal's files, in its stream or in a search."""
    frames = [one.frame async for page in journal.replay(session) for one in page]
    assert not any(SECRET.encode() in frame for frame in frames)
    assert not await journal.search(SECRET)
    return not any(SECRET.encode() in path.read_bytes() for path in folder.glob("hub.db*"))


async def lender_with_a_write(stage: Stage, folder: Path) -> tuple[Talker, str, str]:
    """A client that lends its files, was asked to write the secret, and where it stood before."""
    lender = await stage.client(client="the-lender", **AWARE).begin(**WRITES)
    session = await lender.new(str(folder))
    lender.prompt(session, f"write {folder}/.env KEY {SECRET}", key="k1")
    await lender.asked("fs/write_text_file")
    started = await lender.until(lambda one: one.get("params", {}).get("event") == "turn_started")
    return lender, session, started["params"]["_meta"]["dragoman"]["cursor"]


async def comes_back(stage: Stage, session: str, cursor: str) -> Talker:
    again = await stage.client(client="the-lender", **AWARE).begin(**WRITES)
    await again.call("session/resume", {"sessionId": session, **LOAD}, after=cursor, prompts=["k1"])
    again.prompt(session, "the same again", key="k1")
    return again


async def test_a_client_that_was_away_is_asked_to_write_what_the_agent_said(tmp_path: Path) -> None:
    async with stored_on_disk(tmp_path) as stage:
        lender, session, cursor = await lender_with_a_write(stage, tmp_path)
        await lender.transport.aclose()
        again = await comes_back(stage, session, cursor)
        asked = await again.asked("fs/write_text_file")
        assert asked["params"]["content"] == f"KEY {SECRET}"
        again.say({"id": asked["id"], "result": {}})
        await again.until(lambda one: "written" in str(one))


async def test_after_a_crash_too_and_when_it_is_written_the_secret_is_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with stored_on_disk(tmp_path) as stage:
        _, session, cursor = await lender_with_a_write(stage, tmp_path)
        await stage.crash()
        await stage.start()
        again = await comes_back(stage, session, cursor)
        asked = await again.asked("fs/write_text_file")
        assert asked["params"]["content"] == f"KEY {SECRET}"
        again.say({"id": asked["id"], "result": {}})
        await again.until(lambda one: one.get("result", {}).get("stopReason") == "end_turn")
        await until_settled(stage.journal, session)
        await until(lambda: is_gone(stage.journal, tmp_path, session))
        exported = [line async for line in export(stage.journal, session)]
        assert SECRET not in str(exported)
    assert SECRET not in caplog.text


@pytest.mark.parametrize("key", [None, bytes(range(32))], ids=["plain", "sealed"])
async def test_a_prompt_that_waited_reaches_the_agent_whole_after_a_crash(
    tmp_path: Path, key: bytes | None
) -> None:
    gate = Gate()
    path = tmp_path / "hub.db"
    journal = open_journal(path, durability="normal")
    if key is not None:
        journal = open_sealed(path, key, durability="normal")
    async with stored_on_disk(tmp_path, gate, journal=journal) as stage:
        client = await stage.client(**AWARE).begin()
        session = await client.new()
        client.prompt(session, "wait")
        await gate.waiting.wait()
        client.prompt(session, f"use {SECRET}", key="k2")
        await client.until(lambda one: one.get("params", {}).get("event") == "queued")
        assert (SECRET.encode() in _files(tmp_path)) is (key is None), "it is sealed where the journal is"
        await stage.crash()
        await stage.start()
        gate.open.set()
        reader = await stage.client(**AWARE).begin()
        await reader.call("session/load", {"sessionId": session, **LOAD})
        await reader.until(lambda one: one.get("params", {}).get("key") == "k2" and "stopReason" in str(one))
        assert gate.prompts == ["wait", f"use {SECRET}"]
        await until_settled(stage.journal, session)
        await until(lambda: is_gone(stage.journal, tmp_path, session))


async def _has_original(journal: Journal, session: str) -> bool:
    return bool(await journal.originals(session))


def _files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("hub.db*"))


class _Deaf(Held):
    """A way to the agent on which nothing arrives that is written from now on."""

    def write(self, block: bytes, *, stream: str = "", last: int = 0) -> None:
        pass


async def test_a_prompt_that_was_stored_and_had_not_reached_the_agent_reaches_it_whole(
    tmp_path: Path,
) -> None:
    gate = Gate()
    async with stored_on_disk(tmp_path, gate) as stage:
        client = await stage.client().begin()
        session = await _deaf_session(stage, client)
        await stage.crash()
        await stage.start()
        await until(lambda: _was_prompted(gate))
        assert gate.prompts == ["first", f"use {SECRET}"]
        reader = await stage.client().begin()
        await reader.call("session/load", {"sessionId": session, **LOAD})
        await reader.until(lambda one: "You said" in str(one))
        await until_settled(stage.journal, session)


async def _deaf_session(stage: Stage, client: Talker) -> str:
    """A session with a prompt that is stored for an agent which does not get it."""
    session = await client.new()
    await client.answer(client.prompt(session, "first"))
    _cut_line(stage, session)
    client.prompt(session, f"use {SECRET}", key="k3")
    await until(lambda: _is_given(stage, session))
    return session


def _cut_line(stage: Stage, session: str) -> None:
    process = stage.hub.sessions[session].process
    assert isinstance(process, AgentProcess)
    assert isinstance(process.channel, Held)
    process.channel.__class__ = _Deaf


async def _is_given(stage: Stage, session: str) -> bool:
    return stage.hub.sessions[session].state.turn is not None


async def _was_prompted(gate: Gate) -> bool:
    return len(gate.prompts) > 1


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "dropped"])
async def test_an_answer_that_had_not_reached_the_agent_reaches_it_whole_or_as_an_error(
    tmp_path: Path, kept: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with stored_on_disk(tmp_path) as stage:
        lender = await stage.client().begin(fs={"readTextFile": True})
        session = await lender.new(str(tmp_path))
        lender.prompt(session, f"read {tmp_path}/.env", key="k1")
        asked = await lender.asked("fs/read_text_file")
        _cut_line(stage, session)
        lender.say({"id": asked["id"], "result": {"content": f"KEY {SECRET}"}})
        await until(lambda: _has_original(stage.journal, session))
        await stage.crash()
        if not kept:
            await stage.journal.drop_originals_before(math.inf)
        await stage.start()
        reader = await stage.client(**AWARE).begin()
        await reader.call("session/load", {"sessionId": session, **LOAD})
        ended = await reader.until(lambda one: one.get("params", {}).get("event") == "turn_ended")
        if kept:
            assert ended["params"]["stopReason"] == "end_turn"
            assert SECRET in str(stage.kept["one"].frames), "the agent has read what the client said"
        else:
            assert "error" in ended["params"]
            assert "the answer was lost" in caplog.text, "the agent was told why its call failed"
            assert "redacted" not in str(stage.kept["one"].frames)


async def test_a_client_that_comes_later_is_asked_what_the_agent_asked(tmp_path: Path) -> None:
    async with stored_on_disk(tmp_path) as stage:
        writer = await stage.client().begin()
        session = await writer.new()
        turn = writer.prompt(session, f"ask {SECRET}")
        await writer.asked()
        later = await stage.client(**AWARE).begin()
        await later.call("session/load", {"sessionId": session, **LOAD})
        asked = await later.asked()
        assert asked["params"]["toolCall"]["title"] == f"Delete {SECRET}"
        told = await later.until(lambda one: one.get("params", {}).get("event") == "asked")
        assert told["params"]["params"]["toolCall"]["title"] == f"Delete {SECRET}"
        later.allow(asked)
        await writer.answer(turn)
        await until_settled(stage.journal, session)
        past = await stage.client(**AWARE).begin()
        await past.call("session/load", {"sessionId": session, **LOAD})
        assert SECRET not in str(past.heard), "what is over is told from the archive"


async def test_without_its_original_a_write_is_refused_and_said_and_a_prompt_is_not_run(
    tmp_path: Path,
) -> None:
    gate = Gate()
    async with stored_on_disk(tmp_path, gate, files="client", lender_grace=0.01) as stage:
        lender, session, _ = await lender_with_a_write(stage, tmp_path)
        lender.prompt(session, f"use {SECRET}", key="k2")
        await lender.until(lambda one: one.get("params", {}).get("event") == "queued")
        await stage.crash()
        assert await stage.journal.drop_originals_before(math.inf) >= 2
        await stage.start()
        reader = await stage.client(**AWARE).begin()
        await reader.call("session/load", {"sessionId": session, **LOAD})
        await reader.until(lambda one: "failed: Internal error: the request was not carried out" in str(one))
        settled = await reader.until(lambda one: one.get("params", {}).get("event") == "settled")
        assert "redacted form" in settled["params"]["reason"]
        ended = await reader.until(
            lambda one: one.get("params", {}).get("key") == "k2" and one["params"]["event"] == "turn_ended"
        )
        assert "the prompt was not run" in ended["params"]["error"]["message"]
        assert len(gate.prompts) == 1
        assert not (tmp_path / ".env").exists()


async def test_without_its_original_a_question_is_cancelled_and_a_prompt_on_its_way_ends(
    tmp_path: Path,
) -> None:
    gate = Gate()
    async with stored_on_disk(tmp_path, gate) as stage:
        client = await stage.client().begin()
        asking = await client.new()
        client.prompt(asking, f"ask {SECRET}")
        await client.asked()
        deaf = await _deaf_session(stage, client)
        await stage.crash()
        await stage.journal.drop_originals_before(math.inf)
        await stage.start()
        reader = await stage.client(**AWARE).begin()
        await reader.call("session/load", {"sessionId": asking, **LOAD})
        await reader.until(lambda one: one.get("params", {}).get("outcome") == "cancelled")
        await reader.until(lambda one: "'no'" in str(one))
        await reader.call("session/load", {"sessionId": deaf, **LOAD})
        ended = await reader.until(
            lambda one: one.get("params", {}).get("key") == "k3" and one["params"]["event"] == "turn_ended"
        )
        assert "the prompt was not run" in ended["params"]["error"]["message"]
        assert not [text for text in gate.prompts if "redacted" in text]


async def test_what_somebody_wrote_with_the_mark_in_it_is_not_taken_for_redacted(tmp_path: Path) -> None:
    gate = Gate()
    async with stored_on_disk(tmp_path, gate) as stage:
        client = await stage.client().begin()
        session = await client.new()
        client.prompt(session, "wait")
        await gate.waiting.wait()
        client.prompt(session, "what does [redacted] mean?")
        await until(lambda: _has_original(stage.journal, session))
        await stage.crash()
        await stage.start()
        gate.open.set()
        await until(lambda: _was_prompted(gate))
        assert gate.prompts[-1] == "what does [redacted] mean?"


async def test_a_prompt_that_is_edited_or_taken_back_leaves_nothing(tmp_path: Path) -> None:
    gate = Gate()
    async with stored_on_disk(tmp_path, gate) as stage:
        client = await stage.client(**AWARE).begin()
        session = await client.new()
        client.prompt(session, "wait")
        await gate.waiting.wait()
        turn = client.prompt(session, f"use {SECRET}", key="k2")
        await until(lambda: _has_original(stage.journal, session))
        (first,) = await stage.journal.originals(session)
        prompt = [{"type": "text", "text": f"use {SECRET} twice"}]
        await client.call("_dragoman/hub/queue/edit", {"sessionId": session, "key": "k2", "prompt": prompt})

        async def is_replaced() -> bool:
            kept = await stage.journal.originals(session)
            return len(kept) == 1 and first not in kept

        await until(is_replaced)
        await client.call("_dragoman/hub/queue/withdraw", {"sessionId": session, "key": "k2"})
        assert (await client.answer(turn))["result"]["stopReason"] == "cancelled"
        await until_settled(stage.journal, session)
        await until(lambda: is_gone(stage.journal, tmp_path, session))
        gate.open.set()


async def test_a_copy_of_the_journal_and_a_checkpoint_have_no_secret_that_is_pending(
    tmp_path: Path,
) -> None:
    gate = Gate()
    async with stored_on_disk(tmp_path, gate) as stage:
        client = await stage.client().begin()
        session = await client.new()
        client.prompt(session, "wait")
        await gate.waiting.wait()
        client.prompt(session, f"use {SECRET}", key="k2")
        await until(lambda: _has_original(stage.journal, session))
        clock = CopyClock()
        copy = SqliteJournal(tmp_path / "copy.db", redact=None, clock=clock, durability="off")
        async with copy:
            assert [copied.stream async for copied in copy_journal(stage.journal, copy, clock)]
            assert await copy.originals(session) == {}
        assert SECRET.encode() not in (tmp_path / "copy.db").read_bytes()
        state = (await read_session(stage.journal, session, 0)).state
        assert SECRET.encode() not in write_checkpoint(state)
        whole = restore(state, await stage.journal.originals(session), is_redacted)
        assert SECRET.encode() in bytes(whole.queue[0].params)
        gate.open.set()


async def test_what_was_settled_when_the_hub_crashed_is_erased_when_the_session_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stored_on_disk(tmp_path) as stage:
        client = await stage.client().begin()
        session = await client.new()
        with monkeypatch.context() as crashed:
            crashed.setattr(PendingEntries, "flush", _nothing)
            turn = client.prompt(session, f"ask {SECRET}")
            client.allow(await client.asked())
            await client.answer(turn)
            await stage.crash()
        assert await stage.journal.originals(session)
        await stage.start()
        await (await stage.client().begin()).call("session/load", {"sessionId": session, **LOAD})
        await until_settled(stage.journal, session)
        await until(lambda: is_gone(stage.journal, tmp_path, session))


async def _nothing(entries: PendingEntries) -> None:
    """The hub is gone before it comes to that."""


async def test_originals_that_nobody_settles_go_when_they_are_too_old(tmp_path: Path) -> None:
    gate = Gate()
    async with stored_on_disk(tmp_path, gate, originals_kept=0.0) as stage:
        client = await stage.client().begin()
        session = await client.new()
        client.prompt(session, "wait")
        await gate.waiting.wait()
        client.prompt(session, f"use {SECRET}", key="k2")
        await until(lambda: _has_original(stage.journal, session))
        await stage.crash()
        await stage.start()
        await until_settled(stage.journal, session)
        gate.open.set()


async def test_a_session_that_is_deleted_takes_its_originals_along(tmp_path: Path) -> None:
    gate = Gate()
    async with stored_on_disk(tmp_path, gate) as stage:
        client = await stage.client().begin()
        session = await client.new()
        client.prompt(session, "wait")
        await gate.waiting.wait()
        client.prompt(session, f"use {SECRET}", key="k2")
        await until(lambda: _has_original(stage.journal, session))
        await client.call("session/delete", {"sessionId": session})
        assert SECRET.encode() not in _files(tmp_path)


async def test_a_folder_that_is_called_like_a_key_is_still_the_sessions_folder(tmp_path: Path) -> None:
    folder, other = tmp_path / "sk-learn-experiments-2024", tmp_path / "sk-image-experiments-2024"
    folder.mkdir()
    other.mkdir()
    async with stored_on_disk(tmp_path) as stage:
        client = await stage.client().begin()
        folders = {"cwd": str(folder), "mcpServers": [], "additionalDirectories": [str(other)]}
        session = (await client.call("session/new", folders))["sessionId"]
        await stage.crash()
        await stage.start()
        state = (await stage.hub.session(session)).state
        assert state.cwd == str(folder)
        assert state.folders == (), "a folder of which only the redacted name is left is not used"


async def test_a_prompt_is_erased_once_the_agent_host_of_a_real_agent_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = AgentSettings(command=(*DRAGOMAN, "agent", "echo"), dialect="v1")
    specs = specs_of({"echo": echo}, tmp_path / "agents")
    options = HubOptions(default_agent="echo")
    async with open_journal(tmp_path / "hub.db") as journal, Hub(journal, specs, options=options) as hub:
        here, there = memory_pair()
        client = Talker(here)
        hub.accept(there, Grant("owner"))
        await client.begin()
        session = await client.new()
        with monkeypatch.context() as held:
            held.setattr(PendingEntries, "flush", _nothing)
            await client.answer(client.prompt(session, f"hello {SECRET}"))
            assert SECRET in "".join(client.texts())
            assert len(await journal.originals(session)) == 2, "the prompt, as it came and for the agent"
        await until_settled(journal, session)


async def test_another_node_gives_its_agent_the_prompt_that_waited_whole() -> None:
    gate = Gate()
    shared = MemoryJournal(redact=redact)
    async with nodes("a", "b", agents={"one": lambda: obedient(gate)}, lease=LEASE, journal=shared) as group:
        client = await group["a"].client().begin()
        session = await client.new()
        owner = group.owner(session)
        other = await group["b" if owner == "a" else "a"].client().begin()
        await other.call("session/load", {"sessionId": session, **LOAD})
        other.prompt(session, "wait")
        queued = other.prompt(session, f"use {SECRET}")
        await gate.waiting.wait()
        await until(lambda: _has_original(shared, session))
        await group.crash(owner)
        assert (await other.answer(queued))["result"] == {"stopReason": "end_turn"}
        assert gate.prompts[-1].endswith(f"use {SECRET}")
        await until_settled(shared, session)
