"""An agent that takes its cancellation badly, in the way that the prompt names."""

import asyncio
import os
import time

from dragoman import Agent, Limits, Turn, serve
from dragoman.errors import DragomanError

agent = Agent("stubborn")


@agent.prompt
async def resist(turn: Turn) -> None:
    await turn.say("started")
    match turn.text:
        case "swallow":
            await swallow(turn)
        case "raise":
            await fail_when_cancelled()
        case "finish":
            await end_as_if_nothing_was()
        case "pause":
            await asyncio.sleep(0.3)
            await turn.say("paused")
        case "block the loop":
            time.sleep(60)  # this is the fault
        case _:
            await turn.say(turn.text)


async def swallow(turn: Turn) -> None:
    """Never ends, and keeps talking."""
    while True:
        try:
            await asyncio.sleep(0.02)
            await turn.say("still talking")
        except (asyncio.CancelledError, DragomanError):
            continue


async def fail_when_cancelled() -> None:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        raise ValueError("sk-stubborn: the connection to the model was aborted") from None


async def end_as_if_nothing_was() -> None:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        return


# Whoever knows that it will not end by itself need not wait for that.
serve(agent, limits=Limits(end_seconds=0.2, cancel_seconds=0.2) if "AT_ONCE" in os.environ else None)
