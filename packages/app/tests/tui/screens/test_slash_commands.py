"""`/allow`; and `/rewind`, the same for a session of this machine and for one at a hub."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman_app.apps.chat.hub_backend import HubBackend
from dragoman_app.apps.chat.local_chat import ChatAgent, LocalChat
from dragoman_app.tui.ports import ChatListener, ChatRequest, ChatSession, ChatUser
from dragoman_local.journal import open_journal
from dragoman_local.journal.history import HistoryRecorder, history_path
from dragoman_local.workspace.settings import LocalRules
from tests.apps.chat.test_hub_backend_cuts import HEADERS, hub_of
from tests.hub.lending.writer_stage import writer
from tests.tui.stage import Eyes, StageBackend, on_stage

pytestmark = pytest.mark.bound(60)


class RememberingBackend(StageBackend):
    """Keeps what turns do."""

    @asynccontextmanager
    async def open(
        self, wanted: ChatRequest, person: ChatUser, listener: ChatListener
    ) -> AsyncIterator[ChatSession]:
        async with open_journal(history_path()) as journal, HistoryRecorder(journal) as history:
            agent, tap = self._agents[wanted.agent], history.tap("stream")
            source = ChatAgent(name=wanted.agent, target=agent, tap=tap)
            async with LocalChat(source, wanted, person, listener, LocalRules()).opened() as chat:
                chat.remember("stream")
                yield chat


async def go_back_and_forth(eyes: Eyes, folder: Path, *, picture: str = "") -> None:
    old, a, b, own = (folder / f"{name}.txt" for name in ("old", "a", "b", "own"))
    old.write_text("was\nthere\n")
    await eyes.see("● ready")
    await eyes.say("edit a.txt")
    await eyes.see("Changed on disk: 1 file")
    await eyes.say("edit b.txt edit old.txt")
    await eyes.see("Changed on disk: 2 files")
    own.write_text("typed\n")
    await eyes.say("/rewind")
    await eyes.see("before turn 2?", "- b.txt  goes away  +0 -1", "~ old.txt  changes  +2 -1")
    await eyes.see("They stay, unless you tick them", "☐ - own.txt  goes away")
    if picture:
        eyes.picture(picture)
    known = eyes.screen.count("no record of the files")
    await eyes.press("right")
    await eyes.lose("before turn 2?")
    await eyes.until(lambda: eyes.screen.count("no record of the files") > known, "that there is no turn 3")
    await eyes.say("/rewind 2")
    await eyes.see("before turn 2?")
    await eyes.press("left")
    await eyes.see("before turn 1?", "- a.txt  goes away")
    await eyes.press("escape")
    await eyes.lose("before turn 1?")
    await eyes.say("/rewind 2")
    await eyes.see("before turn 2?")
    assert b.exists()
    await eyes.press("r")
    await eyes.see("Files put back to before turn 2: b.txt, old.txt.")
    assert (a.exists(), b.exists(), own.read_text()) == (True, False, "typed\n")
    assert old.read_text() == "was\nthere\n"
    await eyes.say("/rewind undo")
    await eyes.see("Rewind undone: b.txt, old.txt.")
    assert (b.read_text(), old.read_text(), own.read_text()) == ("new\n", "new\n", "typed\n")
    await eyes.say("/rewind undo")
    await eyes.see("there is nothing to undo in this folder")
    await tick_and_mistype(eyes, own)


async def tick_and_mistype(eyes: Eyes, own: Path) -> None:
    await eyes.say("/rewind")
    await eyes.see("☐ - own.txt")
    await eyes.press("space")
    await eyes.see("☑ - own.txt")
    await eyes.press("r")
    await eyes.until(lambda: not own.exists(), "what was ticked to go back, too")
    more = own.with_name("more.txt")
    for path in (own, more):
        path.write_text("typed\n")
    await eyes.say("/rewind")
    await eyes.see("☐ All of these", "☐ - own.txt", "☐ - more.txt")
    await eyes.press("space")
    await eyes.see("☑ All of these")
    await eyes.press("r")
    await eyes.until(lambda: not (own.exists() or more.exists()), "all to go back")
    await eyes.say("/rewind x")
    await eyes.see("Name a turn, counted from 1")


async def test_files_go_back_and_forth_in_a_folder_of_this_machine(shop: Path) -> None:
    backend = RememberingBackend(shop, writer=writer())
    async with on_stage(backend, ChatRequest(agent="writer", cwd=str(shop)), size=(90, 26)) as eyes:
        await go_back_and_forth(eyes, shop, picture="rewind")


async def test_files_go_back_and_forth_through_a_hub(project: Path) -> None:
    trees = str(project.parent / "data" / "hub.db")
    async with hub_of(writer, changes=True, trees=trees) as (_, url):
        backend = HubBackend(str(project), LocalRules(), url=url, headers=HEADERS)
        async with on_stage(backend, ChatRequest(agent="", cwd=str(project)), size=(100, 40)) as eyes:
            await eyes.see("● ready")
            await eyes.say("/rewind")
            await eyes.see("no record of the files")
            await go_back_and_forth(eyes, project)


async def test_without_a_memory_the_reason_is_told(project: Path) -> None:
    backend = StageBackend(project, writer=writer())
    async with on_stage(backend, ChatRequest(agent="writer", cwd=str(project))) as eyes:
        await eyes.see("● ready")
        await eyes.say("/rewind")
        await eyes.see("Dragoman keeps no files of this session")


class StrictBackend(StageBackend):
    """Nothing is asked, and nothing allowed without a rule."""

    @asynccontextmanager
    async def open(
        self, wanted: ChatRequest, person: ChatUser, listener: ChatListener
    ) -> AsyncIterator[ChatSession]:
        source = ChatAgent(name=wanted.agent, target=self._agents[wanted.agent])
        async with LocalChat(source, wanted, person, listener, LocalRules(approve="none")).opened() as chat:
            yield chat


async def test_what_was_denied_is_allowed_for_its_next_try_and_the_agent_is_told(shop: Path) -> None:
    backend, file = StrictBackend(shop, writer=writer()), shop / "a.txt"
    async with on_stage(backend, ChatRequest(agent="writer", cwd=str(shop)), size=(100, 40)) as eyes:
        await eyes.see("● ready")
        await eyes.say("/allow")
        await eyes.see("Nothing was denied that you could allow here.")
        await eyes.say("lend a.txt")
        await eyes.see("To allow it after all, write /allow")
        await eyes.say("/allow")
        await eyes.see("Yes, this once", "a.txt")
        await eyes.press("y")
        await eyes.see("Allowed. The agent is told with your next prompt")
        assert not file.exists()
        await eyes.say("lend a.txt")
        await eyes.see("Sent to the agent: The user now allows this, which was denied")
        await eyes.until(file.exists, "the write that was allowed")
        file.unlink()
        await eyes.say("lend a.txt lend b.txt")
        await eyes.until(lambda: eyes.screen.count("To allow it after all") > 1, "that once was once")
        assert not file.exists()
