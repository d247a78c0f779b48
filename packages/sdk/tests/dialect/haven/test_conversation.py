"""Whole conversations in processes: a haven client with agents of v1, a haven agent with clients of v1."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dragoman import Client, connect
from dragoman.dialect import Ledger
from dragoman.errors import CallFailed
from dragoman.schema.v1 import (
    AgentMessageChunk,
    EmbeddedResource,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    TextContent,
    TextResourceContents,
    ToolCall,
    ToolCallProgress,
)
from tests.agents.review.ground import APP, APP_FIXED
from tests.dialect.haven.names_of import names_in
from tests.dialect.plain import REVIEWER, TRANSLATE, AllowOnce, Pipe, prompt, talking
from tests.interop.programs import CLIENTS, needs_node, tell
from tests.interop.python.fetch import VERSIONS, sources

pytestmark = pytest.mark.bound(50)  # programs are started, on a machine that may be busy

AGENT = [sys.executable, "-I", "-S", str(Path(__file__).with_name("agent.py"))]
KINDS = {"file", "command", "search", "other"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "app.py").write_text(APP)
    return tmp_path / "project"


async def opened(pipe: Pipe, folder: Path) -> str:
    """The handshake and a session, as the reference's test sequence begins."""
    answer = await pipe.ask("initialize", {"protocolVersion": 1, "capabilities": {}})
    assert answer["result"]["protocolVersion"] == 1
    assert type(answer["result"]["capabilities"]) is dict
    made = await pipe.ask("session/new", {"cwd": str(folder), "mcpServers": []})
    session: str = made["result"]["sessionId"]
    return session


async def test_a_haven_client_has_its_code_reviewed_and_mended(folder: Path) -> None:
    phone = AllowOnce()
    reviewer = [*REVIEWER, str(folder.with_name("sessions.db"))]
    command = [*TRANSLATE, "--client", "haven", "--agent", "v1", "--", *reviewer]
    async with talking(*command, answer=phone) as pipe:
        session = await opened(pipe, folder)
        answer = await pipe.ask("session/prompt", prompt(session, "review app.py and fix it"))
        assert answer["result"]["stopReason"] == "end_turn"
        assert (folder / "app.py").read_text() == APP_FIXED
        updates = pipe.take_updates()
        assert {"plan", "tool_call", "tool_call_update", "agent_message_chunk"} <= {
            update["sessionUpdate"] for update in updates
        }
        calls = [update for update in updates if update["sessionUpdate"] == "tool_call"]
        assert all(call.keys() >= {"id", "name", "status", "kind"} for call in calls)
        assert {call["kind"] for call in calls} <= KINDS
        tools = [update for update in updates if update["sessionUpdate"].startswith("tool_call")]
        assert {"toolCallId", "title"}.isdisjoint(names_in(tools))
        assert phone.asked[0]["params"]["toolCall"].keys() >= {"id", "name", "status"}
        # Again, and stopped while it asks; with an id, because the reference lists it among requests.
        (folder / "app.py").write_text(APP)
        number = pipe.begin("session/prompt", prompt(session, "review app.py and fix it"))
        await pipe.until(lambda frame: frame.get("method") == "session/request_permission")
        pipe.say(id="stop", method="session/cancel", params={"sessionId": session})
        pipe.say(id=phone.asked[1]["id"], result={"outcome": {"outcome": "cancelled"}})
        assert (await pipe.until(lambda frame: frame.get("id") == "stop"))["result"] == {}
        assert (await pipe.until_answer(number))["result"]["stopReason"] == "cancelled"
        assert (folder / "app.py").read_text() == APP
        # What cannot be is said so.
        assert "error" in await pipe.ask("session/prompt", prompt("nowhere", "review app.py"))
        assert (await pipe.ask("session/dance", {}))["error"]["code"] == -32601
        assert await pipe.end() == 0


async def test_a_legacy_client_is_told_and_nothing_is_mended_without_its_consent(folder: Path) -> None:
    reviewer = [*REVIEWER, str(folder.with_name("sessions.db"))]
    ledger = folder.with_name("ledger.json")
    ways = ["--client", "haven-legacy", "--agent", "v1", "--ledger", str(ledger)]
    async with talking(*TRANSLATE, *ways, "--", *reviewer) as pipe:
        session = await opened(pipe, folder)
        number = pipe.begin("session/prompt", prompt(session, "review app.py and fix it"))
        told = await pipe.until(lambda frame: frame.get("method") == "session/request_permission")
        assert "id" not in told
        assert told["params"]["toolCall"].keys() >= {"id", "name", "status"}
        assert (await pipe.until_answer(number))["result"]["stopReason"] == "end_turn"
        assert (folder / "app.py").read_text() == APP
        updates = pipe.take_updates()
        assert {"plan", "tool_call", "agent_message_chunk"} <= {update["type"] for update in updates}
        assert "sessionUpdate" not in names_in(updates)
        assert await pipe.end() == 0
    assert "a permission request without an answer channel" in ledger.read_text()


