"""The agent behind the benchmark's hub, with our SDK. It does what a prompt's text orders:

    {"do": "stream", "count": 1000, "size": 20}     updates as fast as it can
    {"do": "prose", "count": 1000, "size": 1024}    the same with real text
    {"do": "mix", "count": 1000}                    the same with updates of every common kind
    {"do": "paced", "count": 1000, "gap": 0.01}     an update now and then, whose text is when it was made

Anything else is answered with a word.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import texts
from dragoman import Agent, Turn, serve
from dragoman.schema.codec import reader
from dragoman.schema.v1 import SessionNotification
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


async def paced(turn: Turn, order: dict[str, Any]) -> None:
    begun = time.monotonic()
    for number in range(order["count"]):
        await asyncio.sleep(begun + number * order["gap"] - time.monotonic())
        await turn.say(f"{time.monotonic():.7f}")


ORDERS = {"stream": stream, "prose": prose, "mix": mix, "paced": paced}


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
