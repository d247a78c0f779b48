"""Agents that speak raw messages over a pipe in memory, and stop reading when a test says so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from dragoman.testing.pace import deadline
from dragoman.transport.memory import MemoryTransport, memory_pair
from dragoman_hub.agents.channel import AgentChannel, DirectChannel
from dragoman_hub.agents.pool import AgentSpec
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Grant
from dragoman_hub.hub import Hub
from dragoman_local.journal import Journal
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.stage import WITHIN, Talker


class RawAgent:
    """Answers `initialize` and `session/new`; everything else is for the test to do."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.hub_end: MemoryTransport
        """Its `pending` is what this agent has not read."""
        self.transport: MemoryTransport
        """Its `pending` is what the hub has not read."""
        self.prompts: list[dict[str, Any]] = []
        self.turns_ended: list[int] = []
        self.answers: dict[Any, dict[str, Any]] = {}
        self.notes: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        self.capabilities: dict[str, Any] = {}
        self.introduction: dict[str, Any] = {}
        """What it says of itself besides, in its answer to `initialize`."""
        self.raw_text = ""
        """All that it was told, to the byte."""
        self._sessions = 0

    async def open(self) -> AgentChannel:
        self.hub_end, self.transport = memory_pair()
        self.transport.start(self)
        return DirectChannel(self.hub_end)

    def feed(self, block: bytes) -> None:
        self.raw_text += block.decode()
        for line in block.splitlines():
            self._hear(json.loads(line))

    def _hear(self, message: dict[str, Any]) -> None:
        match message.get("method"):
            case "initialize":
                capabilities = {"agentCapabilities": self.capabilities} if self.capabilities else {}
                self.say(id=message["id"], result={"protocolVersion": 1, **capabilities, **self.introduction})
            case "session/new":
                self._sessions += 1
                self.say(id=message["id"], result={"sessionId": f"{self.name}-{self._sessions}"})
            case "session/prompt":
                self.prompts.append(message)
            case None:
                self.answers[message["id"]] = message
            case _:
                (self.calls if "id" in message else self.notes).append(message)

    def on_oversized(self, size: int) -> None:
        raise AssertionError(size)

    def on_end(self, reason: BaseException | None) -> None: ...

    def say(self, **message: Any) -> None:
        self.transport.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, request: str, method: str, session: str, **params: Any) -> None:
        self.say(id=request, method=method, params={"sessionId": session, **params})

    def tell(self, session: str, text: str) -> None:
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        self.say(method="session/update", params={"sessionId": session, "update": update})

    def end_turn(self, place: int = -1) -> None:
        """Of the last prompt, or of the one at this place among them."""
        self.turns_ended.append(self.prompts[place]["id"])
        self.say(id=self.turns_ended[-1], result={"stopReason": "end_turn"})


class RawStage:
    """A hub with raw agents, by name."""

    def __init__(self, hub: Hub, agents: dict[str, RawAgent]) -> None:
        self.hub = hub
        self.agents = agents

    def client(self, grant: Grant | None = None, **ours: Any) -> Talker:
        here, there = memory_pair()
        talker = Talker(here, **ours)
        self.hub.accept(there, grant or Grant("owner"))
        return talker


async def eventually(is_so: Callable[[], object]) -> None:
    """Threads and tasks of the hub are at work until it is so."""
    async with deadline(WITHIN):
        while not is_so():  # noqa: ASYNC110  # what it waits for tells nobody
            await asyncio.sleep(0.001)


@asynccontextmanager
async def raw_stage(
    *names: str,
    journal: Journal | None = None,
    capabilities: dict[str, Any] | None = None,
    introduction: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[tuple[RawStage, Talker]]:
    """With a client that has begun; the first agent is the default one."""
    agents = {name: RawAgent(name) for name in names}
    for agent in agents.values():
        agent.capabilities = capabilities or {}
        agent.introduction = introduction or {}
    specs = {name: AgentSpec(name=name, open=agent.open) for name, agent in agents.items()}
    chosen = HubOptions(default_agent=names[0], **options)
    async with Hub(journal or MemoryJournal(), specs, options=chosen) as hub:
        stage = RawStage(hub, agents)
        yield stage, await stage.client().begin()
