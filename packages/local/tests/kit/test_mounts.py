"""MCP servers of a client: mounted for one session, with real servers over stdio, HTTP and SSE."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, Kit, KitTurn, MountedTool, PromptTurn
from dragoman.schema.v1 import (
    EnvVariable,
    HttpHeader,
    McpServerHttp,
    McpServerSse,
    McpServerStdio,
    Notice,
)
from dragoman_local.journal import MemoryJournal, open_journal
from tests.forks import forked
from tests.kit.kit_agents import alive, eventually, listening
from tests.runtime.raw import request
from tests.sdk.ends import raw_client

pytest.importorskip("mcp")

pytestmark = pytest.mark.bound(30)  # a server imports its package for seconds on a busy machine

SERVER = forked([sys.executable, str(Path(__file__).with_name("official_mcp_server.py"))])
PLAIN = str(Path(__file__).with_name("plain_mcp_server.py"))


def program(name: str, **env: str) -> McpServerStdio:
    given = [EnvVariable(name=key, value=value) for key, value in env.items()]
    return McpServerStdio(name=name, command=sys.executable, args=[PLAIN, name], env=given)


def official(name: str) -> McpServerStdio:
    command, *args = SERVER
    return McpServerStdio(name=name, command=command, args=[*args, "stdio", name], env=[])


@asynccontextmanager
async def address(kind: str, name: str) -> AsyncIterator[str]:
    """A server that listens; where."""
    process = await asyncio.create_subprocess_exec(*SERVER, kind, name, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout
        port = int(await process.stdout.readline())
        yield f"http://127.0.0.1:{port}/{'mcp' if kind == 'http' else 'sse'}"
    finally:
        process.kill()
        await process.wait()


def tooled(journal: Any = None) -> Agent:
    """An agent that runs the tool that a prompt names: `name argument=number …`."""
    agent = Agent("tooled")
    kit = Kit(agent, journal=journal or MemoryJournal(), titles="none")

    @kit.prompt
    async def run(turn: KitTurn[None]) -> None:
        name, *words = turn.text.split()
        mounts = turn.session.mcp
        assert mounts
        tools = await mounts.tools()
        if name == "tools":
            await turn.say(" ".join(sorted(tool.full_name for tool in tools)))
            return
        found = next((tool for tool in tools if tool.full_name == name), None)
        tool = found or MountedTool(server="gone", name=name, description="", input_schema={})
        result = await mounts.call(tool, {key: int(value) for key, value in (w.split("=") for w in words)})
        await turn.say(f"{'error: ' if result.is_error else ''}{result.text}")

    return agent


async def test_the_tools_of_a_program_can_be_called_in_its_session() -> None:
    async with listening(tooled()) as (handle, _):
        session = await handle.new_session(cwd="/tmp", mcp_servers=[official("calc")])
        expected = "calc__add calc__fail"
        assert (await session.prompt("tools")).text == expected
        assert (await session.prompt("calc__add left=2 right=40")).text == "42"
        assert (await session.prompt("calc__fail")).text == "error: Error executing tool fail"
        assert (await session.prompt("missing")).text.startswith("error: The MCP server gone")


@pytest.mark.in_turn("kind")
@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_the_tools_behind_an_address_can_be_called(kind: str) -> None:
    async with address(kind, "far") as url, listening(tooled()) as (handle, _):
        made: Any = McpServerHttp if kind == "http" else McpServerSse
        header = HttpHeader(name="Authorization", value="Bearer abc")
        session = await handle.new_session(
            cwd="/tmp", mcp_servers=[made(name="far", url=url, headers=[header])]
        )
        assert (await session.prompt("far__add left=1 right=2")).text == "3"


async def test_sessions_do_not_see_the_servers_of_each_other() -> None:
    async with listening(tooled()) as (handle, _):
        one, other = await asyncio.gather(
            handle.new_session(cwd="/tmp", mcp_servers=[program("one", GIVEN="first")]),
            handle.new_session(cwd="/", mcp_servers=[program("other", GIVEN="second")]),
        )
        assert (await other.prompt("tools")).text.startswith("other__add")
        told = (await one.prompt("one__whoami")).text.split()
        assert (told[0], told[2:]) == ("one", ["first", "/tmp"])
        assert (await one.prompt("other__whoami")).text.startswith("error")


async def test_a_server_ends_with_its_session_and_takes_its_children_along() -> None:
    async with listening(tooled()) as (handle, _):
        kept = await handle.new_session(cwd="/tmp", mcp_servers=[program("kept")])
        session = await handle.new_session(cwd="/tmp", mcp_servers=[program("calc")])
        pid = int((await session.prompt("calc__whoami")).text.split()[1])
        child = int((await session.prompt("calc__start_child")).text)
        assert alive(pid)
        assert alive(child)
        await session.close()
        assert not alive(pid)
        assert not alive(child)
        assert (await kept.prompt("kept__add left=1 right=1")).text == "2"


async def test_a_tool_that_hangs_is_left_by_a_cancel_and_its_server_stays(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    async with listening(tooled()) as (handle, _):
        session = await handle.new_session(cwd="/tmp", mcp_servers=[program("calc", GIVEN=str(asked))])
        assert (await session.prompt("calc__add left=1 right=1")).text == "2"
        turn = session.prompt("calc__hang")
        going = asyncio.ensure_future(stop_reason(turn))
        await eventually(asked.exists)
        await session.cancel()
        assert await going == "cancelled"
        assert (await session.prompt("calc__add left=2 right=2")).text == "4"


async def stop_reason(turn: PromptTurn) -> str:
    return (await turn).stop_reason


async def test_a_server_that_dies_costs_its_own_tools_only() -> None:
    async with listening(tooled()) as (handle, _):
        session = await handle.new_session(cwd="/tmp", mcp_servers=[program("calc"), program("kept")])
        os.kill(int((await session.prompt("calc__whoami")).text.split()[1]), signal.SIGKILL)
        assert (await session.prompt("calc__whoami")).text.startswith("error: The MCP server calc")
        assert (await session.prompt("kept__add left=1 right=1")).text == "2"


async def test_servers_end_with_the_connection() -> None:
    async with listening(tooled()) as (handle, _):
        session = await handle.new_session(cwd="/tmp", mcp_servers=[program("calc")])
        pid = int((await session.prompt("calc__whoami")).text.split()[1])
    assert not alive(pid)


MISSING = McpServerStdio(name="missing", command="/no/such/program", args=["--key", "hunter2"], env=[])


async def test_a_server_that_does_not_start_is_a_notice_and_the_session_goes_on() -> None:
    async with listening(tooled()) as (handle, heard):
        session = await handle.new_session(cwd="/tmp", mcp_servers=[MISSING, program("calc")])
        assert (await session.prompt("calc__add left=1 right=1")).text == "2"
        notices = [update for update in heard.updates(session.id) if isinstance(update, Notice)]
        assert [notice.title for notice in notices] == ["The MCP server missing is not available"]
        assert notices[0].description == "Its program could not be started."


async def test_a_client_without_notices_hears_of_it_in_the_next_turn() -> None:
    async with raw_client(tooled()) as client:
        await client.open()
        server = {"name": "missing", "command": "/no/such/program", "args": [], "env": []}
        client.send(request("m", "session/new", {"cwd": "/tmp", "mcpServers": [server]}))
        session_id = (await client.answer_to("m"))["result"]["sessionId"]
        client.prompt(1, session_id, "tools")
        await client.answer_to(1)
        client.prompt(2, session_id, "tools")
        await client.answer_to(2)
        said = [text for text in client.texts(session_id) if text]
        assert said == ["The MCP server missing is not available. Its program could not be started.\n"]


async def test_secrets_of_servers_are_not_in_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    async with open_journal(path) as journal, listening(tooled(journal)) as (handle, _):
        server = program("calc", GIVEN="opensesame")
        away = McpServerHttp(
            name="away",
            url="http://127.0.0.1:9/secretpath",
            headers=[HttpHeader(name="X", value="swordfish")],
        )
        session = await handle.new_session(cwd="/tmp", mcp_servers=[server, away])
        assert (await session.prompt("calc__add left=1 right=1")).text.endswith("2")
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    assert b"right=1" in stored
    for secret in (b"opensesame", b"swordfish", b"secretpath"):
        assert secret not in stored


async def test_a_session_that_is_closed_does_not_wait_for_a_server_that_never_answers(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    silent = McpServerStdio(name="silent", command="sh", args=["-c", f"echo $$ > {pid}; sleep 600"], env=[])
    async with listening(tooled()) as (handle, _):
        session = await handle.new_session(cwd="/tmp", mcp_servers=[silent])
        await eventually(lambda: pid.exists() and pid.read_text().strip())
        await session.close()
        assert not alive(int(pid.read_text()))


async def test_without_the_package_nothing_is_advertised_and_a_server_is_a_notice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.delitem(sys.modules, "dragoman_local.kit.mcp_wire", raising=False)
    async with listening(tooled()) as (handle, heard):
        assert "mcpCapabilities.http" not in handle.capabilities
        session = await handle.new_session(cwd="/tmp", mcp_servers=[program("calc")])
        assert (await session.prompt("tools")).text == ""
        notice = heard.updates(session.id)[0]
        assert isinstance(notice, Notice)
        assert (
            notice.description
            == "This agent was installed without MCP support. Try: pip install 'dragoman-sdk[mcp]'"
        )


async def test_nothing_that_a_server_was_given_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    gone = McpServerHttp(
        name="gone", url="http://127.0.0.1:9/key=hunter2", headers=[HttpHeader(name="X", value="hunter2")]
    )
    missing = McpServerStdio(
        name="missing", command="/none", args=["hunter2"], env=[EnvVariable(name="K", value="hunter2")]
    )
    async with listening(tooled()) as (handle, _):
        session = await handle.new_session(cwd="/tmp", mcp_servers=[gone, missing])
        await session.prompt("tools")
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("dragoman")]
    assert len([line for line in ours if "MCP server" in line]) == 2
    assert "hunter2" not in "\n".join(ours)


async def test_what_is_advertised_is_what_can_be_done() -> None:
    async with listening(tooled()) as (handle, _):
        assert "mcpCapabilities.http" in handle.capabilities
        assert "mcpCapabilities.sse" in handle.capabilities
    plain = Agent("plain")
    Kit(plain, journal=MemoryJournal(), mcp=False)
    async with listening(plain) as (handle, _):
        assert "mcpCapabilities.http" not in handle.capabilities
