"""`dragoman serve` as a process: reached over both transports, closed to everybody else, gone when told."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from dragoman import connect
from dragoman.errors import LinkClosed, LocalMistake
from dragoman.transport.websocket import open_websocket
from dragoman_hub.api.listener import open_socket, parse_listen
from dragoman_hub.gate.admission import new_token
from tests import forks
from tests.transport.programs import alive, eventually

ECHO = ["agent", "echo"]


class Served:
    def __init__(self, process: asyncio.subprocess.Process, addresses: list[str], token: str) -> None:
        self.process = process
        self.ws, self.http = addresses
        self.headers = {"authorization": f"Bearer {token}"}


@asynccontextmanager
async def serving(folder: Path, *, dragoman: Sequence[str] = forks.DRAGOMAN) -> AsyncIterator[Served]:
    token = new_token()
    (folder / "token").write_text(token)
    words = ["serve", "--token-file", str(folder / "token"), "--", *dragoman, *ECHO]
    process = await asyncio.create_subprocess_exec(*dragoman, *words, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        lines = [(await process.stdout.readline()).decode().strip() for _ in range(2)]
        yield Served(process, lines, token)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()


@pytest.mark.bound(30)
async def test_an_agent_is_reached_over_both_transports_and_nobody_else_comes_in(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        for address in (served.ws, served.http):
            async with connect(address, headers=served.headers) as agent:
                session = await agent.new_session(cwd="/tmp")
                assert (await session.prompt("hello")).text.endswith("hello")
        with pytest.raises(LinkClosed, match="status 401"):
            await open_websocket(served.ws)
        with pytest.raises(LinkClosed, match="status 403"):
            await open_websocket(served.ws, headers={**served.headers, "origin": "https://evil.example"})
        async with httpx2.AsyncClient(timeout=None) as http:
            assert (await http.post(served.http)).status_code == 401
            rebound = {**served.headers, "host": "evil.example"}
            assert (await http.post(served.http, headers=rebound)).status_code == 421
            ticket = (await http.post(served.http.replace("/acp", "/ticket"), headers=served.headers)).json()
        once = f"{served.ws}?ticket={ticket['ticket']}"
        await (await open_websocket(once)).aclose()
        with pytest.raises(LinkClosed, match="status 401"):
            await open_websocket(once)


@pytest.mark.bound(30)
async def test_an_agent_ends_with_its_connection_and_all_with_the_server(tmp_path: Path) -> None:
    def children(of: int) -> set[int]:
        found = Path(f"/proc/{of}/task/{of}/children")
        return {int(pid) for pid in found.read_text().split()} if found.exists() else set()

    async with serving(tmp_path, dragoman=forks.unforked(forks.DRAGOMAN)) as served:
        before = children(served.process.pid)
        async with connect(served.ws, headers=served.headers) as agent:
            await agent.new_session(cwd="/tmp")
            started = children(served.process.pid) - before
            assert started
        await eventually(lambda: not any(map(alive, started)), seconds=10)
        async with connect(served.ws, headers=served.headers) as agent:
            await agent.new_session(cwd="/tmp")
            started = children(served.process.pid) - before
            served.process.send_signal(signal.SIGTERM)
            assert await served.process.wait() == 0
            await eventually(lambda: not any(map(alive, started)), seconds=10)


def test_places_to_listen_at() -> None:
    assert parse_listen("127.0.0.1:80") == ("127.0.0.1", 80)
    assert parse_listen("[::1]:0") == ("::1", 0)
    assert parse_listen(":8000") == ("127.0.0.1", 8000)
    for wrong in ("", "8000", "host:", "host:x", "host:70000"):
        with pytest.raises(LocalMistake, match="HOST:PORT"):
            parse_listen(wrong)
    with pytest.raises(LocalMistake, match="TLS is needed"):
        open_socket("0.0.0.0", 0, tls=None, insecure=False)
    os.close(open_socket("127.0.0.1", 0, tls=None, insecure=False).detach())


@pytest.mark.bound(30)
@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_connect_turns_a_server_back_into_a_stdio_agent(scheme: str, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        address = served.ws if scheme == "ws" else served.http
        words = [*forks.DRAGOMAN, "connect", "--token-file", str(tmp_path / "token"), address]
        async with connect(words, env="inherit") as agent:
            session = await agent.new_session(cwd="/tmp")
            assert (await session.prompt("hello")).text.endswith("hello")
            served.process.send_signal(signal.SIGTERM)
            await served.process.wait()
            with pytest.raises(LinkClosed):
                await session.prompt("are you there?")


async def test_a_server_that_cannot_be_reached_is_said() -> None:
    words = ["connect", "ws://127.0.0.1:9/acp"]
    process = await asyncio.create_subprocess_exec(
        *forks.DRAGOMAN, *words, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, err = await process.communicate()
    assert process.returncode == 9
    assert b"cannot be reached" in err
