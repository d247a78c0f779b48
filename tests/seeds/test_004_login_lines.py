"""The overview's login, on the wire: credentials reach an agent that takes them, others only if the user has
said so, and nothing else ever holds them.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.seeds.lines import FOREIGN, TRANSLATE, Frame, LinePeer, lines

pytestmark = pytest.mark.bound(60)  # programs start slowly on a busy machine

KEY = "owl-secret"
ACPEX_AGENT = [sys.executable, "-I", "-S", str(FOREIGN / "acpex" / "agent.py")]
LOGIN_AGENT = [sys.executable, "-I", "-S", str(Path(__file__).with_name("login_agent.py"))]
INITIALIZE = {
    "protocolVersion": 1,
    "clientInfo": {"name": "My Editor", "version": "1.0.0"},
    "capabilities": {
        "fileSystem": {"readTextFile": True, "writeTextFile": True},
        "terminal": {"create": True},
    },
    "authenticationMethods": [],
}
NEW = {"cwd": "/tmp", "mcpServers": []}


async def log_in(peer: LinePeer, method: str, key: str = KEY) -> Frame:
    return await peer.ask("authenticate", {"methodId": method, "data": {"apiKey": key}})


def assert_nowhere(key: str, peer: LinePeer, complaints: bytes, *files: Path) -> None:
    """Neither in what was said, nor in a complaint, nor in a file."""
    assert key.encode() not in b"".join(peer.raw)
    assert key.encode() not in complaints
    assert all(key not in file.read_text() for file in files)


@pytest.mark.parametrize("options", [("--agent", "acpex"), ("--client", "acpex", "--agent", "acpex")])
async def test_credentials_reach_an_agent_of_the_same_kind(options: tuple[str, ...], tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    async with lines(*TRANSLATE, "--ledger", str(ledger), *options, "--", *ACPEX_AGENT) as peer:
        await peer.ask("initialize", INITIALIZE)
        assert (await log_in(peer, "key"))["result"] == {}
        assert_nowhere(KEY, peer, await peer.close(), ledger)


async def test_a_failed_login_is_minus_32001_and_can_be_tried_again() -> None:
    async with lines(*TRANSLATE, "--agent", "acpex", "--", *ACPEX_AGENT) as peer:
        await peer.ask("initialize", INITIALIZE)
        wrong = await log_in(peer, "key", "a wrong one")
        assert wrong["error"] == {"code": -32001, "message": "Invalid API key"}
        assert (await log_in(peer, "key"))["result"] == {}
        await peer.close()


async def test_an_agent_that_logs_in_by_a_variable_gets_it_if_the_user_has_said_so(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    command = [
        *TRANSLATE,
        "--credentials",
        "--ledger",
        str(ledger),
        "--",
        *LOGIN_AGENT,
        str(tmp_path / "key"),
    ]
    async with lines(*command) as peer:
        await peer.ask("initialize", INITIALIZE)
        assert "error" in await peer.ask("session/new", NEW)
        assert (await log_in(peer, "variable"))["result"] == {}
        assert "result" in await peer.ask("session/new", NEW)
        assert_nowhere(KEY, peer, await peer.close(), ledger)
    assert not (tmp_path / "key").exists()


async def test_an_agent_that_logs_in_at_a_terminal_gets_them_typed(tmp_path: Path) -> None:
    async with lines(*TRANSLATE, "--credentials", "--", *LOGIN_AGENT, str(tmp_path / "key")) as peer:
        await peer.ask("initialize", INITIALIZE)
        refused = await log_in(peer, "terminal", "a wrong one")
        assert refused["error"]["code"] == -32001
        assert "exit status 3" in refused["error"]["message"]
        assert "error" in await peer.ask("session/new", NEW)
        assert (await log_in(peer, "terminal"))["result"] == {}
        assert "result" in await peer.ask("session/new", NEW)
        assert_nowhere(KEY, peer, await peer.close())


async def test_whatever_is_asked_during_a_login_waits_for_it_and_no_process_is_left(tmp_path: Path) -> None:
    async with lines(*TRANSLATE, "--credentials", "--", *LOGIN_AGENT, str(tmp_path / "key")) as peer:
        await peer.ask("initialize", INITIALIZE)
        login = peer.request("authenticate", {"methodId": "variable", "data": {"apiKey": KEY}})
        opened = await peer.ask("session/new", NEW)
        assert [frame["id"] for frame in peer.frames[1:]] == [login, opened["id"]]
        process = int(opened["result"]["sessionId"].removeprefix("of-"))
        await peer.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.parametrize("method", ["variable", "terminal"])
async def test_without_that_word_no_other_agent_gets_them(method: str, tmp_path: Path) -> None:
    async with lines(*TRANSLATE, "--", *LOGIN_AGENT, str(tmp_path / "key")) as peer:
        await peer.ask("initialize", INITIALIZE)
        refused = (await log_in(peer, method))["error"]
        assert refused["code"] == -32001
        assert "--credentials" in refused["message"]
        assert "error" in await peer.ask("session/new", NEW)
        assert_nowhere(KEY, peer, await peer.close())


async def test_a_method_that_takes_none_is_refused_and_the_agent_lives_on(tmp_path: Path) -> None:
    async with lines(*TRANSLATE, "--credentials", "--", *LOGIN_AGENT, str(tmp_path / "key")) as peer:
        await peer.ask("initialize", INITIALIZE)
        refused = (await log_in(peer, "telepathy"))["error"]
        assert refused["code"] == -32001
        assert "the agent takes no credentials by this method" in refused["message"]
        assert json.dumps(refused).find(KEY) == -1
        assert "error" in await peer.ask("session/new", NEW)
        await peer.close()
