"""The agent behind the benchmark's hub, with our SDK. It does what a prompt's text orders:

    {"do": "stream", "count": 1000, "size": 20}     updates as fast as it can
    {"do": "prose", "count": 1000, "size": 1024}    the same with real text
    {"do": "mix", "count": 1000}                    the same with updates of every common kind
    {"do": "paced", "count": 1000, "gap": 0.01}     an update now and then, whose text is when it was made
    {"do": "ask", "count": 100, "gap": 0.03}        a question now and then, whose title is when it was asked

Anything else is answered with a word.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import texts
from dragoman import Agent, Turn, serve
from dragoman.schema.codec import reader
from dragoman.schema.v1 import SessionNotification, ToolCallUpdate
from peers.measure import load_mix


async def stream(turn: Turn, order: dict[str, Any]) -> None:
    text = "x" * order["size"]
    for _ in range(order["count"]):
        await turn.say(text)


async def prose(turn: Turn, order: dict[str, Any]) -> None:
    for text in texts.prose(order["count"], order["size"]):
        await turn.say(text)


async def mix(turn: Turn, order: dict[str, Any]) -> None:
    read = reader(SessionNotification)
    notes = [read(json.dumps({"sessionId": "s", "update": update}).encode()) for update in load_mix()]
    for number in range(order["count"]):
        await turn.update(notes[number % len(notes)].update)


async def moments(order: dict[str, Any]) -> AsyncIterator[str]:
    """What the clock says, as often as ordered and at that pace."""
    begun = time.monotonic()
    for number in range(order["count"]):
        await asyncio.sleep(begun + number * order["gap"] - time.monotonic())
        yield f"{time.monotonic():.7f}"


async def paced(turn: Turn, order: dict[str, Any]) -> None:
    async for moment in moments(order):
        await turn.say(moment)


async def ask(turn: Turn, order: dict[str, Any]) -> None:
    async for moment in moments(order):
        await turn.ask(ToolCallUpdate(tool_call_id=moment, title=moment))


ORDERS = {"stream": stream, "prose": prose, "mix": mix, "paced": paced, "ask": ask}


def bench_agent() -> Agent:
    agent = Agent("bench")

    @agent.prompt
    async def carry_out(turn: Turn) -> None:
        if turn.text.startswith("{"):
            order = json.loads(turn.text)
            await ORDERS[order["do"]](turn, order)
        else:
            await turn.say("done")

    return agent


if __name__ == "__main__":
    serve(bench_agent())
