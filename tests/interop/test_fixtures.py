"""Each deviation seen in the wild, in small, played to our own client or agent.

A fixture's first line says what it shows, which end is ours and what must come of it. Our client walks
through the requests that the fixture writes down for it; our agent is the story's.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from dragoman import AgentHandle, Client, Session, connect, serving
from dragoman.errors import CallFailed
from dragoman.schema import Unknown
from dragoman.schema.v1 import (
    AgentMessageChunk,
    CreateTerminalRequest,
    CreateTerminalResponse,
    KillTerminalRequest,
    ReadTextFileRequest,
    ReadTextFileResponse,
    ReleaseTerminalRequest,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
    SessionNotification,
    SessionUpdate,
    TerminalOutputRequest,
    TerminalOutputResponse,
    TextContent,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
    WriteTextFileRequest,
)
from dragoman.transport.memory import memory_pair
from tests.interop.python.our_agent import agent as story_agent
from tests.interop.recordings import FIXTURES, Conversation, Recorded, conversations
from tests.interop.replay import Replay, fits

TALKS = [
    pytest.param(talk, id=path.stem)
    for path in sorted(FIXTURES.glob("*.ndjson"))
    for talk in conversations(path)
]


@pytest.mark.parametrize("talk", TALKS)
async def test_we_live_with(talk: Conversation) -> None:
    ours, theirs = memory_pair()
    replay = Replay(talk, theirs, ours=talk.about["ours"])
    if talk.about["ours"] == "agent":
        async with serving(story_agent, ours):
            await replay.play()
        return
    walk = Walk(talk)
    async with asyncio.TaskGroup() as playing:  # whoever fails ends the other
        playing.create_task(replay.play())
        async with connect(ours, client=walk.client) as agent:
            await walk.through(agent)
            await walk.heard_all.wait()
    outcome = walk.outcome()
    assert fits(talk.about["expect"], outcome), outcome


class Walk:
    """Our client on its way through the requests of a fixture."""

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self._session: Session | None = None
        self._turns: list[dict[str, Any]] = []
        self._lent = Lent(talk.about.get("choose", ""), bare=talk.about.get("client") == "bare")
        self._load_error: int | None = None
        self._unheard = sum(b'"session/update"' in frame.raw for frame in talk.frames)
        self.heard_all = asyncio.Event()
        self.client = self._lent.client
        self.client.update(self._hear)

    def _hear(self, _: SessionNotification) -> None:
        self._unheard -= 1
        if not self._unheard:
            self.heard_all.set()

    async def through(self, agent: AgentHandle) -> None:
        if not self._unheard:
            self.heard_all.set()
        for method, params in self._requests():
            if method == "session/new":
                self._session = await agent.new_session(cwd=params["cwd"])
            elif method == "session/load":
                await self._load(agent, params)
            elif method == "session/prompt":
                self._turns.append(await self._turn(params["prompt"][0]["text"]))

    def _requests(self) -> Iterator[tuple[str, Any]]:
        for frame in self._talk.frames:
            content = {} if frame.to == "client" else json.loads(frame.raw)
            if "method" in content:
                yield content["method"], content["params"]

    async def _load(self, agent: AgentHandle, params: Any) -> None:
        try:
            self._session = await agent.load_session(params["sessionId"], cwd=params["cwd"])
        except CallFailed as failed:
            self._load_error = failed.code

    async def _turn(self, text: str) -> dict[str, Any]:
        assert self._session is not None
        turn, seen = self._session.prompt(text), list[SessionUpdate]()
        try:
            async for update in turn:
                seen.append(update)
                if said([update]) == self._talk.about.get("cancel", "nothing"):
                    await self._session.cancel()
        except CallFailed as failed:
            return {"text": said(seen), "error": failed.code}
        result = turn.result
        return {
            "text": result.text,
            "stop": result.stop_reason,
            "tools": {call: state.status for call, state in result.tool_calls.items()},
            "usage": result.usage and result.usage.total_tokens,
            "unknown": [update.tag for update in seen if isinstance(update, Unknown)],
        }

    def outcome(self) -> dict[str, Any]:
        late = self._session.late if self._session else []
        return {
            "turns": self._turns,
            "late": [u.tag if isinstance(u, Unknown) else u.__struct_config__.tag for u in late],
            "load_error": self._load_error,
            "files": self._lent.files,
            "commands": self._lent.commands,
        }


def said(updates: list[SessionUpdate]) -> str:
    chunks = [update.content for update in updates if isinstance(update, AgentMessageChunk)]
    return "".join(content.text for content in chunks if isinstance(content, TextContent))


class Lent:
    """What the client lends: files and commands that exist in memory only, and one decision."""

    def __init__(self, choice: str, *, bare: bool) -> None:
        self.files: dict[str, str] = {}
        self.commands: list[str] = []
        self.client = Client()
        self._choice = choice
        self._released = asyncio.Event()
        self.client.request_permission(self._decide)
        if not bare:
            self.client.read_text_file(self._read)
            self.client.write_text_file(self._write)
            self.client.create_terminal(self._create)
            self.client.terminal_output(self._output)
            self.client.wait_for_terminal_exit(self._wait)
            self.client.kill_terminal(self._kill)
            self.client.release_terminal(self._release)

    async def _decide(self, request: RequestPermissionRequest) -> RequestPermissionResponse:
        return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id=self._choice))

    async def _read(self, request: ReadTextFileRequest) -> ReadTextFileResponse:
        return ReadTextFileResponse(content=self.files.get(request.path, ""))

    async def _write(self, request: WriteTextFileRequest) -> None:
        self.files[request.path] = request.content

    async def _create(self, request: CreateTerminalRequest) -> CreateTerminalResponse:
        self.commands.append(request.command)
        return CreateTerminalResponse(terminal_id="t-1")

    async def _output(self, request: TerminalOutputRequest) -> TerminalOutputResponse:
        return TerminalOutputResponse(output="", truncated=False)

    async def _wait(self, request: WaitForTerminalExitRequest) -> WaitForTerminalExitResponse:
        await self._released.wait()
        return WaitForTerminalExitResponse(signal="SIGKILL")

    async def _kill(self, request: KillTerminalRequest) -> None:
        self._released.set()

    async def _release(self, request: ReleaseTerminalRequest) -> None:
        self._released.set()


async def test_a_line_of_half_a_megabyte_is_one_update() -> None:
    described = "x" * 5_000
    commands = [{"name": f"c{n}", "description": described} for n in range(100)]
    update = {"sessionUpdate": "available_commands_update", "availableCommands": commands}
    head = FIXTURES / "updates_after_the_answer.ndjson"
    (talk,) = conversations(head)
    content = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s-1", "update": update}}
    large = Recorded("client", json.dumps(content).encode(), 0)
    talk.frames.insert(5, large)
    assert len(large.raw) > 500_000
    await test_we_live_with(talk)


async def test_the_player_notices_when_we_do_something_else() -> None:
    """If it did not, the tests above would be worth nothing."""
    (talk,) = conversations(FIXTURES / "permission_unannounced.ndjson")
    talk.about["choose"] = "once"
    with pytest.RaisesGroup(pytest.RaisesExc(AssertionError, match="line 8 of the fixture")):
        await test_we_live_with(talk)
