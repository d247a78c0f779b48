"""An agent that takes its time with everything, until `_go` is said."""

import asyncio
from typing import Any

from dragoman import Agent, Turn, serve

agent = Agent("slow")
gate = asyncio.Event()
told = 0


@agent.extension("_work")
async def work(params: Any) -> dict[str, Any]:
    await gate.wait()
    return {"done": True}


@agent.extension("_tell")
async def tell(params: Any) -> None:
    global told
    await gate.wait()
    told += 1


@agent.extension("_told")
async def count(params: Any) -> int:
    return told


@agent.extension("_go")
async def go(params: Any) -> None:
    gate.set()


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(turn.text)


serve(agent)
