"""A peer that asks on and on and does not read what it is answered: nobody waits for it for ever.

The other end is a program of a few lines without any SDK.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO, Any

import pytest

from dragoman import blocking
from dragoman.blocking import AgentHandle, Limits
from dragoman.errors import LinkClosed
from dragoman.runtime import link as loop_link
from tests.blocking.ends import ROOT, SERVERS

pytestmark = pytest.mark.bound(40)

COUNT = 20_000
"""Requests, whose answers are some megabytes: more than a pipe and what may wait beside it."""

FLOOD = f"""
import json, sys
def answer(line, result):
    print(json.dumps({{"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": result}}), flush=True)
answer(sys.stdin.readline(), {{"protocolVersion": 1, "agentCapabilities": {{}}}})
answer(sys.stdin.readline(), {{"sessionId": "s"}})
prompt = sys.stdin.readline()
for number in range({COUNT}):
    print(json.dumps({{"jsonrpc": "2.0", "id": f"q{{number}}", "method": "_nobody/knows", "params": {{}}}}))
answer(prompt, {{"stopReason": "end_turn"}})
sys.stdin.read()
"""


def connected(*, limits: Limits | None = None) -> AbstractContextManager[AgentHandle]:
    return blocking.connect([sys.executable, "-c", FLOOD], limits=limits)


def test_a_turn_ends_though_the_agent_reads_none_of_our_answers() -> None:
    with connected() as agent:
        turn = agent.new_session(cwd="/").prompt("go")
        assert list(turn) == []
        assert turn.result.stop_reason == "end_turn"


def test_a_turn_that_can_never_end_fails_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_link, "STALL_SECONDS", 0.2)
    with connected(limits=Limits(backlog_hard_bytes=256 * 1024)) as agent:
        turn = agent.new_session(cwd="/").prompt("go")
        with pytest.raises(LinkClosed, match="sends requests and does not read the answers"):
            list(turn)


class PlainClient:
    """Sends and reads lines when it is told to, and never at the same time."""

    def __init__(self, to_agent: IO[bytes], from_agent: IO[bytes]) -> None:
        self._to_agent, self._from_agent = to_agent, from_agent

    def send(self, **members: Any) -> None:
        self._to_agent.write(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")

    def read_until(self, **members: Any) -> Any:
        self._to_agent.flush()
        while True:
            message = json.loads(self._from_agent.readline())
            if message.items() >= members.items():
                return message


@contextmanager
def serving(server: str) -> Iterator[PlainClient]:
    words = [sys.executable, "-m", "tests.blocking.ends", server, "1"]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        killer = threading.Timer(30, process.kill)  # a deadlock is a failure, and not for ever
        killer.start()
        try:
            yield PlainClient(process.stdin, process.stdout)
        finally:
            killer.cancel()
            process.kill()


@pytest.mark.parametrize("server", SERVERS)
def test_an_agent_that_waits_for_its_client_reads_on_while_that_one_floods_it(server: str) -> None:
    with serving(server) as client:
        lent = {"fs": {"readTextFile": True, "writeTextFile": True}}
        client.send(id=1, method="initialize", params={"protocolVersion": 1, "clientCapabilities": lent})
        client.read_until(id=1)
        client.send(id=2, method="session/new", params={"cwd": "/", "mcpServers": []})
        session = client.read_until(id=2)["result"]["sessionId"]
        text = [{"type": "text", "text": "reads 1"}]
        client.send(id=3, method="session/prompt", params={"sessionId": session, "prompt": text})
        asked = client.read_until(method="fs/read_text_file")
        for number in range(COUNT):
            client.send(id=f"q{number}", method="_nobody/knows", params={})
        client.send(id=asked["id"], result={"content": "here"})
        assert client.read_until(id=3)["result"]["stopReason"] == "end_turn"
