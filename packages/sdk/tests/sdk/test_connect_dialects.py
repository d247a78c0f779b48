"""Every face of the SDK understands an agent of every dialect, by name and by itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman import Pool, blocking, connect, supervised
from dragoman.dialect import Ledger
from dragoman.errors import DragomanError
from dragoman.schema.v1 import AgentMessageChunk, TextContent
from dragoman.sdk.pool import PoolTask
from tests.every import every
from tests.forks import DRAGOMAN, forked

pytestmark = pytest.mark.bound(30)  # programs are started

AGENT = forked([sys.executable, str(Path(__file__).with_name("foreign_agent.py"))])
DIALECTS = ["crow", "koog", "haven", "haven-legacy", "acpex", "threads"]
SAID = "You said: Hello"


def texts(updates: list[Any]) -> str:
    blocks = [update.content for update in updates if isinstance(update, AgentMessageChunk)]
    return "".join(block.text for block in blocks if isinstance(block, TextContent))


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_connect_finds_out_what_an_agent_speaks(dialect: str) -> None:
    ledger = Ledger()
    async with connect([*AGENT, dialect], ledger=ledger) as agent:
        session = await agent.new_session(cwd="/tmp")
        assert texts([update async for update in session.prompt("Hello")]) == SAID
    assert [decision.dialect for decision in ledger.decisions] == [dialect]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_supervised_agent_may_speak_anything(dialect: str) -> None:
    ledger = Ledger()
    async with supervised([*AGENT, dialect], shell_path=False, ledger=ledger) as agent:
        session = await agent.new_session(cwd="/tmp")
        assert texts([update async for update in session.prompt("Hello")]) == SAID
    assert [decision.dialect for decision in ledger.decisions] == [dialect]


async def test_a_supervised_agent_is_found_out_again_in_its_next_life() -> None:
    ledger = Ledger()
    async with supervised([*AGENT, "mortal"], shell_path=False, ledger=ledger) as agent:
        for _ in range(2):
            session = await agent.new_session(cwd="/tmp")
            assert texts([update async for update in session.prompt("Hello")]) == SAID
            with pytest.raises(DragomanError):
                await session.prompt("die")
    assert [decision.dialect for decision in ledger.decisions][:2] == ["crow", "crow"]


@pytest.mark.parametrize("dialect", ["auto", "acpex"])
async def test_a_pool_of_agents_may_speak_anything(dialect: str) -> None:
    async with Pool([*AGENT, "acpex"], agents=2, dialect=dialect) as pool:
        tasks = [PoolTask(prompt="Hello", cwd="/tmp") for _ in range(3)]
        kinds = [outcome.kind async for outcome in pool.run(tasks)]
    assert kinds == ["done"] * 3


@every("dialect", DIALECTS)
def test_blocking_finds_out_what_an_agent_speaks(dialect: str) -> None:
    ledger = Ledger()
    with blocking.connect([*AGENT, dialect], ledger=ledger) as agent:
        session = agent.new_session(cwd="/tmp")
        assert texts(list(session.prompt("Hello"))) == SAID
        assert texts(list(session.prompt("Hello"))) == SAID
    assert [decision.dialect for decision in ledger.decisions] == [dialect]


def test_blocking_takes_the_dialect_by_name() -> None:
    ledger = Ledger()
    with blocking.connect([*AGENT, "crow"], dialect="crow", ledger=ledger) as agent:
        assert texts(list(agent.new_session(cwd="/tmp").prompt("Hello"))) == SAID
    assert ledger.decisions == []


def test_blocking_leaves_an_agent_of_v1_alone() -> None:
    ledger = Ledger()
    with blocking.connect([*DRAGOMAN, "agent", "echo"], ledger=ledger) as agent:
        assert texts(list(agent.new_session(cwd="/tmp").prompt("Hello")))
    assert [decision.dialect for decision in ledger.decisions] == ["v1"]
    assert ledger.entries == []


def test_a_file_that_a_threads_agent_reads_comes_from_the_host_without_a_loop_of_ours(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("peas\n")
    program = tmp_path / "reader.py"
    program.write_text(READER)
    with blocking.connect(forked([sys.executable, str(program)]), dialect="threads", cwd=tmp_path) as agent:
        said = texts(list(agent.new_session(cwd=str(tmp_path)).prompt(str(tmp_path / "a.txt"))))
    assert said == "peas\n"


READER = """
import json, sys
def send(**fields): print(json.dumps(fields), flush=True)
waiting = []
for line in sys.stdin:
    frame = json.loads(line)
    if frame.get("method") == "createThread":
        send(id=frame["id"], result={"threadId": "t"})
    elif frame.get("method") == "sendMessage":
        waiting.append(frame["id"])
        path = frame["params"]["message"]["chunks"][0]["chunk"]
        send(id=7, method="readTextFile", params={"threadId": "t", "path": path})
    elif frame.get("id") == 7:
        chunk = {"type": "text", "chunk": frame["result"]["content"]}
        send(id=8, method="streamMessageChunk", params={"threadId": "t", "chunk": chunk})
        send(id=waiting.pop(), result=None)
"""
