"""A scripted agent that counts: its updates are the numbers from 0, as many as the prompt says.

All turns begin together: each waits at the gate until all are under way and somebody opens it.
"""

from __future__ import annotations

import asyncio

from dragoman import Agent, Turn

AT_ONCE = 20
"""Updates between two chances for others: everybody is in one process here."""


class Gate:
    def __init__(self, turns: int) -> None:
        self.all_there = asyncio.Event()
        self.opened = asyncio.Event()
        self._missing = turns

    async def pass_through(self) -> None:
        self._missing -= 1
        if not self._missing:
            self.all_there.set()
        await self.opened.wait()


def numbered_agent(gate: Gate) -> Agent:
    agent = Agent("scripted")

    @agent.prompt
    async def count(turn: Turn) -> None:
        await gate.pass_through()
        for number in range(int(turn.text)):
            await turn.say(str(number))
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)

    return agent