@pytest.mark.skipif(not sources(VERSIONS[0]).is_dir(), reason="needs the official SDK's sources")
async def test_a_haven_client_talks_to_the_official_sdks_example(folder: Path) -> None:
    example = [sys.executable, str(sources(VERSIONS[0]) / "examples" / "agent.py")]
    command = [*TRANSLATE, "--client", "haven", "--agent", "v1", "--", *example]
    async with talking(*command, env={"PYTHONPATH": str(sources(VERSIONS[0]) / "src")}) as pipe:
        session = await opened(pipe, folder)
        blocks = [
            {"type": "text", "text": "Look at this"},
            {"type": "resource_link", "uri": "file:///srv/garden/plan.txt"},
            {"type": "embedded_resource", "resource": {"uri": "file:///srv/a.txt", "text": "a"}},
        ]
        answer = await pipe.ask("session/prompt", {"sessionId": session, "prompt": blocks})
        assert answer["result"]["stopReason"] == "end_turn"
        said = [update["content"] for update in pipe.take_updates()]
        assert [block["type"] for block in said] == ["text", "text", "resource_link", "embedded_resource"]
        assert said[3]["resource"]["text"] == "a"
        assert await pipe.end() == 0


# A haven agent.

HELLO = {
    "initialize": {"version": 1, "agent": "gardener"},
    "hello": {
        "kinds": [
            "agent_thought_chunk",
            "plan",
            "tool_call",
            "tool_call_update",
            "tool_call_update",
            "agent_message_chunk",
            "agent_message_chunk",
        ],
        "text": "yes was chosen",
        "tools": {"call-1": "completed"},
        "stop": "end_turn",
    },
    "no such session": {"kinds": [], "text": "", "error": -32002},
    "no such method": -32601,
}


# Another dialect has the other client; `make test-all` has both here.
@pytest.mark.parametrize(
    "client",
    [pytest.param("official-python", marks=pytest.mark.slow), pytest.param("typescript", marks=needs_node)],
)
def test_a_haven_agent_is_driven_by_the_official_clients(client: str) -> None:
    command = [*TRANSLATE, "--client", "v1", "--agent", "haven", "--", *AGENT]
    assert tell(CLIENTS[client], "hello", [], command) == HELLO


async def test_a_haven_agent_is_driven_by_our_client() -> None:
    client, ledger = Client("phone"), Ledger()
    asked: list[RequestPermissionRequest] = []

    @client.request_permission
    async def decide(request: RequestPermissionRequest) -> RequestPermissionResponse:
        asked.append(request)
        return RequestPermissionResponse(
            outcome=SelectedPermissionOutcome(option_id=request.options[-len(asked)].option_id)
        )

    async with connect(AGENT, client=client, dialect="haven", ledger=ledger) as agent:
        assert agent.info is not None
        assert agent.info.name == "gardener"
        session = await agent.new_session(cwd="/srv/garden")
        refused = [update async for update in session.prompt("water the beds")]
        assert refused[-1] == AgentMessageChunk(content=TextContent(text="no was chosen"))
        allowed = [update async for update in session.prompt("water the beds")]
        call, progress = allowed[2:4]
        assert isinstance(call, ToolCall)
        assert isinstance(progress, ToolCallProgress)
        assert (call.title, call.kind, progress.kind) == ("Mend (allow)", "other", "edit")
        assert isinstance(allowed[-2], AgentMessageChunk)
        assert isinstance(allowed[-2].content, EmbeddedResource)
        turn = session.prompt("wait for rain")
        async for _ in turn:
            await session.cancel()
        assert turn.result.stop_reason == "cancelled"
        note = EmbeddedResource(resource=TextResourceContents(uri="file:///a", text="a"))
        (kinds,) = [update async for update in session.prompt("see", note)]
        assert kinds == AgentMessageChunk(content=TextContent(text="text embedded_resource"))
        with pytest.raises(CallFailed):
            await agent.call("_garden/dance", {})
    assert {entry.what for entry in ledger.entries} == {"tool kind file"}


async def test_a_legacy_agent_is_stopped_before_it_does_what_nobody_allowed() -> None:
    ledger = Ledger()
    async with connect([*AGENT, "legacy"], dialect="haven-legacy", ledger=ledger) as agent:
        session = await agent.new_session(cwd="/srv/garden")
        turn = session.prompt("water the beds")
        updates = [update async for update in turn]
        assert turn.result.stop_reason == "cancelled"
        states = [update.status for update in updates if isinstance(update, ToolCall | ToolCallProgress)]
        assert states == ["pending", "pending", "failed"]
    assert [(entry.outcome, entry.what) for entry in ledger.entries if entry.outcome == "lost"] == [
        ("lost", "a permission request without an answer channel")
    ]
