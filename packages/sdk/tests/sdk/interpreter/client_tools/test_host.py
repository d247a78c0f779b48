"""From an offer to a tool call and back: the socket, the token, the program that the agent starts."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client

from dragoman.dialect.message import Message, answer, as_object, notification, refusal, request
from dragoman.sdk.interpreter.client_tools.host import ClientTools
from dragoman.sdk.interpreter.client_tools.pipe import SOCKET, TOKEN, run

TOOLS = ["read_text_file", "run_command"]


class Edge:
    """Stands for the edge and the client behind it."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[Message] = asyncio.Queue()
        self.tools = ClientTools(lambda position, message: self.told.put_nowait(message))

    async def __aenter__(self) -> Edge:
        return self

    async def __aexit__(self, *reason: object) -> None:
        await self.tools.aclose()

    async def offered(self, name: str = "o1") -> dict[str, str]:
        """The environment of the server of an offer."""
        self.tools.ask(0, request(name, "client_tools/offer", {"tools": TOOLS}))
        self.server = as_object((await self.told.get()).result)["server"]
        return {variable["name"]: variable["value"] for variable in self.server["env"]}

    def bind(self, name: str = "o1") -> None:
        self.tools.ask(0, notification("client_tools/bind", {"offer": name, "sessionId": "s"}))

    def withdraw(self, name: str = "o1") -> None:
        self.tools.ask(0, notification("client_tools/withdraw", {"offer": name}))

    async def answers(self, result: Any) -> Message:
        asked = await self.told.get()
        self.tools.ask(0, answer(asked.id, result))
        return asked


async def caller(
    env: dict[str, str], token: str | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_unix_connection(env[SOCKET])
    writer.write((token or env[TOKEN]).encode() + b"\n")
    return reader, writer


def line(id: int, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"


READ = line(1, "tools/call", name="read_text_file", arguments={"path": "/a"})


async def test_the_socket_is_for_us_alone_and_gone_at_the_end() -> None:
    async with Edge() as edge:
        env = await edge.offered()
        folder = Path(env[SOCKET]).parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert edge.server["name"] == "client"
        assert os.path.isabs(edge.server["command"])
        await edge.tools.aclose()
        assert not folder.exists()


@pytest.mark.parametrize("token", ["", "wrong", "0" * 64])
async def test_who_does_not_know_the_token_is_not_heard(token: str) -> None:
    async with Edge() as edge:
        env = await edge.offered()
        reader, writer = await caller(env, token or " ")
        writer.write(line(1, "ping"))
        assert await reader.read() == b""
        writer.close()


async def test_each_session_has_a_token_of_its_own() -> None:
    async with Edge() as edge:
        first, second = await edge.offered("o1"), await edge.offered("o2")
        assert first[SOCKET] == second[SOCKET]
        assert first[TOKEN] != second[TOKEN]
        edge.withdraw("o1")
        gone, writer = await caller(first)
        assert await gone.read() == b""
        writer.close()
        reader, writer = await caller(second)
        writer.write(line(1, "ping"))
        assert json.loads(await reader.readline())["result"] == {}
        writer.close()


async def test_a_call_waits_until_the_session_has_its_name() -> None:
    async with Edge() as edge:
        reader, writer = await caller(await edge.offered())
        writer.write(READ + line(2, "ping"))
        assert json.loads(await reader.readline())["id"] == 2
        assert edge.told.empty()
        edge.bind()
        asked = await edge.answers({"content": "fish"})
        assert (asked.method, asked.params) == ("fs/read_text_file", {"sessionId": "s", "path": "/a"})
        assert json.loads(await reader.readline())["result"]["content"][0]["text"] == "fish"
        writer.close()


async def test_a_call_of_a_session_that_is_over_fails() -> None:
    async with Edge() as edge:
        reader, writer = await caller(await edge.offered())
        writer.write(READ + line(2, "ping"))
        assert json.loads(await reader.readline())["id"] == 2
        edge.withdraw()  # while it waits
        assert json.loads(await reader.readline())["result"]["isError"] is True
        writer.write(READ)
        assert json.loads(await reader.readline())["result"]["isError"] is True
        writer.close()


async def test_a_refusal_of_the_client_is_a_failed_call() -> None:
    async with Edge() as edge:
        reader, writer = await caller(await edge.offered())
        edge.bind()
        writer.write(READ)
        asked = await edge.told.get()
        edge.tools.ask(0, refusal(asked.id, -32002, "no such file"))
        edge.tools.ask(0, answer("nobody", {}))
        told = json.loads(await reader.readline())["result"]
        assert (told["isError"], told["content"][0]["text"]) == (True, "The client refused: no such file")
        writer.close()


async def test_a_caller_that_leaves_gives_its_terminal_back() -> None:
    async with Edge() as edge:
        _, writer = await caller(await edge.offered())
        edge.bind()
        writer.write(line(1, "tools/call", name="run_command", arguments={"command": "sleep"}))
        await edge.answers({"terminalId": "t"})
        assert (await edge.told.get()).method == "terminal/wait_for_exit"
        writer.close()
        assert (await edge.answers({})).method == "terminal/release"


async def test_the_end_does_not_wait_for_anybody() -> None:
    async with Edge() as edge:
        reader, writer = await caller(await edge.offered())
        edge.bind()
        writer.write(line(1, "tools/call", name="run_command", arguments={"command": "sleep"}))
        await edge.answers({"terminalId": "t"})
        await edge.told.get()
        await edge.tools.aclose()
        await reader.read()  # it ends
        writer.close()


async def test_where_no_socket_can_be_made_the_edge_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = tmp_path / ("deep" * 30)  # longer than the name of a socket may be
    far.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(far))
    async with Edge() as edge:
        edge.tools.ask(0, request("o1", "client_tools/offer", {"tools": TOOLS}))
        assert as_object((await edge.told.get()).error)["code"] == -32603
        assert list(far.iterdir()) == []


@pytest.mark.bound(20)
async def test_the_official_package_lists_and_calls_the_tools_of_the_program() -> None:
    async with Edge() as edge:
        env = await edge.offered()
        edge.bind()
        program = StdioServerParameters(command=edge.server["command"], args=edge.server["args"], env=env)
        async with mcp.Client(stdio_client(program, errlog=sys.stderr), mode="auto") as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == TOOLS
            answering = asyncio.get_running_loop().create_task(edge.answers({"content": "fish"}))
            result = await client.call_tool("read_text_file", {"path": "/pond/a"})
            assert (await answering).params == {"sessionId": "s", "path": "/pond/a"}
            assert [getattr(item, "text", None) for item in result.content] == ["fish"]


def test_the_program_alone_says_what_it_is_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run({}) == 2
    assert run({SOCKET: str(tmp_path / "none"), TOKEN: "t"}) == 1
    assert "only an interpreter starts this" in capsys.readouterr().err
