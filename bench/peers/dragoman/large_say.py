"""An agent of Dragoman that says one large text. It prints on standard error how much memory that took."""

from __future__ import annotations

import sys

from dragoman import Agent, Turn, serve
from peers.measure import memory_kb

UNIT = "The quick brown fox jumps over the lazy dog, and says that it did.\n"

agent = Agent("large")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say("first")
    before = memory_kb("VmRSS")
    text = UNIT * (int(turn.text) // len(UNIT))
    await turn.say(text)
    print((memory_kb("VmHWM") - before) * 1024 / len(text), file=sys.stderr)


if __name__ == "__main__":
    serve(agent)
