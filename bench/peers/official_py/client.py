"""The client of the official Python SDK: starts the agent, gives it one order, prints what that cost as JSON.

Arguments: the plan (JSON: ``warm`` and ``order``), then the agent's command.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from typing import Any

from acp import PROTOCOL_VERSION, ReadTextFileResponse, spawn_agent_process
from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    ClientCapabilities,
    FileSystemCapabilities,
    TextContentBlock,
    UserMessageChunk,
)

from peers.measure import Meter

LIMIT = 512 * 1024 * 1024
FILE = "y" * 100
TEXTUAL = (AgentMessageChunk, UserMessageChunk, AgentThoughtChunk)


class BenchClient:
    """Counts updates and their text; answers reads from memory."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.chars = 0
        self.last = ""
        self.reads = 0
        self.awaited = -1
        self.all_seen = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.kinds[update.session_update] += 1
        if isinstance(update, TEXTUAL) and isinstance(update.content, TextContentBlock):
            self.last = update.content.text
            self.chars += len(self.last)
        self.awaited -= 1
        if self.awaited == 0:
            self.all_seen.set()

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> ReadTextFileResponse:
        self.reads += 1
        return ReadTextFileResponse(content=FILE)

    def result(self) -> dict[str, Any]:
        return {"kinds": self.kinds, "chars": self.chars, "reads": self.reads, "last": self.last}


async def carry_out(agent: Any, client: BenchClient, order: dict[str, Any]) -> None:
    """One order, until it is answered and every update that it promised was handled."""
    client.forget()
    if order["do"] == "replay":
        client.awaited = order["count"]
        await agent.load_session(cwd="/", session_id=f"replay-{order['count']}")
        # The answer may be seen before the last handlers ran: each of them is a task of its own.
        await client.all_seen.wait()
        return
    text = "z" * order["size"] if order["do"] == "length" else json.dumps(order)
    await agent.prompt(session_id="bench", prompt=[TextContentBlock(type="text", text=text)])


async def main(plan: dict[str, Any], command: list[str]) -> None:
    client = BenchClient()
    kwargs = {"limit": LIMIT, "stderr": None}
    capabilities = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True))
    as_client: Any = client
    async with spawn_agent_process(as_client, *command, transport_kwargs=kwargs) as (agent, _process):
        await agent.initialize(protocol_version=PROTOCOL_VERSION, client_capabilities=capabilities)
        await agent.new_session(cwd="/", mcp_servers=[])
        if plan["warm"]:
            await carry_out(agent, client, plan["warm"])
        meter = Meter()
        await carry_out(agent, client, plan["order"])
        result = {**meter.read(), **client.result()}
        await carry_out(agent, client, {"do": "figures"})
        result["agent"] = json.loads(client.last)
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2:]))
