"""Dragoman's client: starts the agent, gives it one order, prints what that cost as JSON.

Arguments: the plan (JSON: ``warm`` and ``order``), then the agent's command.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from typing import Any

from dragoman import AgentHandle, Client, PromptTurn, Session, connect
from dragoman.schema.v1 import (
    AgentMessageChunk,
    ReadTextFileRequest,
    ReadTextFileResponse,
    SessionNotification,
    SessionUpdate,
    TextContent,
)
from peers.measure import Meter

FILE = "y" * 100


class Seen:
    """What arrived while one order was carried out."""

    def __init__(self) -> None:
        self.kinds: Counter[type[Any]] = Counter()
        self.chars = 0
        self.last = ""
        self.reads = 0

    async def read(self, turn: PromptTurn) -> None:
        """The updates of a turn, which are all of one kind, in the loop that everybody writes."""
        updates = chars = 0
        text = ""
        async for update in turn:
            if isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContent):
                text = update.content.text
                updates += 1
                chars += len(text)
        self.kinds[AgentMessageChunk] += updates
        self.chars += chars
        self.last = text

    def count(self, update: SessionUpdate) -> None:
        """One update of a replay, of any kind. Only chunks have a text for their content."""
        self.kinds[type(update)] += 1
        content = getattr(update, "content", None)
        if isinstance(content, TextContent):
            self.chars += len(content.text)

    def result(self) -> dict[str, Any]:
        kinds = {kind.__struct_config__.tag: count for kind, count in self.kinds.items() if count}
        return {"kinds": kinds, "chars": self.chars, "reads": self.reads, "last": self.last}


def bench_client(seen: list[Seen]) -> Client:
    client = Client("bench")

    @client.read_text_file
    async def read_text_file(request: ReadTextFileRequest) -> ReadTextFileResponse:
        seen[-1].reads += 1
        return ReadTextFileResponse(content=FILE)

    return client


def replay_client(seen: list[Seen]) -> Client:
    """Updates of a load go to the client's own handler."""
    client = bench_client(seen)

    @client.update
    def update(note: SessionNotification) -> None:
        seen[-1].count(note.update)

    return client


async def carry_out(agent: AgentHandle, session: Session, order: dict[str, Any], seen: list[Seen]) -> None:
    seen.append(Seen())
    if order["do"] == "replay":
        await agent.load_session(f"replay-{order['count']}", cwd="/")
        return
    text = "z" * order["size"] if order["do"] == "length" else json.dumps(order)
    keep = order.get("keep", False)  # no peer keeps it
    await seen[-1].read(session.prompt(text, keep_text=keep))


async def main(plan: dict[str, Any], command: list[str]) -> None:
    seen = [Seen()]
    client = (replay_client if plan["order"]["do"] == "replay" else bench_client)(seen)
    async with connect(command, client=client) as agent:
        session = await agent.new_session(cwd="/")
        if plan["warm"]:
            await carry_out(agent, session, plan["warm"], seen)
        meter = Meter()
        await carry_out(agent, session, plan["order"], seen)
        result = {**meter.read(), **seen[-1].result()}
        await carry_out(agent, session, {"do": "figures"}, seen)
        result["agent"] = json.loads(seen[-1].last)
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2:]))
