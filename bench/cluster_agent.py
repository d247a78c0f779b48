"""The agent of the cluster's benchmark, with our SDK. It does what a prompt's text orders:

    {"do": "stream", "count": 1000}                 numbered updates as fast as it can
    {"do": "paced", "count": 1000, "gap": 0.01}     an update now and then, whose text is when it was made

An update of `stream` is as long as the plain messages that it is compared with.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from dragoman import Agent, Turn, serve

TEXT = "{:07d} " + "x" * 60
"""With its envelope about 242 bytes, the size at which JetStream was measured before."""

agent = Agent("bench")


@agent.prompt
async def carry_out(turn: Turn) -> None:
    order = json.loads(turn.text)
    await (_stream if order["do"] == "stream" else _paced)(turn, order)


async def _stream(turn: Turn, order: dict[str, Any]) -> None:
    for number in range(order["count"]):
        await turn.say(TEXT.format(number))


async def _paced(turn: Turn, order: dict[str, Any]) -> None:
    begun = time.monotonic()
    for number in range(order["count"]):
        await asyncio.sleep(begun + number * order["gap"] - time.monotonic())
        await turn.say(f"{time.monotonic():.7f}")


if __name__ == "__main__":
    serve(agent)
