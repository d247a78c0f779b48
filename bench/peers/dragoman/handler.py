"""Dragoman's client with an async handler of all updates; one that keeps what a turn says; and one that hears
what an agent needs to say much.

Arguments: the agent's command after `handler COUNT`, `kept BYTES` or `said BYTES`. Printed as JSON: what it
cost, and how many came.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from dragoman import Client, connect
from dragoman.schema.v1 import SessionNotification
from peers.measure import Meter, load_texts, memory_kb

WARM = 2_000


def order(count: int, size: int) -> str:
    return json.dumps({"do": "stream", "count": count, "size": size})


async def handled(count: int, command: list[str]) -> dict[str, Any]:
    """The updates of a turn, each by a coroutine."""
    client, updates = Client("bench"), 0

    @client.update
    async def update(note: SessionNotification) -> None:
        nonlocal updates
        updates += 1

    async with connect(command, client=client) as agent:
        session = await agent.new_session(cwd="/")
        await session.prompt(order(WARM, 20), keep_text=False)
        meter, before = Meter(), updates
        await session.prompt(order(count, 20), keep_text=False)
        return {**meter.read(), "count": updates - before}


async def kept(size: int, command: list[str]) -> dict[str, Any]:
    """What a client holds at the end of a turn that said so many bytes, in pieces of 20 characters."""
    texts = load_texts(20)
    count = size * len(texts) // sum(len(text.encode()) for text in texts)
    async with connect(command) as agent:
        session = await agent.new_session(cwd="/")
        await session.prompt(order(WARM, 20))
        before = memory_kb("VmRSS")
        result = await session.prompt(order(count, 20))
        return {"peak_kb": memory_kb("VmHWM") - before, "bytes": len(result.utf8)}


async def said(size: int, command: list[str]) -> dict[str, Any]:
    """What an agent needs to say a text of so many bytes, which it prints on its standard error."""
    printed: list[bytes] = []
    async with connect(command, on_stderr=printed.append) as agent:
        session = await agent.new_session(cwd="/")
        async for _ in session.prompt(str(size)).batches():
            pass
    return {"sizes": float(b"".join(printed))}


if __name__ == "__main__":
    what = {"handler": handled, "kept": kept, "said": said}[sys.argv[1]]
    print(json.dumps(asyncio.run(what(int(sys.argv[2]), sys.argv[3:]))))
