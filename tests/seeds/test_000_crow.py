"""What the description of Crow promises, held against an agent with the kit, in a process, on the wire.

Crow is an agent server with durable sessions, replay on load and permissions. Its spelling of names is the
business of a dialect; these are its promises, in the protocol's own words.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from tests.forks import forked

pytestmark = pytest.mark.bound(30)  # a program starts slowly on a busy machine

AGENT = forked([sys.executable, str(Path(__file__).parents[2] / "examples" / "notes_agent.py")])


class Pipe:
    """A client of bare lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[bytes] = []
        self.seen: list[dict[str, Any]] = []

    def send(self, method: str, params: Any, request_id: Any = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        assert self.process.stdin
        line = message if request_id is None else {**message, "id": request_id}
        self.process.stdin.write(json.dumps(line).encode() + b"\n")

    async def next(self) -> dict[str, Any]:
        assert self.process.stdout
        self.lines.append(await self.process.stdout.readline())
        self.seen.append(json.loads(self.lines[-1]))
        return self.seen[-1]

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        """The answer, after everything that was said before it."""
        request_id = f"r{len(self.seen)}"
        self.send(method, params, request_id)
        while (frame := await self.next()).get("id") != request_id or "method" in frame:
            if "method" in frame and "id" in frame:
                self.answer(frame)
        return frame

    def answer(self, frame: dict[str, Any]) -> None:
        """Permission is always given."""
        chosen = {"outcome": "selected", "optionId": frame["params"]["options"][0]["optionId"]}
        assert self.process.stdin
        answer = {"jsonrpc": "2.0", "id": frame["id"], "result": {"outcome": chosen}}
        self.process.stdin.write(json.dumps(answer).encode() + b"\n")

    async def new(self) -> str:
        session_id: str = (await self.ask("session/new", NEW))["result"]["sessionId"]
        return session_id

    async def prompt(self, session_id: str, text: str) -> dict[str, Any]:
        return await self.ask("session/prompt", prompt(session_id, text))

    def updates(self, *, since: int = 0) -> list[dict[str, Any]]:
        return [f["params"]["update"] for f in self.seen[since:] if f.get("method") == "session/update"]


NEW = {"cwd": "/tmp", "mcpServers": []}


def prompt(session_id: str, text: str) -> Any:
    return {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}


@asynccontextmanager
async def crow(folder: Path) -> AsyncIterator[Pipe]:
    process = await asyncio.create_subprocess_exec(
        *AGENT,
        str(folder / "sessions.db"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    pipe = Pipe(process)
    try:
        await pipe.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        yield pipe
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


class Conversation(NamedTuple):
    """One life of the agent, looked at by many tests."""

    pipe: Pipe
    ids: list[str]
    """Of three sessions."""
    turn: list[dict[str, Any]]
    """The frames of a prompt, its answer last."""
    errors: list[dict[str, Any]]


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> Conversation:
    return asyncio.run(hold_conversation(tmp_path_factory.mktemp("crow")))


async def hold_conversation(folder: Path) -> Conversation:
    async with crow(folder) as pipe:
        ids = [await pipe.new() for _ in range(3)]
        await pipe.prompt(ids[0], "first")  # what is said of new sessions is over then
        since = len(pipe.seen)
        await pipe.prompt(ids[0], "two\nlines")
        turn = pipe.seen[since:]
        invalid = await pipe.ask("session/prompt", {"sessionId": 5})
        unknown = await pipe.ask("session/load", {"sessionId": "none", **NEW})
    return Conversation(pipe, ids, turn, [invalid["error"], unknown["error"]])


def test_initialize_tells_who_it_is_and_what_it_can(conversation: Conversation) -> None:
    result = conversation.pipe.seen[0]["result"]
    assert result["protocolVersion"] == 1
    assert result["agentInfo"] == {"name": "notes", "title": "Notes", "version": "1.0.0"}
    assert result["agentCapabilities"]["loadSession"] is True


def test_a_session_is_identified_by_a_uuid(conversation: Conversation) -> None:
    assert [str(UUID(session)) for session in conversation.ids] == conversation.ids
    assert len(set(conversation.ids)) == 3


def test_updates_are_notifications_and_come_before_the_response_with_its_stop_reason(
    conversation: Conversation,
) -> None:
    *updates, answer = conversation.turn
    assert answer["result"]["stopReason"] == "end_turn"
    assert all("id" not in frame and frame["method"] == "session/update" for frame in updates)
    assert {frame["params"]["sessionId"] for frame in updates} == {conversation.ids[0]}


def test_thinking_content_tool_call_and_plan_updates_are_streamed(conversation: Conversation) -> None:
    updates = [frame["params"]["update"] for frame in conversation.turn[:-1]]
    wanted = {"agent_thought_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "plan"}
    assert wanted <= {update["sessionUpdate"] for update in updates}
    plan = next(update for update in updates if update["sessionUpdate"] == "plan")
    entry = {"content": "Take the note", "priority": "medium", "status": "in_progress"}
    assert plan["entries"][0] == entry


def test_every_message_is_one_line_of_json(conversation: Conversation) -> None:
    lines = conversation.pipe.lines
    assert all(line.endswith(b"\n") and json.loads(line)["jsonrpc"] == "2.0" for line in lines)


def test_errors_follow_json_rpc(conversation: Conversation) -> None:
    invalid, unknown = conversation.errors
    assert invalid["code"] == -32602
    assert invalid["message"].startswith("Invalid params")
    assert unknown["code"] == -32002


async def test_load_replays_the_entire_conversation_before_responding(tmp_path: Path) -> None:
    async with crow(tmp_path) as pipe:
        session_id = await pipe.new()
        since = len(pipe.seen)
        await pipe.prompt(session_id, "buy milk")
        await pipe.prompt(session_id, "call home")
        live = [
            one for one in pipe.updates(since=since) if one["sessionUpdate"] != "available_commands_update"
        ]
    async with crow(tmp_path) as pipe:
        since = len(pipe.seen)
        answer = await pipe.ask("session/load", {"sessionId": session_id, **NEW})
        assert pipe.seen[-1] is answer
        replayed = pipe.updates(since=since)
        users = [one["content"]["text"] for one in replayed if one["sessionUpdate"] == "user_message_chunk"]
        assert users == ["buy milk", "call home"]
        others = ("user_message_chunk", "available_commands_update")
        assert [one for one in replayed if one["sessionUpdate"] not in others] == live


async def test_a_loaded_session_goes_on_as_if_never_interrupted(tmp_path: Path) -> None:
    async with crow(tmp_path) as pipe:
        session_id = await pipe.new()
        await pipe.prompt(session_id, "buy milk")
        pipe.process.kill()
    async with crow(tmp_path) as pipe:
        await pipe.ask("session/load", {"sessionId": session_id, **NEW})
        since = len(pipe.seen)
        await pipe.prompt(session_id, "/list")
        assert [one["content"]["text"] for one in pipe.updates(since=since) if "content" in one] == [
            "buy milk"
        ]


async def test_a_cancelled_turn_ends_as_cancelled(tmp_path: Path) -> None:
    async with crow(tmp_path) as pipe:
        session_id = await pipe.new()
        pipe.send("session/prompt", prompt(session_id, "/wait"), "w")
        while (await pipe.next()).get("params", {}).get("update", {}).get("status") != "in_progress":
            pass
        pipe.send("session/cancel", {"sessionId": session_id})
        while (answer := await pipe.next()).get("id") != "w":
            pass
        assert answer["result"] == {"stopReason": "cancelled"}


async def test_permission_is_asked_before_a_tool_runs(tmp_path: Path) -> None:
    async with crow(tmp_path) as pipe:
        session_id = await pipe.new()
        await pipe.ask("session/set_mode", {"sessionId": session_id, "modeId": "careful"})
        since = len(pipe.seen)
        await pipe.prompt(session_id, "buy milk")
        asked = next(f for f in pipe.seen if f.get("method") == "session/request_permission")
        assert [option["kind"] for option in asked["params"]["options"]] == ["allow_once", "reject_once"]
        after = pipe.updates(since=pipe.seen.index(asked))
        statuses = [one["status"] for one in after if one["sessionUpdate"] == "tool_call_update"]
        assert statuses == ["in_progress", "completed"]
        assert pipe.updates(since=since)[-1]["content"]["text"] == "That is note 1."


async def test_several_sessions_are_active_at_once_each_with_its_own_conversation(tmp_path: Path) -> None:
    async with crow(tmp_path) as pipe:
        one, other = await pipe.new(), await pipe.new()
        pipe.send("session/prompt", prompt(one, "/wait"), "w")
        await pipe.prompt(other, "mine")
        await pipe.prompt(other, "/list")
        pipe.send("session/cancel", {"sessionId": one})
        while (await pipe.next()).get("id") != "w":
            pass
        since = len(pipe.seen)
        await pipe.prompt(one, "/list")
        texts = [update["content"]["text"] for update in pipe.updates(since=since) if "content" in update]
        assert texts == ["There are no notes."]
