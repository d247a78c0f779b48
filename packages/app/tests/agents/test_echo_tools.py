"""The slash commands of the echo agent that have effects."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from dragoman import Client, Session
from dragoman.errors import ErrorAnswer
from dragoman.schema.v1 import (
    AgentMessageChunk,
    CreateTerminalRequest,
    CreateTerminalResponse,
    ReadTextFileRequest,
    ReadTextFileResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    TerminalExitStatus,
    TerminalOutputResponse,
    TextContent,
    WaitForTerminalExitResponse,
    WriteTextFileRequest,
)
from dragoman.testing import talking_to
from dragoman.transport.tree import members
from dragoman_app.agents.echo import echo_agent
from tests.transport.programs import alive, eventually

posix = pytest.mark.skipif(sys.platform == "win32", reason="process groups")


def deciding(option_id: str) -> Client:
    client = Client()

    @client.request_permission
    async def decide(request: RequestPermissionRequest) -> RequestPermissionResponse:
        return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id=option_id))

    return client


async def test_a_file_is_created_when_that_is_allowed(tmp_path: Path) -> None:
    async with talking_to(echo_agent(), client=deciding("allow_once")) as handle:
        session = await handle.new_session(cwd=str(tmp_path))
        result = await session.prompt("/ask mark")
    assert result.text == "Done."
    assert [call.status for call in result.tool_calls.values()] == ["completed"]
    assert (tmp_path / "mark").read_text() == "ran\n"


async def test_nothing_is_created_when_that_is_rejected(tmp_path: Path) -> None:
    async with talking_to(echo_agent(), client=deciding("reject_once")) as handle:
        session = await handle.new_session(cwd=str(tmp_path))
        result = await session.prompt("/ask mark")
    assert [call.status for call in result.tool_calls.values()] == ["failed"]
    assert list(tmp_path.iterdir()) == []


async def test_nothing_is_created_when_nobody_answers_for_the_user(tmp_path: Path) -> None:
    async with talking_to(
        echo_agent()
    ) as handle:  # a client without a handler answers that nothing was chosen
        session = await handle.new_session(cwd=str(tmp_path))
        assert (await session.prompt("/ask mark")).text == "Not allowed."
    assert list(tmp_path.iterdir()) == []


async def test_each_run_leaves_one_mark(tmp_path: Path) -> None:
    async with talking_to(echo_agent(), client=deciding("allow_once")) as handle:
        session = await handle.new_session(cwd=str(tmp_path))
        for _ in range(3):
            await session.prompt("/ask mark")
    assert (tmp_path / "mark").read_text() == "ran\n" * 3


@pytest.mark.parametrize("there", [b"somebody's text\n", b"\xff\xfe"])
async def test_a_file_of_somebody_else_is_not_touched(tmp_path: Path, there: bytes) -> None:
    (tmp_path / "mark").write_bytes(there)
    async with talking_to(echo_agent(), client=deciding("allow_once")) as handle:
        session = await handle.new_session(cwd=str(tmp_path))
        result = await session.prompt("/ask mark")
    assert [call.status for call in result.tool_calls.values()] == ["failed"]
    assert (tmp_path / "mark").read_bytes() == there


async def test_files_are_read_and_written_through_the_client() -> None:
    client, files = Client(), {"/project/a": "text of a"}

    @client.read_text_file
    async def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
        if request.path not in files:
            raise ErrorAnswer(-32002, "there is no such file")
        return ReadTextFileResponse(content=files[request.path])

    @client.write_text_file
    async def write(request: WriteTextFileRequest) -> None:
        files[request.path] = request.content

    async with talking_to(echo_agent(), client=client) as handle:
        session = await handle.new_session(cwd="/project")
        assert (await session.prompt("/read a")).text == "text of a"
        assert (await session.prompt("/write /project/b  two words")).text == "Written."
        missing = await session.prompt("/read nothing")
    assert files["/project/b"] == " two words"
    assert "there is no such file" in missing.text
    assert [call.status for call in missing.tool_calls.values()] == ["failed"]


@pytest.mark.parametrize("text", ["/read a", "/write a b", "/run ls"])
async def test_what_the_client_did_not_advertise_is_not_done_behind_its_back(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("secret of the disk")
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd=str(tmp_path))
        result = await session.prompt(text)
    assert "which the peer did not advertise" in result.text
    assert [call.status for call in result.tool_calls.values()] == ["failed"]
    assert (tmp_path / "a").read_text() == "secret of the disk"


async def test_a_command_runs_in_a_terminal_that_is_released() -> None:
    client, seen = Client(), list[str]()

    @client.create_terminal
    async def create(request: CreateTerminalRequest) -> CreateTerminalResponse:
        seen.append(f"create {request.command} {request.args} in {request.cwd}")
        return CreateTerminalResponse(terminal_id="t-1")

    @client.wait_for_terminal_exit
    async def wait(request: object) -> WaitForTerminalExitResponse:
        return WaitForTerminalExitResponse(exit_code=3)

    @client.terminal_output
    async def output(request: object) -> TerminalOutputResponse:
        ended = TerminalExitStatus(exit_code=3)
        return TerminalOutputResponse(output="two\nlines", truncated=False, exit_status=ended)

    @client.kill_terminal
    async def kill(request: object) -> None:
        seen.append("kill")

    @client.release_terminal
    async def release(request: object) -> None:
        seen.append("release")

    async with talking_to(echo_agent(), client=client) as handle:
        session = await handle.new_session(cwd="/project")
        result = await session.prompt("/run ls 'two words'")
    assert result.text == "two\nlines\nIt ended with 3."
    assert seen == ["create ls ['two words'] in /project", "release"]


@posix
async def test_a_child_that_ends_by_itself_is_reaped() -> None:
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd="/tmp")
        result = await session.prompt("/child 0.05")
    started = re.match(r"Started (\d+)\.\nIt is over\.", result.text)
    assert started is not None
    assert not os.path.exists(f"/proc/{started[1]}")


@posix
@pytest.mark.bound(15)
@pytest.mark.parametrize("how", ["cancel", "leave"])
async def test_the_whole_tree_is_gone_when_nobody_wants_it_any_more(how: str) -> None:
    async with talking_to(echo_agent()) as handle:
        session = await handle.new_session(cwd="/tmp")
        started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        turn = asyncio.ensure_future(_follow(session, started))
        root = await started
        await eventually(lambda: len(members(root)) >= 5)  # the shell, its guard, two children, a grandchild
        tree = members(root)
        if how == "cancel":
            await session.cancel()
            assert await turn == "cancelled"
    if how == "leave":
        with pytest.raises(Exception, match="closed"):
            await turn
    await eventually(lambda: not any(alive(process.pid) for process in tree), seconds=1)


async def _follow(session: Session, started: asyncio.Future[int]) -> str:
    turn = session.prompt("/child 1000")
    async for update in turn:
        if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
            started.set_result(int(update.content.text.split()[1].rstrip(".")))
    return turn.result.stop_reason
