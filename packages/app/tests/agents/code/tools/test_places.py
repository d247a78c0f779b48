"""Files and commands of a client that lends them: what it shows counts, not what is on disk."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman import Client
from dragoman.errors import ErrorAnswer
from dragoman.schema.v1 import ReadTextFileRequest, ReadTextFileResponse, Terminal, WriteTextFileRequest
from dragoman.testing.models import ModelTurn, call, turn
from dragoman_local.workspace.workspace import Workspace
from tests.agents.code.coder_runs import Coder, Person, calls, coding, status
from tests.kit.kit_agents import alive
from tests.workspace.command_agent import pid_here
from tests.workspace.text_buffers import TextBuffers

pytestmark = pytest.mark.bound(30)


@asynccontextmanager
async def lending(
    script: Sequence[ModelTurn], folder: Path, buffers: TextBuffers, **more: Any
) -> AsyncIterator[Coder]:
    """A coder whose client lends files, with unsaved texts, and terminals."""
    client = Person().client()
    async with Workspace(buffers=buffers) as workspace:
        workspace.serve(client)
        async with coding(script, folder, client=client, **more) as coder:
            workspace.open(coder.session.id, cwd=str(folder))
            yield coder


async def test_unsaved_text_is_what_the_model_reads(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("saved\n")
    buffers = TextBuffers()
    buffers.texts[str(tmp_path / "a.py")] = "unsaved\n"
    async with lending([turn(call("read", path="a.py")), turn("Ok.")], tmp_path, buffers) as coder:
        await coder.prompt("Read")
    (result,) = coder.model.requests[1].results.values()
    assert result.text == "     1\tunsaved"


async def test_an_edit_changes_the_unsaved_text_and_not_the_disk(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("saved = 1\n")
    buffers = TextBuffers()
    buffers.texts[str(tmp_path / "a.py")] = "unsaved = 1\n"
    script = [turn(call("edit", path="a.py", old="unsaved = 1", new="unsaved = 2")), turn("Ok.")]
    async with lending(script, tmp_path, buffers) as coder:
        await coder.prompt("Edit")
    assert buffers.texts[str(tmp_path / "a.py")] == "unsaved = 2\n"
    assert (tmp_path / "a.py").read_text() == "saved = 1\n"


async def test_a_new_file_is_made_through_the_client(tmp_path: Path) -> None:
    script = [turn(call("write", path="new.py", content="x\n")), turn("Ok.")]
    async with lending(script, tmp_path, TextBuffers(), mode="accept_edits") as coder:
        _, updates = await coder.prompt("Write")
    assert (tmp_path / "new.py").read_text() == "x\n"
    assert status(calls(updates)["Write new.py"]) == "completed"


async def test_a_command_runs_in_a_terminal_of_the_client_and_is_seen_live(tmp_path: Path) -> None:
    script = [turn(call("run", command="echo hello; exit 4")), turn("Ok.")]
    async with lending(script, tmp_path, TextBuffers(), mode="full") as coder:
        _, updates = await coder.prompt("Run")
    (result,) = coder.model.requests[1].results.values()
    assert result.text == "hello\n(exit status 4)"
    shown = [update.content for update in calls(updates)["echo hello; exit 4"] if update.content]
    assert all(isinstance(content[0], Terminal) for content in shown)


async def test_a_cancel_ends_the_command_in_the_clients_terminal(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pids")
    script = [turn(call("run", command="sleep 60 & echo $$ $! > pids; wait"))]
    async with lending(script, tmp_path, TextBuffers(), mode="full") as coder:
        running = asyncio.ensure_future(coder.prompt("Wait"))
        told = (await asyncio.to_thread((tmp_path / "pids").read_text)).split()
        pids = [pid_here(int(pid)) for pid in told]
        await coder.session.cancel()
        assert (await running)[0] == "cancelled"
        assert not [pid for pid in pids if alive(pid)]


async def test_a_command_that_takes_too_long_is_ended_at_the_client(tmp_path: Path) -> None:
    script = [turn(call("run", command="echo begun; sleep 60", timeout=1)), turn("Ok.")]
    async with lending(script, tmp_path, TextBuffers(), mode="full") as coder:
        await coder.prompt("Run")
    (result,) = coder.model.requests[1].results.values()
    assert result.text == "begun\n(it did not end in time, and was ended)"


async def test_what_a_client_refuses_is_told_to_the_model(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    client = Client("editor")

    @client.read_text_file
    async def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
        return ReadTextFileResponse(content="x = 1\n")

    @client.write_text_file
    async def write(request: WriteTextFileRequest) -> None:
        raise ErrorAnswer(-32603, "the file is read-only")

    script = [turn(call("write", path="a.py", content="x = 2\n")), turn("Ok.")]
    async with coding(script, tmp_path, client=client, mode="full") as coder:
        stop, updates = await coder.prompt("Write")
    assert stop == "end_turn"
    (result,) = coder.model.requests[1].results.values()
    assert "the file is read-only" in result.text
    assert status(calls(updates)["Write a.py"]) == "failed"


@pytest.mark.parametrize("answer", ["allow", "reject"])
async def test_a_file_outside_the_folders_is_read_only_after_a_question(answer: str, tmp_path: Path) -> None:
    person = Person(answer)
    client = person.client()

    @client.read_text_file
    async def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
        return ReadTextFileResponse(content="secret\n")

    script = [turn(call("read", path="/etc/shadow"), call("fetch", uri="file:///etc/shadow")), turn("Ok.")]
    async with coding(script, tmp_path, client=client, mode="plan") as coder:
        _, updates = await coder.prompt("Read")
    states = [update.status for update in calls(updates)["Read /etc/shadow"]]
    # It is not under way before somebody allowed it.
    assert states == (["pending", "in_progress", "completed"] if answer == "allow" else ["pending", "failed"])
    asked = {question.tool_call.title for question in person.asked}
    assert asked == {"Read /etc/shadow", "Fetch file:///etc/shadow"}
    told = [result.text for result in coder.model.requests[1].results.values()]
    assert ["secret" in text for text in told] == [answer == "allow"] * 2


async def test_a_client_that_only_reads_gets_its_files_written_here(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    client = Client("editor")

    @client.read_text_file
    async def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
        return ReadTextFileResponse(content="something else\n")

    script = [turn(call("edit", path="a.py", old="x = 1", new="x = 2")), turn("Ok.")]
    async with coding(script, tmp_path, client=client, mode="full") as coder:
        await coder.prompt("Edit")
    assert (tmp_path / "a.py").read_text() == "x = 2\n"
