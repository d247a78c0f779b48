"""Whole conversations with processes: a client and an agent written from the document alone, between them the
interpreter, on the other side our agents and clients and those of the official SDKs.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman import Client, connect
from dragoman.dialect import Ledger
from dragoman.errors import CallFailed
from dragoman.schema.v1 import AgentMessageChunk, TextContent
from dragoman_app.agents.review.agent import review_agent
from dragoman_local.workspace.workspace import Workspace
from tests.dialect.threads.agent import OLD
from tests.dialect.threads.pipe import talking
from tests.forks import DRAGOMAN
from tests.interop.programs import CLIENTS, needs_node, tell
from tests.interop.python.fetch import VERSIONS, sources
from tests.together import SideBySide

pytestmark = pytest.mark.bound(40)  # programs start slowly on a busy machine
together = SideBySide(2)

AGENT = [sys.executable, "-I", "-S", str(Path(__file__).with_name("agent.py"))]
CODE = "import os\n\nprint(eval('1'))\n"


def translated(*options: str) -> list[str]:
    return [*DRAGOMAN, "translate", *options, "--"]


async def an_earlier_session(sessions: Path, folder: Path) -> str:
    async with connect(review_agent(sessions=sessions)) as agent:
        session = await agent.new_session(cwd=str(folder))
        await session.prompt("help")
        return session.id


@together
async def test_a_client_from_the_document_talks_to_our_reviewer(tmp_path: Path) -> None:
    sessions, app = tmp_path / "sessions.db", tmp_path / "app.py"
    app.write_text(CODE)
    earlier = await an_earlier_session(sessions, tmp_path)
    review = [*DRAGOMAN, "agent", "review", "--offline", "--sessions", str(sessions)]
    lost = tmp_path / "lost.json"
    options = ("--client", "threads", "--agent", "v1", "--cwd", str(tmp_path), "--ledger", str(lost))
    async with talking([*translated(*options), *review]) as client:
        listed = await client.call("getThreads")
        assert [thread["id"] for thread in listed["threads"]] == [earlier]
        thread = (await client.call("createThread"))["threadId"]

        assert await client.send(thread, "review app.py") is None
        assert "unused" in client.said(thread)
        assert str(app) in client.read
        entries = (await client.call("getThreadEntries", {"threadId": thread}))["entries"]
        assert entries[0]["role"] == "user"
        assert {"type": "readFile", "path": str(app), "content": CODE} in entries
        assert entries[-1]["role"] == "assistant"

        assert await client.send(thread, "fix it") is None, "nobody was asked, and nobody consents"
        assert app.read_text() == CODE

        assert await client.call("openThread", {"threadId": earlier}) is None
        replayed = (await client.call("getThreadEntries", {"threadId": earlier}))["entries"]
        assert replayed[0]["chunks"] == [{"type": "text", "chunk": "help"}]
        assert replayed[1]["role"] == "assistant"
        assert client.said(earlier) == "", "a replay is not streamed"

        assert (await client.call("openThread", {"threadId": "nowhere"}))["error"]["code"] == -32002
        assert (await client.call("flyToTheMoon"))["error"]["code"] == -32601
        message = {"role": "assistant", "chunks": []}
        refused = await client.call("sendMessage", {"threadId": thread, "message": message})
        assert refused["error"]["code"] == -32602
    noted = {entry["what"] for entry in json.loads(lost.read_text())["entries"]}
    assert {"plans", "tool calls that read no file", "a request for permission"} <= noted


@pytest.mark.skipif(not sources(VERSIONS[0]).is_dir(), reason="needs the official SDK's sources")
@together
async def test_a_client_from_the_document_talks_to_the_official_example() -> None:
    example = sources(VERSIONS[0]) / "examples" / "agent.py"
    env = {**os.environ, "PYTHONPATH": str(sources(VERSIONS[0]) / "src")}
    async with talking([*translated("--client", "threads"), sys.executable, str(example)], env=env) as client:
        thread = (await client.call("createThread"))["threadId"]
        assert await client.send(thread, "hello") is None
        assert client.said(thread) == "Client sent:hello"
        assert [one["id"] for one in (await client.call("getThreads"))["threads"]] == [thread]
        assert (await client.call("flyToTheMoon"))["error"]["code"] == -32601


@together
async def test_an_agent_from_the_document_is_driven_by_our_client(tmp_path: Path) -> None:
    ledger = Ledger()
    (tmp_path / "rows.txt").write_text("peas\nbeans\n")
    async with connect(AGENT, dialect="threads", cwd=tmp_path, ledger=ledger) as agent:
        session = await agent.new_session(cwd=str(tmp_path))
        updates = [update async for update in session.prompt("hello there")]
        assert [update.content for update in updates if isinstance(update, AgentMessageChunk)] == [
            TextContent(text="You said: "),
            TextContent(text="hello there"),
        ]
        assert_all_was_read(json.loads((await session.prompt(f"read {tmp_path}/rows.txt")).text), tmp_path)

        turn = session.prompt("wait")
        async for _ in turn:
            await session.cancel()
        assert turn.result.stop_reason == "cancelled"
        assert len([one async for one in agent.list_sessions()]) == 2  # this releases the agent
        assert (await session.prompt("hello again")).text == "You said: hello again"

        with pytest.raises(CallFailed, match="out of water"):
            await session.prompt("fail")
        old = await agent.load_session("th-old", cwd=str(tmp_path))
        assert len(list(old.late)) == sum(len(entry.get("chunks", "1")) for entry in OLD)
    noted = {entry.what for entry in ledger.entries}
    assert {"a cancel", "what the agent said after a cancel"} <= noted


def assert_all_was_read(found: Any, folder: Path) -> None:
    """`read` in all four ways, and what lies outside is not told."""
    assert found["text"]["content"] == "beans\n"
    assert found["bytes"]["content"] == "cGVh"
    assert found["text"]["version"] == found["bytes"]["version"] > 0
    assert found["stat"] == {"exists": True, "isDirectory": True}
    assert found["glob"] == {"matches": [str(folder / "rows.txt")]}
    assert found["outside"]["code"] == 403


@together
async def test_a_client_that_lends_files_is_asked_for_them(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("peas\nbeans\n")
    client = Client("lender")
    async with Workspace() as workspace:
        workspace.serve(client)
        asked: list[str] = []
        async with connect(
            AGENT, client=client, dialect="threads", tap=lambda way, block: asked.append(block.decode())
        ) as agent:
            with workspace.opening(cwd=str(tmp_path)) as opening:
                session = await agent.new_session(cwd=str(tmp_path))
                opening.settle(session.id)
            found = json.loads((await session.prompt(f"read {tmp_path}/rows.txt")).text)
        assert_all_was_read(found, tmp_path)
        for method in (
            "fs/read_text_file",
            "_dragoman/fs/stat",
            "_dragoman/fs/glob",
            "_dragoman/fs/read_range",
        ):
            assert f'"method":"{method}"' in "".join(asked)


# Another dialect has the other client; `make test-all` has both here.
@pytest.mark.parametrize(
    "client",
    [pytest.param("official-python", marks=pytest.mark.slow), pytest.param("typescript", marks=needs_node)],
)
@together
def test_an_agent_from_the_document_is_driven_by_the_official_clients(client: str) -> None:
    report = tell(CLIENTS[client], "hello", [], [*translated("--agent", "threads"), *AGENT])
    assert report == {
        "initialize": {"version": 1, "agent": "threads-agent"},
        "hello": {
            "kinds": ["agent_message_chunk"] * 2,
            "text": "You said: hello again",
            "stop": "end_turn",
        },
        "no such session": {"kinds": [], "text": "", "error": -32602},
        "no such method": -32601,
    }


@together
async def test_a_client_takes_the_document_at_its_word(tmp_path: Path) -> None:
    """The directions as printed: it streams to the agent, reads its files, and gets a message posted."""
    (tmp_path / "rows.txt").write_text("peas\nbeans\n")
    options = ("--client", "threads", "--agent", "v1", "--as-written", "--cwd", str(tmp_path))
    async with talking([*translated(*options), *DRAGOMAN, "agent", "echo"]) as client:
        read = await client.call("readTextFile", {"threadId": "th", "path": str(tmp_path / "rows.txt")})
        assert read["content"] == "peas\nbeans\n"
        for text in ("hello ", "there"):
            chunk = {"type": "text", "chunk": text}
            assert await client.call("streamMessageChunk", {"threadId": "th", "chunk": chunk}) is None
        message = await client.posted()
        assert message["role"] == "assistant"
        assert "hello there" in "".join(chunk["chunk"] for chunk in message["chunks"])
        assert (await client.call("getThreads"))["error"]["code"] == -32601
