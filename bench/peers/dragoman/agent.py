"""Dragoman's agent. It does what a prompt's text orders; ``figures`` tells what it cost."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from dragoman import Agent, ClientHandle, Turn, serve
from dragoman.schema.codec import reader
from dragoman.schema.v1 import (
    LoadSessionRequest,
    NewSessionRequest,
    NewSessionResponse,
    SessionNotification,
    SessionUpdate,
)
from peers.measure import Meter, load_mix, percentiles, texts_to_say

PATH = "/project/src/parser.py"

agent = Agent("bench")
meter = Meter()
latencies: dict[str, float] = {}
mix: list[SessionUpdate] = []  # what a load replays, made before anything is measured


@agent.new_session
async def new_session(request: NewSessionRequest) -> NewSessionResponse:
    read = reader(SessionNotification)
    mix[:] = [read(json.dumps({"sessionId": "any", "update": u}).encode()).update for u in load_mix()]
    meter.baseline()
    return NewSessionResponse(session_id="bench")


@agent.load_session
async def load_session(request: LoadSessionRequest, client: ClientHandle) -> None:
    count = int(request.session_id.removeprefix("replay-"))
    session = client.sessions[request.session_id]
    meter.start()
    for n in range(count):
        await session.update(mix[n % len(mix)])


@agent.prompt
async def prompt(turn: Turn) -> None:
    if not turn.text.startswith("{"):
        await turn.say(str(len(turn.text)))
        return
    order = json.loads(turn.text)
    if order["do"] != "figures":
        meter.start()
    await ORDERS[order["do"]](turn, order)


async def stream(turn: Turn, order: dict[str, Any]) -> None:
    for text in texts_to_say(order["count"], order["size"]):
        await turn.say(text)


async def read_file(turn: Turn) -> None:
    assert len(await turn.read_text_file(PATH)) == 100


async def reads(turn: Turn, order: dict[str, Any]) -> None:
    taken = []
    for _ in range(order["count"]):
        began = time.perf_counter()
        await read_file(turn)
        taken.append(time.perf_counter() - began)
    latencies.update(percentiles(taken))


async def inflight(turn: Turn, order: dict[str, Any]) -> None:
    async def worker() -> None:
        for _ in range(order["count"] // order["window"]):
            await read_file(turn)

    await asyncio.gather(*(worker() for _ in range(order["window"])))


async def figures(turn: Turn, order: dict[str, Any]) -> None:
    await turn.say(json.dumps({**meter.read(), **latencies}))


ORDERS = {"stream": stream, "reads": reads, "inflight": inflight, "figures": figures}

if __name__ == "__main__":
    serve(agent)
