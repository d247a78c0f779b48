"""Whole conversations in processes: a koog client with agents of v1, a koog agent with clients of v1."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dragoman import Client, connect
from dragoman.dialect import Ledger
from dragoman.dialect.koog.names import SILENT, TOOLS, UNSAID, UNWRAPPED
from dragoman.errors import CallFailed
from dragoman.schema.v1 import (
    AgentMessageChunk,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    TextContent,
)
from tests.agents.review.ground import APP, APP_FIXED
from tests.dialect.plain import REVIEWER, TRANSLATE, AllowOnce, Pipe, prompt, talking
from tests.interop.programs import CLIENTS, needs_node, tell
from tests.interop.python.fetch import VERSIONS, sources

pytestmark = pytest.mark.bound(50)  # programs are started, on a machine that may be busy

AGENT = [sys.executable, "-I", "-S", str(Path(__file__).with_name("agent.py"))]
CAPABILITIES = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "app.py").write_text(APP)
    return tmp_path / "project"


async def opened(pipe: Pipe, folder: Path, name: str) -> str:
    answer = await pipe.ask("initialize", {"protocolVersion": 1, "clientCapabilities": CAPABILITIES})
    assert answer["result"]["protocolVersion"] == 1
    assert answer["result"]["serverInfo"].keys() == {"name", "version"}
    assert answer["result"]["serverInfo"]["name"] == name
    names = [tool["name"] for tool in answer["result"]["capabilities"]["tools"]]
    assert names == (["find_files", "read_files", "dragoman", "apply_fix"] if "review" in name else [])
    made = await pipe.ask("session/new", {"cwd": str(folder), "mcpServers": []})
    session: str = made["result"]["sessionId"]
    return session


async def test_a_koog_client_has_its_code_reviewed_and_mended(folder: Path) -> None:
    editor = AllowOnce()
    reviewer = [*REVIEWER, str(folder.with_name("sessions.db"))]
    command = [*TRANSLATE, "--client", "koog", "--agent", "v1", "--", *reviewer]
    async with talking(*command, answer=editor) as pipe:
        session = await opened(pipe, folder, "dragoman-review")
        answer = await pipe.ask("session/prompt", prompt(session, "review app.py and fix it"))
        assert answer["result"]["stopReason"] == "end_turn"
        assert (folder / "app.py").read_text() == APP_FIXED
        updates = pipe.take_updates()
        assert {"plan", "tool_call", "tool_call_update", "agent_message_chunk"} <= {
            update["sessionUpdate"] for update in updates
        }
        for call in (update for update in updates if update["sessionUpdate"] == "tool_call"):
            assert call.keys() >= {"toolCallId", "title", "kind", "status"}
        (folder / "app.py").write_text(APP)
        number = pipe.begin("session/prompt", prompt(session, "review app.py and fix it"))
        await pipe.until(lambda frame: frame.get("method") == "session/request_permission")
        pipe.say(method="session/cancel", params={"sessionId": session})
        pipe.say(id=editor.asked[1]["id"], result={"outcome": {"outcome": "cancelled"}})
        assert (await pipe.until_answer(number))["result"]["stopReason"] == "cancelled"
        assert (folder / "app.py").read_text() == APP
        assert "error" in await pipe.ask("session/prompt", prompt("nowhere", "review app.py"))
        assert (await pipe.ask("session/dance", {}))["error"]["code"] == -32601
        assert await pipe.end() == 0


@pytest.mark.skipif(not sources(VERSIONS[0]).is_dir(), reason="needs the official SDK's sources")
async def test_a_koog_client_talks_to_the_official_sdks_example(folder: Path) -> None:
    example = [sys.executable, str(sources(VERSIONS[0]) / "examples" / "agent.py")]
    command = [*TRANSLATE, "--client", "koog", "--agent", "v1", "--", *example]
    async with talking(*command, env={"PYTHONPATH": str(sources(VERSIONS[0]) / "src")}) as pipe:
        session = await opened(pipe, folder, "example-agent")
        answer = await pipe.ask("session/prompt", prompt(session, "Look at this"))
        assert answer["result"]["stopReason"] == "end_turn"
        said = [update["content"]["text"] for update in pipe.take_updates()]
        assert said == ["Client sent:", "Look at this"]
        assert await pipe.end() == 0


# A koog agent.

MESSAGE = "agent_message_chunk"
PROGRESS = "tool_call_update"
HELLO = {
    "initialize": {"version": 1, "agent": "counter"},
    "hello": {
        "kinds": ["plan", MESSAGE, MESSAGE, "tool_call", PROGRESS, PROGRESS, MESSAGE, MESSAGE, MESSAGE],
        "text": "Let me count. I would say: goI have said it.",
        "tools": {"call-1": "completed"},
        "stop": "end_turn",
    },
    "no such session": {"kinds": [], "text": "", "error": -32002},
    "no such method": -32601,
}


# Another dialect has the other client; `make test-all` has both here.
@pytest.mark.parametrize(
    "client", ["official-python", pytest.param("typescript", marks=[needs_node, pytest.mark.slow])]
)
def test_a_koog_agent_is_driven_by_the_official_clients(client: str) -> None:
    command = [*TRANSLATE, "--client", "v1", "--agent", "koog", "--", *AGENT]
    assert tell(CLIENTS[client], "hello", [], command) == HELLO


async def test_a_koog_agent_is_driven_by_our_client() -> None:
    client, ledger = Client("editor"), Ledger()

    @client.request_permission
    async def decide(request: RequestPermissionRequest) -> RequestPermissionResponse:
        outcome = SelectedPermissionOutcome(option_id=request.options[-1].option_id)
        return RequestPermissionResponse(outcome=outcome)

    async with connect(AGENT, client=client, dialect="koog", ledger=ledger) as agent:
        assert agent.info is not None
        assert (agent.info.name, agent.info.version) == ("counter", "1.0")
        session = await agent.new_session(cwd="/srv/texts")
        said = [
            (update.message_id, update.content.text)
            async for update in session.prompt("count")
            if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent)
        ]
        assert [text for _, text in said] == [
            "Let me ",
            "count. ",
            "I would say: ",
            "stay",
            "I have said it.",
        ]
        assert said[0][0] == said[1][0] != said[3][0]
        (quiet,) = [update async for update in session.prompt("quietly")]
        assert isinstance(quiet, AgentMessageChunk)
        assert quiet.content == TextContent(text="In a word: no.")
        turn = session.prompt("wait")
        async for _ in turn:
            await session.cancel()
        assert turn.result.stop_reason == "cancelled"
        with pytest.raises(CallFailed):
            await agent.call("_texts/dance", {})
    assert [entry.what for entry in ledger.entries] == [TOOLS[0], UNWRAPPED[0], UNSAID[0], SILENT[0]]
