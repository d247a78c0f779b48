"""Peers that open connections and do not show a token: what they cost, and that the owner gets in."""

from __future__ import annotations

import asyncio
import logging
import select
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.pace import patience
from dragoman_hub.api.listener import Tls
from dragoman_hub.gate.connection_limits import ConnectionLimits
from tests.hub.doors import HALF, asked, door, peers
from tests.nats.certificates import Authority

UPGRADE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec_websocket_version": "13",
    "sec_websocket_key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
FEW = ConnectionLimits(unadmitted=8, unadmitted_per_address=8)
SOON = ConnectionLimits(head=0.2)


def certified(folder: Path) -> Tls:
    pair = Authority(folder).pair("hub")
    return Tls(str(pair.cert), str(pair.key))


async def test_the_oldest_half_sent_requests_are_closed_and_the_owner_gets_in() -> None:
    async with door(connections=FEW) as at, peers(at, 40) as strangers:
        for stranger in strangers:
            stranger.say(HALF)
        for stranger in strangers[:32]:
            assert await stranger.closed()
        assert await asked(at, at.ticket) == 200
        assert await asked(at, at.head("GET /acp", **UPGRADE)) == 101
        assert [stranger.is_open for stranger in strangers[34:]] == [True] * 6
        assert at.refused.count("connections") == 33


async def test_an_admitted_connection_stays_when_strangers_come() -> None:
    async with door(connections=FEW) as at, peers(at, 2) as (web_socket, http):
        web_socket.say(at.head("GET /acp", **UPGRADE))
        http.say(at.ticket)
        assert (await web_socket.status(), await http.status()) == (101, 200)
        async with peers(at, 20) as strangers:
            for stranger in strangers[:12]:
                assert await stranger.closed()
            http.say(at.ticket)
            assert await http.status() == 200
            assert web_socket.is_open


@pytest.mark.parametrize(
    "said",
    [b"", HALF, b"POST /acp HTTP/1.1\r\nhost: other\r\ncontent-length: 1000\r\n\r\nhalf of a body"],
    ids=["nothing", "half a head", "half a body"],
)
async def test_a_connection_without_a_whole_request_is_closed_in_time(said: bytes) -> None:
    async with door(connections=SOON) as at, peers(at, 1) as (peer,):
        peer.say(said)
        assert await peer.closed()


async def test_a_second_head_that_is_never_finished_has_the_same_deadline() -> None:
    async with door(connections=SOON) as at, peers(at, 1) as (peer,):
        peer.say(at.ticket)
        assert await peer.status() == 200
        peer.say(HALF)
        assert await peer.closed()


async def test_a_body_that_dribbles_behind_its_answer_does_not_keep_the_connection() -> None:
    async with door(connections=SOON) as at, peers(at, 1) as (peer,):
        peer.say(b"POST /acp HTTP/1.1\r\nhost: other\r\ncontent-length: 100000\r\n\r\n")
        assert await peer.status() == 421
        closed = asyncio.create_task(peer.closed())
        while not closed.done():
            peer.say(b"x")
            await asyncio.wait((closed,), timeout=0.01)


