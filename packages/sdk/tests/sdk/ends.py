"""An SDK on one side, frames written by hand on the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dragoman import Agent, AgentHandle, Client, Limits, connect, serving
from dragoman.runtime import Link
from dragoman.schema.v1 import AgentMessageChunk, SessionUpdate, TextContent
from dragoman.transport.memory import MemoryTransport, memory_pair
from tests.runtime.raw import Frame, RawEnd, notification, request, result

INITIALIZE = request(0, "initialize", {"protocolVersion": 1, "clientCapabilities": {}})
EVERYTHING = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "session": {"notices": {}},
    "elicitation": {"form": {}, "url": {}},
}


class RawClient(RawEnd):
    """Talks to an agent of ours. `link` is the agent's."""

    link: Link

    async def open(self, capabilities: Any = None) -> str:
        """Initialize and make a session; its id."""
        params = {"protocolVersion": 1, "clientCapabilities": capabilities or {}}
        self.send(request("i", "initialize", params), request("n", "session/new", NEW))
        await self.answer_to("i")
        session_id: str = (await self.answer_to("n"))["result"]["sessionId"]
        return session_id

    def prompt(self, request_id: Any, session_id: str, text: str = "go") -> None:
        self.send(prompt(request_id, session_id, text))

    def updates(self, session_id: str) -> list[Any]:
        said = [frame["params"] for frame in self.seen if frame.get("method") == "session/update"]
        return [params["update"] for params in said if params["sessionId"] == session_id]

    def texts(self, session_id: str) -> list[str]:
        return [update["content"]["text"] for update in self.updates(session_id) if "content" in update]


class RawAgent(RawEnd):
    """Talks to a client of ours, and answers by itself whatever `answers_to` has a result for."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.answers_to: dict[str, Any] = {"initialize": {"protocolVersion": 1, "agentCapabilities": {}}}
        self.sessions = 0
        super().__init__(transport)

    def feed(self, block: bytes) -> None:
        known = len(self.seen)
        super().feed(block)
        for frame in self.seen[known:]:
            method = frame.get("method")
            if "id" not in frame:
                continue
            if method == "session/new" and method not in self.answers_to:
                self.sessions += 1
                self.send(result(frame["id"], {"sessionId": f"s{self.sessions}"}))
            elif method in self.answers_to:
                self.send(result(frame["id"], self.answers_to[method]))


NEW = {"cwd": "/tmp", "mcpServers": []}


def prompt(request_id: Any, session_id: str, text: str = "go") -> Frame:
    blocks = [{"type": "text", "text": text}]
    return request(request_id, "session/prompt", {"sessionId": session_id, "prompt": blocks})


def cancel(session_id: str) -> Frame:
    return notification("session/cancel", {"sessionId": session_id})


def chunk(session_id: str, text: str) -> Frame:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return notification("session/update", {"sessionId": session_id, "update": update})


def permission(request_id: Any, session_id: str, **tool_call: Any) -> Frame:
    options = [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    params = {"sessionId": session_id, "toolCall": {"toolCallId": "t", **tool_call}, "options": options}
    return request(request_id, "session/request_permission", params)


def text_of(update: SessionUpdate) -> str:
    assert isinstance(update, AgentMessageChunk)
    assert isinstance(update.content, TextContent)
    return update.content.text


@asynccontextmanager
async def raw_client(agent: Agent, *, limits: Limits | None = None) -> AsyncIterator[RawClient]:
    """An agent of ours that serves a client written by hand."""
    ours, theirs = memory_pair()
    client = RawClient(theirs)
    try:
        async with serving(agent, ours, limits=limits) as link:
            client.link = link
            yield client
    finally:
        await client.aclose()


@asynccontextmanager
async def raw_agent(
    client: Client | None = None,
    *,
    limits: Limits | None = None,
    capabilities: Any = None,
) -> AsyncIterator[tuple[AgentHandle, RawAgent]]:
    """A client of ours that is connected to an agent written by hand."""
    ours, theirs = memory_pair()
    agent = RawAgent(theirs)
    agent.answers_to["initialize"]["agentCapabilities"] = capabilities or {}
    try:
        async with connect(ours, client=client, limits=limits) as handle:
            yield handle, agent
    finally:
        await agent.aclose()
