"""An agent whose prompt handler fails in the way that the prompt names."""

import asyncio
from typing import Any

from dragoman import Agent, Turn, serve

SECRET = "sk-failing-0123456789"

agent = Agent("failing")


class Odd(BaseException):
    """Neither an error nor an exit."""


def failures() -> dict[str, BaseException]:
    return {
        "value": ValueError(SECRET),
        "exit": SystemExit(SECRET),
        "base": Odd(SECRET),
        "recursion": RecursionError(SECRET),
        "memory": MemoryError(SECRET),
        "group": ExceptionGroup(SECRET, [ValueError(SECRET)]),
        "unicode": UnicodeDecodeError("utf-8", b"\xff", 0, 1, SECRET),
        "cancel": asyncio.CancelledError(SECRET),
    }


@agent.prompt
async def fail(turn: Turn) -> Any:
    await asyncio.sleep(0)  # so that some of it happens in a task
    if turn.text == "nonsense":
        return SECRET
    if turn.text in failures():
        raise failures()[turn.text]
    await turn.say(turn.text)
    return None


serve(agent)
