"""Which direction an agent of the thread protocol takes, found out by asking."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import connect
from dragoman.dialect import EdgeSettings, Ledger, make_edge
from dragoman.dialect.message import Message
from dragoman.schema.v1 import AgentMessageChunk, TextContent
from tests.dialect.undecided_talk import V1_CLIENT, Listener, request

PROGRAM = [sys.executable, "-I", "-S", str(Path(__file__).with_name("written_program.py"))]
FIRST = request(1, "initialize", V1_CLIENT)
NEW = request(2, "session/new", {"cwd": "/w", "mcpServers": []})


def unknown(request_id: Any, method: str) -> Any:
    return {"id": request_id, "error": {"code": -32601, "message": f"Method not found - '{method}'"}}


def refused() -> Listener:
    """An agent that knows no `initialize`, asked for a session."""
    agent = Listener("agent").from_inside(FIRST).from_peer(unknown(1, "initialize"))
    assert agent.dialect == "threads"
    assert agent.inside[0]["result"]["protocolVersion"] == 1
    agent.from_inside(NEW)
    assert [one["method"] for one in agent.peer] == ["createThread"]
    return agent


def test_an_agent_that_does_not_know_createThread_is_one_as_written() -> None:
    agent = refused()
    agent.from_peer(unknown(agent.peer[0]["id"], "createThread"))
    ((session,),) = [[one["result"]["sessionId"] for one in agent.inside]]
    agent.from_inside(
        request(3, "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "a"}]})
    )
    assert [one["method"] for one in agent.peer] == ["streamMessageChunk"]


def test_what_was_answered_at_once_is_not_asked_again_of_an_agent_as_written() -> None:
    agent = refused()
    number = agent.peer[0]["id"]
    agent.from_inside(request(9, "session/nonsense", {"sessionId": "t"}))
    assert [one["id"] for one in agent.inside] == [9]
    agent.from_peer(unknown(number, "createThread"))
    assert [one["id"] for one in agent.inside] == [2]


def test_an_agent_that_creates_threads_is_one_of_the_code() -> None:
    agent = refused()
    agent.from_peer({"id": agent.peer[0]["id"], "result": {"threadId": "t"}})
    assert agent.inside == [{"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "t"}}]


def test_an_agent_that_asks_for_threads_while_it_is_asked_is_one_as_written() -> None:
    agent = refused()
    number = agent.peer[0]["id"]
    agent.from_peer({"id": 0, "method": "getThreads", "params": None})
    assert [one["id"] for one in agent.inside] == [2]
    assert [one["id"] for one in agent.peer] == [0]
    assert len(agent.peer[0]["result"]["threads"]) == 1
    agent.from_peer(unknown(number, "createThread"))  # late, and of no interest any more
    assert (agent.inside, agent.peer) == ([], [])
    assert [entry.what for entry in agent.ledger.entries if entry.outcome == "lost"] == []


def test_the_late_refusal_of_initialize_is_no_answer_to_a_question_of_ours() -> None:
    agent = Listener("agent").from_inside(FIRST)
    agent.from_peer({"id": 0, "method": "getThreads", "params": None})
    session = agent.from_inside(NEW).inside[0]["result"]["sessionId"]
    params = {"sessionId": session, "prompt": [{"type": "text", "text": "a"}]}
    agent.from_inside(request(3, "session/prompt", params))
    agent.from_peer(unknown(1, "initialize"))
    assert agent.inside == []


@pytest.mark.bound(30)  # a program is started
@pytest.mark.parametrize("arguments", [[], ["first"]])
async def test_an_agent_as_written_is_found_and_talked_to(arguments: list[str]) -> None:
    ledger = Ledger()
    async with connect([*PROGRAM, *arguments], ledger=ledger) as agent:
        session = await agent.new_session(cwd="/tmp")
        (said,) = [update async for update in session.prompt("Hello")]
    assert said == AgentMessageChunk(content=TextContent(text="You said: Hello"))
    assert [decision.dialect for decision in ledger.decisions] == ["threads"]
    assert json.dumps([decision.text for decision in ledger.decisions]).count("threads") > 0


@pytest.mark.bound(30)
async def test_an_agent_as_written_is_understood_by_the_name_of_its_dialect() -> None:
    async with connect(PROGRAM, dialect="threads") as agent:
        session = await agent.new_session(cwd="/tmp")
        assert (await session.prompt("Hello")).text == "You said: Hello"


@pytest.mark.parametrize(
    ("method", "params", "is_known"),
    [
        ("stat", {"threadId": "t", "path": "/"}, True),
        ("streamMessageChunk", {"threadId": "t", "chunk": {"type": "text", "chunk": "a"}}, True),
        ("getThreads", None, False),
    ],
)
def test_the_first_request_of_a_client_tells_its_direction(method: str, params: Any, is_known: bool) -> None:
    edge = make_edge("threads", "client", EdgeSettings(as_written=None), Ledger())
    edge.from_peer(msgspec.convert({"id": 0, "method": method, "params": params}, Message))
    assert edge.succeeded_by().settings.as_written is is_known
