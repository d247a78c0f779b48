"""What a listener asks of the system: answers are sent at once, also while the last word is on its way.

With Nagle's algorithm a small write waits until the one before it is acknowledged, and a peer that has
nothing to say acknowledges 40 ms later. So each answer would come that much behind the last word of its turn.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import sys
from argparse import Namespace
from contextlib import suppress
from pathlib import Path

import pytest

from dragoman import Client, connect
from dragoman.errors import LocalMistake
from dragoman_app.cli.served_address import ServedAddress
from dragoman_hub.api.agent_per_connection import AgentPerConnection
from dragoman_hub.api.endpoint import AcpEndpoint
from dragoman_hub.api.listener import open_listener, open_socket
from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts, new_token
from tests.boxes import modules
from tests.forks import DRAGOMAN
from tests.runtime.raw import until


def connections() -> dict[tuple[str, str], bool]:
    """Both ends of every TCP connection of this process, by the addresses of the end and of its peer, and
    whether it sends at once.
    """
    found: dict[tuple[str, str], bool] = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            if not stat.S_ISSOCK(os.stat(int(name)).st_mode):
                continue
            end = socket.socket(fileno=os.dup(int(name)))
        except OSError:  # closed since
            continue
        with end:
            if end.family not in (socket.AF_INET, socket.AF_INET6) or end.type != socket.SOCK_STREAM:
                continue
            if end.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                continue
            is_prompt = bool(end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            with suppress(OSError):  # bound, and nobody's end yet
                found[str(end.getsockname()), str(end.getpeername())] = is_prompt
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="the sockets of a process are listed in /proc")
@pytest.mark.bound(20)
@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_both_ends_of_a_connection_send_at_once(scheme: str, tmp_path: Path) -> None:
    token = new_token()
    server_socket = open_socket("127.0.0.1", 0, tls=None, insecure=False)
    port = server_socket.getsockname()[1]
    admission = Admission({hash_token(token): Grant("owner")}, hosts=local_hosts(port))
    agents = AgentPerConnection([*DRAGOMAN, "agent", "echo"])
    before = connections()
    async with open_listener(AcpEndpoint(admission, agents.accept), server_socket):
        url, headers = f"{scheme}://127.0.0.1:{port}/acp", {"authorization": f"Bearer {token}"}
        async with connect(url, client=Client("test"), headers=headers) as agent:
            session = await agent.new_session(cwd=str(tmp_path))
            async for _ in session.prompt("word"):  # all connections that a turn needs are open
                await until(lambda: are_prompt(connections().items() - before.items()), turns=2_000)
        await agents.aclose()


def are_prompt(found: set[tuple[tuple[str, str], bool]]) -> bool:
    """Whether all connections have both ends, and both send at once: one may just have begun or ended."""
    ends = dict(found)
    return len(ends) >= 2 and all(ends.values()) and {(peer, end) for end, peer in ends} == set(ends)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_what_commands_serve_is_sent_at_once(host: str, tmp_path: Path) -> None:
    """`dragoman serve`, its OpenAI door and `dragoman mcp --http` listen where this says."""
    listen = f"[{host}]:0" if ":" in host else f"{host}:0"
    args = Namespace(
        listen=listen, tls_cert="", tls_key="", token_file=None, insecure=False, host=[], origin=[]
    )
    try:
        address = ServedAddress(args)
    except LocalMistake as error:
        pytest.skip(f"this machine has no such address: {error}")
    address.socket.listen()
    with address.socket, socket.create_connection(address.socket.getsockname()[:2]):
        accepted, _ = address.socket.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


WITHOUT_LOOP = {
    "dragoman_local.sandbox.proxy": "a process of its own, of threads: it has no loop",
    "dragoman_local.sandbox.launcher": "it opens the ports in the sandbox for the proxy, before any loop",
    "dragoman_app.cli.sandbox": "the text of a program that tries the sandbox from within, and ends",
}
"""Other modules that make sockets by themselves, and why they may: asyncio is not in their processes."""


def test_nobody_else_listens_or_connects_without_asyncio() -> None:
    """asyncio sends at once over what it connects or binds by itself, and over no socket that was made
    without the protocol's number: those are made by the listener alone.
    """
    own_socket = re.compile(
        r"create_server\(|socket\.socket\((?!socket\.AF_UNIX|fileno)|create_connection\(\("
    )
    places = {module for module, path in modules() if own_socket.search(path.read_text(encoding="utf-8"))}
    assert places == {"dragoman_hub.api.listener", *WITHOUT_LOOP}
