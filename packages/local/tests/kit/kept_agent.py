"""An agent with a kit, as a program: its journal is its first argument. What it does is in the prompt. A
second argument is the seconds by which each append to the journal is delayed.

wait    says "begun", opens a tool call and never ends
count N says N chunks
other   says it back, with the number of the turn
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from dragoman import Agent, Kit, KitSession, KitTurn, serve
from dragoman_local.journal.sqlite import SqliteJournal

agent = Agent("kept")


class Chat:
    def __init__(self, session: KitSession[Chat]) -> None:
        self.heard = list(session.memories)


kit = Kit(agent, journal=sys.argv[1], conversation=Chat)


@kit.prompt
async def reply(turn: KitTurn[Chat]) -> None:
    turn.session.conversation.heard.append(turn.text)
    turn.session.remember(turn.text)
    if turn.text == "wait":
        async with turn.tool("Wait", kind="execute", tool_call_id="waiting"):
            await turn.say("begun")
            await turn.session.log.flush()
            await turn.say(" and stored")
            await asyncio.sleep(600)
    elif turn.text.startswith("count"):
        for number in range(int(turn.text.split()[1])):
            await turn.say(f"{number} ")
    else:
        await turn.say(f"{len(turn.session.conversation.heard)}: {turn.text}")


def slow_down(seconds: float) -> None:
    """As a disk does whose fsync takes its time."""
    append = SqliteJournal.append

    async def late(self: SqliteJournal, *args: Any, **more: Any) -> int:
        await asyncio.sleep(seconds)
        return await append(self, *args, **more)

    SqliteJournal.append = late  # type: ignore[method-assign]


if __name__ == "__main__":
    if len(sys.argv) > 2:
        slow_down(float(sys.argv[2]))
    serve(agent)
