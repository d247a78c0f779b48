"""Idle connections of Dragoman: N pairs in one process, over its own in-memory transport."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from contextlib import AsyncExitStack

from dragoman import Agent, Client, Session, Turn, connect
from dragoman.schema.v1 import ReadTextFileRequest, ReadTextFileResponse, SessionNotification
from peers.measure import memory_kb


def echo_agent() -> Agent:
    agent = Agent("echo")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(turn.text)

    return agent


def idle_client() -> Client:
    client = Client("idle")

    @client.update
    async def update(note: SessionNotification) -> None:
        return None

    @client.read_text_file
    async def read_text_file(request: ReadTextFileRequest) -> ReadTextFileResponse:
        return ReadTextFileResponse(content="")

    return client


async def main(count: int) -> None:
    # An agent and a client are declared once and serve any number of connections; that is how they are meant.
    agent, client = echo_agent(), idle_client()
    kept: list[Session] = []
    async with AsyncExitStack() as stack:

        async def open_pair() -> None:
            handle = await stack.enter_async_context(connect(agent, client=client))
            kept.append(await handle.new_session(cwd="/"))

        for _ in range(20):  # what the first pairs load and cache is the price of the SDK, not of a pair
            await open_pair()
        gc.collect()
        before = memory_kb("VmRSS")
        for _ in range(count):
            await open_pair()
        gc.collect()
        print(json.dumps({"pairs": count, "grown_kb": memory_kb("VmRSS") - before}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
