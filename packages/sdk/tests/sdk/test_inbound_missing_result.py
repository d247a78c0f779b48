"""An agent that leaves the result out of an answer, as Go's `omitempty` and JavaScript's `undefined` do.

A call ends at once whoever made it: with an empty result where the method has no required member, with an
error that says why everywhere else.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from dragoman import Proxy, blocking, connect
from dragoman.dialect import Edge, EdgeSettings, Ledger, Message, Out
from dragoman.dialect.message import encode, request
from dragoman.dialect.translator import Translator
from dragoman.errors import BadAnswer
from dragoman.schema.v1.methods import METHODS
from dragoman.sdk import inbound
from dragoman.testing.pace import deadline, patience
from tests.sdk.proxy.ends import Ends

pytestmark = pytest.mark.bound(20)

AGENT = """
import json, sys

bare = sys.argv[1:]
results = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"close": {}}}},
    "session/new": {"sessionId": "s"},
    "session/prompt": {"stopReason": "end_turn"},
}
for line in sys.stdin:
    message = json.loads(line)
    if "method" in message and "id" in message:
        method = message["method"]
        told = {} if method in bare else {"result": results.get(method, {})}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}), flush=True)
"""


@pytest.fixture
def agent(tmp_path: Path) -> list[str]:
    program = tmp_path / "bare_agent.py"
    program.write_text(AGENT)
    return [sys.executable, str(program)]


@pytest.mark.parametrize("method", ["initialize", "session/new", "session/prompt"])
async def test_a_call_that_needs_a_result_fails_at_once_and_says_why(agent: list[str], method: str) -> None:
    async def talk() -> None:
        async with connect([*agent, method]) as handle:
            session = await handle.new_session(cwd="/tmp")
            await session.prompt("Hello")

    with pytest.raises(BadAnswer, match=f"{method} has neither a result nor an error"):
        await asyncio.wait_for(talk(), patience(15))


@pytest.mark.parametrize("method", ["initialize", "session/new", "session/prompt"])
def test_a_blocking_call_that_needs_a_result_fails_at_once(agent: list[str], method: str) -> None:
    def talk() -> None:
        with blocking.connect([*agent, method]) as handle:
            session = handle.new_session(cwd="/tmp")
            list(session.prompt("Hello"))

    with pytest.raises(BadAnswer, match=f"{method} has neither a result nor an error"):
        talk()


async def test_an_empty_result_may_be_left_out_and_that_is_logged_once(
    agent: list[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbound, "_reported_methods", set())
    caplog.set_level(logging.INFO, "dragoman.sdk.inbound")
    async with deadline(15), connect([*agent, "session/set_mode", "session/close"]) as handle:
        session = await handle.new_session(cwd="/tmp")
        await session.set_mode("fast")
        await session.set_mode("slow")
        await session.close()
    told = [record.getMessage() for record in caplog.records if record.name == inbound.__name__]
    assert [words.split()[3] for words in told] == ["session/set_mode", "session/close"]


def test_an_empty_blocking_result_may_be_left_out(agent: list[str]) -> None:
    with blocking.connect([*agent, "session/set_mode"]) as handle:
        handle.new_session(cwd="/tmp").set_mode("fast")


def test_every_method_says_whether_it_needs_a_result() -> None:
    needs = {row.name for row in METHODS if row.kind == "request" and row.needs_result}
    assert {"initialize", "session/new", "session/prompt", "session/request_permission"} <= needs
    assert not needs & {"authenticate", "session/close", "session/set_mode", "fs/write_text_file"}


def line(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


async def test_a_call_that_a_proxy_makes_itself_ends() -> None:
    proxy = Proxy()
    async with Ends(proxy) as ends:
        call = asyncio.create_task(proxy.to_agent.call("session/set_mode", {"sessionId": "s", "modeId": "m"}))
        other = asyncio.create_task(proxy.to_agent.call("session/new", {"cwd": "/", "mcpServers": []}))
        for _ in range(2):
            asked = await ends.agent.hear_json()
            ends.agent.say({"jsonrpc": "2.0", "id": asked["id"]})
        await call
        with pytest.raises(BadAnswer, match="session/new has neither"):
            await other


class Numbered(Edge):
    """Asks under ids of its own, as the edges of several dialects do."""

    name = "numbered"

    def from_inside(self, message: Message) -> list[Out]:
        return [("peer", request(f"own-{message.id}", str(message.method), message.params))]

    def from_peer(self, message: Message) -> list[Out]:
        name = int(str(message.id).removeprefix("own-"))
        return [("inside", Message("2.0", name, result=message.result, error=message.error))]


def test_a_translated_call_ends_under_the_id_by_which_it_was_made() -> None:
    translator = Translator([Numbered(EdgeSettings(), Ledger())], Ledger())
    assert b'"own-7"' in translator.from_inside(encode(request(7, "session/new", {}))).peer
    passed = translator.from_peer(line({"id": "own-7"}))
    assert json.loads(passed.inside) == {"jsonrpc": "2.0", "id": 7, "result": None}


def test_a_null_error_beside_a_result_is_no_error_to_a_translator() -> None:
    class Sees(Numbered):
        def from_peer(self, message: Message) -> list[Out]:
            assert message.error is UNSET
            return super().from_peer(message)

    translator = Translator([Sees(EdgeSettings(), Ledger())], Ledger())
    passed = translator.from_peer(line({"id": "own-7", "result": {"a": 1}, "error": None}))
    assert json.loads(passed.inside) == {"jsonrpc": "2.0", "id": 7, "result": {"a": 1}}
