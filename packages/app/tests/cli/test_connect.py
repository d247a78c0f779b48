"""`dragoman connect` as an editor starts it: it survives, says how it stands, and ends with a status."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dragoman.sdk.resumption import ConnectionNotice
from dragoman_app.cli.connect import Progress
from dragoman_hub.api.endpoint import AcpEndpoint
from dragoman_hub.api.listener import open_listener, open_socket
from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts, new_token
from tests.sdk.resumption.model import Message, frame
from tests.sdk.resumption.model_hub_server import Server
from tests.sdk.resumption.table import SESSION

TOKEN = new_token()


class Process:
    """The command, with its three streams."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.wait = process.wait
        self.stdin, self.stdout, self.stderr = process.stdin, process.stdout, process.stderr

    def ask(self, number: int, method: str, **params: object) -> None:
        self.stdin.write(frame({"id": number, "method": method, "params": params}))

    async def heard(self) -> Message:
        message: Message = json.loads(await self.stdout.readline())
        return message


@asynccontextmanager
async def connected(server: Server, *options: str, token: str = TOKEN) -> AsyncIterator[Process]:
    bound = open_socket("127.0.0.1", 0, tls=None, insecure=False)
    port = bound.getsockname()[1]
    door = Admission({hash_token(TOKEN): Grant("one")}, hosts=local_hosts(port))
    words = ["-m", "dragoman", "connect", *options, f"ws://127.0.0.1:{port}/acp"]
    pipe = asyncio.subprocess.PIPE
    async with open_listener(AcpEndpoint(door, server.accept), bound):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *words,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env={**os.environ, "DRAGOMAN_TOKEN": token},
        )
        try:
            yield Process(process)
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()
            await server.cut()


@pytest.mark.bound(30)
async def test_an_editor_notices_a_cut_by_a_pause_and_a_line_on_standard_error() -> None:
    server = Server()
    async with connected(server, "--agent", "review") as process:
        process.ask(1, "initialize", protocolVersion=1)
        assert (await process.heard())["id"] == 1
        process.ask(2, "session/new", **SESSION)
        assert (await process.heard())["id"] == 2
        assert (await process.heard())["params"]["update"]["n"] == "hello"
        process.ask(3, "session/prompt", sessionId="s0", prompt=[{"type": "text", "text": "qu"}])
        question = await process.heard()
        await server.cut()
        assert b"connection lost (" in await process.stderr.readline()
        assert b"back after" in await process.stderr.readline()
        process.stdin.write(frame({"id": question["id"], "result": {"said": "yes"}}))
        assert (await process.heard())["params"]["update"]["n"] == "n2"
        assert (await process.heard())["result"] == {"stopReason": "end_turn"}
        assert server.heard[0]["params"]["_meta"]["dragoman"]["agent"] == "review"
        process.stdin.close()
        assert await process.wait() == 0


@pytest.mark.bound(30)
async def test_a_wrong_token_is_said_and_has_a_status_of_its_own() -> None:
    async with connected(Server(), token="wrong") as process:
        process.ask(1, "initialize", protocolVersion=1)
        assert "status 401" in (await process.heard())["error"]["message"]
        assert b"did not accept your token" in await process.stderr.read()
        assert await process.wait() == 8


@pytest.mark.bound(30)
async def test_a_hub_that_is_gone_for_too_long_is_given_up() -> None:
    server = Server()
    async with connected(server, "--give-up", "0") as process:
        process.ask(1, "initialize", protocolVersion=1)
        await process.heard()
        await server.cut()
        assert b"the hub was gone" in await process.stderr.read()
        assert await process.wait() == 9


def test_progress_is_told_once_for_each_reason(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    progress(ConnectionNotice(kind="unreached", seconds=0.1, reason="cannot be reached"))
    progress(ConnectionNotice(kind="back", seconds=1.0))
    for reason in ("it closed the connection", "it closed the connection", "refused", "refused"):
        progress(ConnectionNotice(kind="lost", seconds=0.44, reason=reason))
    progress(ConnectionNotice(kind="back", seconds=3.21))
    progress(ConnectionNotice(kind="lost", seconds=0.1, reason="refused"))
    assert capsys.readouterr().err.splitlines() == [
        "dragoman connect: no connection (cannot be reached). Trying again, next in 0.1 s",
        "dragoman connect: connected after 1.0 s",
        "dragoman connect: connection lost (it closed the connection). Trying again, next in 0.4 s",
        "dragoman connect: connection lost (refused). Trying again, next in 0.4 s",
        "dragoman connect: back after 3.2 s",
        "dragoman connect: connection lost (refused). Trying again, next in 0.1 s",
    ]
