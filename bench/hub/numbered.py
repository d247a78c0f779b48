"""A scripted agent that counts: its updates are the numbers from 0, as many as the prompt says."""

from __future__ import annotations

import asyncio

from dragoman import Agent, Turn

AT_ONCE = 20
"""Updates between two chances for others: everybody is in one process here."""


def numbered_agent() -> Agent:
    agent = Agent("scripted")

    @agent.prompt
    async def count(turn: Turn) -> None:
        for number in range(int(turn.text)):
            await turn.say(str(number))
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)

    return agent