async def test_a_reader_of_a_large_answer_that_gets_on_is_not_cut_off() -> None:
    size = 16 * 1024 * 1024  # more than the system takes of the hub at once

    async def app(scope: dict[str, object], receive: object, send: object) -> None:
        assert callable(send)
        body = bytes(size) if scope["path"] == "/large" else b"the end"
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": body})

    async with door(app, connections=ConnectionLimits(head=0.15)) as at:
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)  # so that it is the hub that waits
        line.connect(("127.0.0.1", at.port))
        reader, writer = await asyncio.open_connection(sock=line, limit=65536)
        writer.write(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n")
        loop = asyncio.get_running_loop()
        begun, heard = loop.time(), 0
        while loop.time() - begun < 0.5:  # for three deadlines, a bit at a time
            heard += len(await reader.read(65536))
            await asyncio.wait((loop.create_future(),), timeout=0.02)
        assert heard < size
        # The connection was not closed behind the answer either: it is good for another request.
        writer.write(b"GET /small HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        rest = await reader.read()
        writer.close()
        await writer.wait_closed()
    assert heard + len(rest) > size
    assert rest.endswith(b"the end")


async def test_a_tls_handshake_that_is_never_finished_is_ended(tmp_path: Path) -> None:
    async with door(connections=SOON, tls=certified(tmp_path)) as at, peers(at, 3) as (silent, half, garbage):
        half.say(b"\x16\x03\x01\x02\x00\x01\x00")
        garbage.say(b"GET / HTTP/1.1\r\n\r\n")
        for peer in (silent, half, garbage):
            assert await peer.closed()


async def test_handshakes_count_as_connections_without_a_token(tmp_path: Path) -> None:
    async with door(connections=FEW, tls=certified(tmp_path)) as at, peers(at, 12) as strangers:
        for stranger in strangers[:4]:
            assert await stranger.closed()
        assert at.refused.count("connections") == 4  # and not by the deadline
        assert strangers[-1].is_open


@pytest.mark.parametrize("upgrade", [{}, UPGRADE], ids=["http", "websocket"])
async def test_a_target_that_is_not_ascii_is_a_bad_request_and_no_traceback(
    upgrade: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async with door() as at:
        assert await asked(at, at.head("GET /acp\xe9?x=\xff", **upgrade)) == 400
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_head_without_measure_is_refused_while_it_comes() -> None:
    async with door() as at, peers(at, 1) as (peer,):
        peer.say(b"GET / HTTP/1.1\r\nx: ")
        for _ in range(8):
            peer.say(bytes(b"x" * 65536))
        assert await peer.status() in (431, 0)


async def test_a_thousand_bad_requests_are_a_few_lines_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with door() as at:
        for _ in range(200):
            assert await asked(at, b"GET /acp HTTP/1.1\r\nhost: " + b"h" * 4096 + b"\r\n\r\n") == 421
    assert len(caplog.records) < 12
    assert sum(len(message) for message in caplog.messages) < 4000


PROGRAM = """
import asyncio, resource, sys
from dragoman_hub.api.listener import open_listener, open_socket
from dragoman_hub.api.server import admit

async def app(scope, receive, send):
    if scope["path"] == "/admitted":
        admit(scope)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    if scope["path"] == "/admitted":
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
    await send({"type": "http.response.body", "body": b""})

async def main():
    bound = open_socket("127.0.0.1", 0, tls=None, insecure=False)
    resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
    async with open_listener(app, bound):
        print(bound.getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)

import logging
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
asyncio.run(main())
"""


def request(port: int, path: str) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=patience(20))
    made.sendall(b"GET %b HTTP/1.1\r\nhost: x\r\n\r\n" % path.encode())
    return made


def is_answered(client: socket.socket) -> bool:
    return client.recv(65536).startswith(b"HTTP/1.1 200")


def test_a_hub_without_descriptors_serves_its_clients_says_so_once_and_recovers() -> None:
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with ExitStack() as stack, subprocess.Popen([sys.executable, "-c", PROGRAM], text=True, **pipes) as hub:
        assert hub.stdout is not None
        assert hub.stderr is not None
        port = int(hub.stdout.readline())
        # More clients than descriptors: the last ones wait until others leave.
        clients = [stack.enter_context(request(port, "/admitted")) for _ in range(60)]
        lines: list[str] = []
        while not lines or "ERROR" not in lines[-1]:
            lines.append(hub.stderr.readline())
        served, _, _ = select.select(clients, [], [], 20)
        while more := select.select(set(clients) - set(served), [], [], 0.2)[0]:
            served += more
        assert all(map(is_answered, served))
        assert 20 < len(served) < 48
        for client in served:
            client.close()
        waiting = [client for client in clients if client not in served]
        assert all(map(is_answered, waiting))
        # More strangers than descriptors: the oldest of them make room for the newest.
        for _ in range(80):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        with request(port, "/") as owner:
            assert is_answered(owner)
        for client in waiting:
            client.close()
        lines += hub.communicate()[1].splitlines()
    assert [line[:45] for line in lines if "ERROR" in line] == [
        "ERROR the hub cannot accept connections: Too "
    ]
    assert any("accepts connections again" in line for line in lines)
    assert len(lines) < 30, "\n".join(lines)
