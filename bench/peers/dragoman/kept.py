"""Dragoman's agent with durable sessions: what it replays comes from a journal on disk.

    kept.py JOURNAL         serves the sessions of this journal
    kept.py JOURNAL COUNT   fills it with a session of so many updates, and ends

The session is called as the client of a replay asks for it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from dragoman import Agent, Kit, KitTurn, serve
from dragoman_local.journal import Entry, open_journal
from peers.measure import Meter, load_mix

BATCH = 5_000

agent = Agent("bench")
kit = Kit(agent, journal=sys.argv[1], titles="none")
meter = Meter()


@kit.prompt
async def figures(turn: KitTurn[None]) -> None:
    """The only order is to tell what it cost."""
    await turn.say(json.dumps(meter.read()))


async def fill(count: int) -> None:
    session_id = f"replay-{count}"
    frames = [_frame(session_id, update) for update in load_mix()]
    now = time.time()
    entries = [Entry("to_client", frames[n % len(frames)], now) for n in range(count)]
    async with open_journal(sys.argv[1], durability="off") as journal:
        for begin in range(0, count, BATCH):
            await journal.append(f"bench/{session_id}", entries[begin : begin + BATCH])
        await journal.describe(f"bench/{session_id}", agent="bench", session=session_id, cwd="/")


def _frame(session_id: str, update: dict[str, object]) -> bytes:
    params = {"sessionId": session_id, "update": update}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return json.dumps(message, separators=(",", ":")).encode()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        asyncio.run(fill(int(sys.argv[2])))
    else:
        serve(agent)
