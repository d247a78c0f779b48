"""Whole conversations between programs: a client and an agent that know nothing but crow's document, our
reviewer, our client, and the official SDKs.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, spawn_agent_process
from acp.schema import (
    AllowedOutcome,
    Implementation,
    PermissionOption,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallUpdate,
)

from dragoman import Client, connect
from dragoman.dialect import Ledger
from dragoman.errors import CallFailed
from dragoman.schema import v1
from dragoman.testing.pace import patience
from tests.agents.review.ground import APP_FINDINGS, APP_FIXED, findings_in, make_repository
from tests.agents.review.process import COMMAND as REVIEWER
from tests.dialect.crow.document_client import AGENT, TRANSLATE, Frame, talking
from tests.interop.programs import ROOT, environment, needs_node
from tests.interop.python.fetch import VERSIONS, sources
from tests.together import SideBySide

pytestmark = pytest.mark.bound(40)  # programs start slowly on a busy machine
together = SideBySide(2)

BEHIND = [*TRANSLATE, "--client", "v1", "--agent", "crow", "--", *AGENT]
FRONT = [*TRANSLATE, "--client", "crow", "--agent", "v1"]


# A crow client.


@together
def test_a_crow_client_has_code_reviewed_and_mended_cancels_and_loads(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    ledger = tmp_path / "ledger.json"
    command = [*FRONT, "--ledger", str(ledger), "--", *REVIEWER, "--sessions", str(tmp_path / "sessions.db")]
    with talking(command) as crow:
        welcome = crow.initialize()["result"]
        assert welcome["agent_capabilities"]["load_session"] is True
        session = crow.new(folder)

        assert crow.prompt(session, "review src/app.py")["result"]["stop_reason"] == "end_turn"
        assert set(findings_in(crow.text())) == APP_FINDINGS
        assert [e["status"] for e in crow.updates("plan_update")[-1]["entries"]] == ["completed"] * 4
        started = {call["tool_call_id"] for call in crow.updates("tool_call_start")}
        ends = crow.updates("tool_call_update")
        assert started == {end["tool_call_id"] for end in ends if end.get("status") == "completed"}

        turn = crow.begin(session, "apply the fixes")  # cancelled while it asks
        crow.question()
        assert crow.ask("cancel", {"session_id": session})["result"] == {}
        assert crow.answer(turn)["result"]["stop_reason"] == "cancelled"
        assert (folder / "src" / "app.py").read_text() != APP_FIXED

        turn = crow.begin(session, "apply the fixes")  # refused
        crow.choose(session, crow.question(), "skip")
        assert crow.answer(turn)["result"]["stop_reason"] == "end_turn"
        assert (folder / "src" / "app.py").read_text() != APP_FIXED

        turn = crow.begin(session, "apply the fixes")  # allowed
        question = crow.question()
        assert question["permission_options"][0] == {
            "id": "apply",
            "title": "Apply",
            "is_primary": True,
            "kind": "allow_once",
        }
        assert (
            crow.choose(session, {**question, "tool_call_id": "another"}, "apply")["error"]["code"] == -32602
        )
        assert crow.choose(session, question, "apply")["result"] == {}
        assert crow.answer(turn)["result"]["stop_reason"] == "end_turn"
        assert (folder / "src" / "app.py").read_text() == APP_FIXED

        said, before = crow.text(), len(crow.seen)
        loaded = crow.ask("session/load", {"session_id": session, "cwd": str(folder)})
        assert "result" in loaded
        asked = [update["text"] for update in crow.updates("user_message_text", before)]
        assert asked == ["review src/app.py"] + ["apply the fixes"] * 3
        assert crow.text(before) == said

        assert crow.prompt("nowhere", "hello")["error"]["code"] == -32002
        assert crow.ask("session/prompt", {"session_id": session})["error"]["code"] == -32602
        assert crow.ask("sing", {})["error"]["code"] == -32601
    entries = json.loads(ledger.read_text())["entries"]
    assert {entry["what"] for entry in entries if entry["outcome"] == "lost"} == {
        "an answer to a question that is not open",
        "a request that is not crow's",
    }


@pytest.mark.skipif(
    not sources(VERSIONS[0]).is_dir(),
    reason="needs the official SDK's sources: python tests/interop/python/fetch.py",
)
@together
def test_a_crow_client_talks_to_the_official_example_agent(tmp_path: Path) -> None:
    example = sources(VERSIONS[0]) / "examples" / "agent.py"
    env = environment(sources(VERSIONS[0]) / "src")
    with talking([*FRONT, "--", sys.executable, str(example)], env) as crow:
        assert crow.initialize()["result"]["agent_info"]["name"] == "example-agent"
        first, second = crow.new(tmp_path), crow.new(tmp_path)
        for session in (first, second):
            before = len(crow.seen)
            assert crow.prompt(session, f"caw {session}")["result"] == {"stop_reason": "end_turn"}
            texts = crow.updates("agent_message_text", before)
            assert [update["text"] for update in texts] == ["Client sent:", f"caw {session}"]
        assert crow.ask("cancel", {"session_id": first})["result"] == {}
        assert crow.ask("session/load", {"session_id": first, "cwd": "/"})["result"] == {}
        assert crow.ask("session/list", {})["error"]["code"] == -32601


# A crow agent.

COUNTED = [
    ["agent_thought_chunk", "How many are there?"],
    ["plan", None],
    ["tool_call", "in_progress"],
]
ALLOWED = [*COUNTED, ["tool_call_update", "completed"], ["agent_message_chunk", "Four."]]
REFUSED = [*COUNTED, ["tool_call_update", "failed"], ["agent_message_chunk", "Nobody knows."]]
WAITED = [["agent_message_chunk", "waiting"]]
REPORT = {
    "agent": ["corvid", True],
    "asked": [["counter", "--eggs", "allow_once", "reject_once"]] * 2,
    "turns": [[*ALLOWED, "end_turn"], [*REFUSED, "end_turn"], [*WAITED, "cancelled"], [-32603]],
    "lost": [-32602],
    "loaded": [*ALLOWED, *REFUSED, *WAITED],
}


class Walker:
    """A client of the official Python SDK that notes what it is told. Without the SDK's `Client` as its base,
    which would demand every method of it.
    """

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.asked: list[list[str]] = []
        self.answers = ["allow_once", "reject_once"]
        self.changed = asyncio.Condition()

    def on_connect(self, conn: Any) -> None:
        self.agent = conn

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        content = getattr(update, "content", None)
        self.seen.append(
            [update.session_update, getattr(content, "text", None) or getattr(update, "status", None)]
        )
        async with self.changed:
            self.changed.notify_all()
        if self.seen == WAITED:  # not when it is replayed
            await self.agent.cancel(session_id=session_id)

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        raw: Any = tool_call.raw_input
        self.asked.append([str(tool_call.title), raw["arguments"], *(option.kind for option in options)])
        kind = self.answers.pop(0)
        chosen = next(option.option_id for option in options if option.kind == kind)
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def turn(self, session: str, text: str, updates: int) -> list[Any]:
        block = TextContentBlock(type="text", text=text)
        try:
            end: Any = (await self.agent.prompt(session_id=session, prompt=[block])).stop_reason
        except RequestError as error:
            end = error.code
        return [*await self.told(updates), end]

    async def told(self, updates: int) -> list[Any]:
        """As many updates, which the SDK hands over one by one in tasks of their own."""
        async with self.changed:
            await self.changed.wait_for(lambda: len(self.seen) >= updates)
        seen, self.seen = self.seen, []
        return seen


@together
async def test_a_client_of_the_official_python_sdk_drives_a_crow_agent() -> None:
    walker: Any = Walker()
    async with spawn_agent_process(walker, *BEHIND, cwd=ROOT) as (agent, _):
        hello = await agent.initialize(
            protocol_version=1, client_info=Implementation(name="walker", version="1")
        )
        report: Frame = {"agent": [hello.agent_info.name, hello.agent_capabilities.load_session]}  # type: ignore[union-attr]
        opened = await agent.new_session(cwd="/", mcp_servers=[])
        session = opened.session_id
        orders = (("count", 5), ("count", 5), ("wait", 1), ("fail", 0))
        report["turns"] = [await walker.turn(session, text, updates) for text, updates in orders]
        report["lost"] = await walker.turn("nowhere", "hello", 0)
        await agent.load_session(cwd="/", session_id=session, mcp_servers=[])
        report["loaded"] = await walker.told(11)
    assert {**report, "asked": walker.asked} == REPORT


@needs_node
@together
def test_a_client_of_the_official_typescript_sdk_drives_a_crow_agent() -> None:
    client = Path(__file__).with_name("official_client.mjs")
    run = subprocess.run(
        ["node", str(client), *BEHIND],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(40),
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == REPORT


@together
async def test_our_client_drives_two_sessions_of_a_crow_agent_at_once() -> None:
    client, ledger = Client("wren"), Ledger()
    asked: list[str] = []

    @client.request_permission
    async def decide(request: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        asked.append(request.session_id)
        chosen = next(o.option_id for o in request.options if o.kind == answers[request.session_id])
        return v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id=chosen))

    async with connect(AGENT, client=client, dialect="crow", ledger=ledger) as agent:
        first = await agent.new_session(cwd="/")
        second = await agent.new_session(cwd="/")
        answers = {first.id: "allow_once", second.id: "reject_once"}

        waiting = first.prompt("wait")
        async for update in waiting:
            assert isinstance(update, v1.AgentMessageChunk)
            counted = await second.prompt("count")  # the first session is still at it
            assert counted.text == "Nobody knows."
            await first.cancel()
        assert waiting.result.stop_reason == "cancelled"
        assert (await first.prompt("count")).text == "Four."
        assert asked == [second.id, first.id]

        with pytest.raises(CallFailed) as failed:
            await first.prompt("fail")
        assert failed.value.code == -32603

        loaded = await agent.load_session(second.id, cwd="/")
        replayed = [type(update).__name__ for update in loaded.late]
        assert replayed == ["AgentThoughtChunk", "Plan", "ToolCall", "ToolCallProgress", "AgentMessageChunk"]
    assert [entry.what for entry in ledger.entries] == ["client capabilities", "stop reason error"]
