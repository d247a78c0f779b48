"""The agent that the terminal client is measured with, over stdio.

A prompt `RATE SECONDS` is answered with so many updates a second for so long. A session `replay-N` is loaded
with N updates of data/mix.json. Both end with a letter that stands nowhere else.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from dragoman import Agent, ClientHandle, Turn, serve
from dragoman.schema.codec import reader
from dragoman.schema.v1 import LoadSessionRequest, SessionNotification
from peers.measure import load_mix

END = "Ω"
PARAGRAPH = 60
"""Updates between two blank lines: an answer of one paragraph without end is no answer that anybody gives."""

agent = Agent("talker")


@agent.load_session
async def load(request: LoadSessionRequest, client: ClientHandle) -> None:
    read = reader(SessionNotification)
    session = client.sessions[request.session_id]
    updates = [read(_note(request.session_id, update)).update for update in load_mix()]
    for number in range(int(request.session_id.removeprefix("replay-"))):
        await session.update(updates[number % len(updates)])
    await session.say(END)


def _note(session: str, update: dict[str, Any]) -> bytes:
    return json.dumps({"sessionId": session, "update": update}).encode()


def word(number: int) -> str:
    return (
        f"**word** {number} "
        if number % 12 == 0
        else f"`word` {number} "
        if number % 25 == 0
        else f"word {number} "
    )


@agent.prompt
async def chat(turn: Turn) -> None:
    rate, seconds = map(int, turn.text.split())
    loop = asyncio.get_running_loop()
    began, said = loop.time(), 0
    while said < rate * seconds:
        due = min(int((loop.time() - began) * rate), rate * seconds)
        while said < due:
            said += 1
            await turn.say("\n\n" if said % PARAGRAPH == 0 else word(said))
        await asyncio.sleep(0.002)
    await turn.say(f"\n\n{END}")


if __name__ == "__main__":
    serve(agent)
