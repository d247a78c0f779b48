"""People who take an hour, and agents that ask them: a clock that tests move on, and one ask for each method.

`LeapingLoop` is a real event loop, with threads, pipes and files, whose clock can be set forward. What is due
then happens, as if everybody had waited.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from dragoman import Agent, Turn, blocking, serve
from dragoman.schema.v1 import ElicitationSchema, StringPropertySchema
from dragoman.testing.pace import patience

T = TypeVar("T")

HOUR = 3600.0
LEAP = 30.0
"""Seconds at once: shorter than any deadline of a machine, so that nothing is passed over."""

EXTENSION = "_house/choose"

ANSWERS: dict[str, Any] = {
    "session/request_permission": {"outcome": {"outcome": "selected", "optionId": "allow_once"}},
    "elicitation/create": {"action": "accept", "content": {"name": "ann"}},
    "fs/read_text_file": {"content": "plums"},
    "fs/write_text_file": {},
    "terminal/create": {"terminalId": "t1"},
    EXTENSION: {"chosen": "blue"},
}
"""Each request that a client may put before a person, and what a client says when the person said yes."""


class LeapingLoop(asyncio.SelectorEventLoop):
    """Its clock goes on as any other, and is set forward by `leap`."""

    def __init__(self) -> None:
        self.leapt = 0.0
        super().__init__()

    def time(self) -> float:
        return super().time() + self.leapt


def in_leaps(body: Coroutine[Any, Any, T]) -> T:
    """Run it, but for no longer than a test may hang: by a clock that does not leap."""

    async def bounded() -> T:
        task = asyncio.ensure_future(body)
        loop = asyncio.get_running_loop()
        watch = threading.Timer(patience(10), loop.call_soon_threadsafe, (task.cancel,))
        watch.start()
        try:
            return await task
        finally:
            watch.cancel()

    with asyncio.Runner(loop_factory=LeapingLoop) as runner:
        return runner.run(bounded())


async def think(seconds: float = HOUR) -> None:
    """Somebody looks at a question, and everybody else waits."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, LeapingLoop)
    for _ in range(int(seconds / LEAP)):
        loop.leapt += LEAP
        for _ in range(4):  # what is due, and what comes of it
            await asyncio.sleep(0)


FORM = ElicitationSchema(properties={"name": StringPropertySchema()})

# What an agent asks, as a coroutine and as a plain function.


async def _permission(turn: Turn, folder: str) -> None:
    async with turn.tool("Delete", kind="delete") as call:
        assert await call.ask()


async def _terminal(turn: Turn, folder: str) -> None:
    async with await turn.create_terminal("/bin/sh", "-c", "true"):
        pass


ASKS: dict[str, Callable[[Turn, str], Awaitable[Any]]] = {
    "session/request_permission": _permission,
    "elicitation/create": lambda turn, folder: turn.elicit("Which?", FORM),
    "fs/read_text_file": lambda turn, folder: turn.read_text_file(f"{folder}/plums.txt"),
    "fs/write_text_file": lambda turn, folder: turn.write_text_file(f"{folder}/new.txt", "words"),
    "terminal/create": _terminal,
    EXTENSION: lambda turn, folder: turn.client.call(EXTENSION),
}


def asking_agent() -> Agent:
    """Does what the first word of a prompt names, in the folder that the second one names."""
    agent = Agent("asking")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        method, folder = turn.text.split()
        await ASKS[method](turn, folder)
        await turn.say("done")

    return agent


def _plain_permission(turn: blocking.Turn, folder: str) -> None:
    with turn.tool("Delete", kind="delete") as call:
        assert call.ask()


def _plain_terminal(turn: blocking.Turn, folder: str) -> None:
    with turn.create_terminal("/bin/sh", "-c", "true"):
        pass


PLAIN_ASKS: dict[str, Callable[[blocking.Turn, str], object]] = {
    "session/request_permission": _plain_permission,
    "elicitation/create": lambda turn, folder: turn.elicit("Which?", FORM),
    "fs/read_text_file": lambda turn, folder: turn.read_text_file(f"{folder}/plums.txt"),
    "fs/write_text_file": lambda turn, folder: turn.write_text_file(f"{folder}/new.txt", "words"),
    "terminal/create": _plain_terminal,
    EXTENSION: lambda turn, folder: turn.client.call(EXTENSION),
}


def plain_asking_agent() -> blocking.Agent:
    """The same with plain functions, which are served in a loop or without one."""
    agent = blocking.Agent("plain asking")

    @agent.prompt
    def reply(turn: blocking.Turn) -> None:
        method, folder = turn.text.split()
        PLAIN_ASKS[method](turn, folder)
        turn.say("done")

    @agent.extension("_elicit")
    def elicit(params: dict[str, str], client: blocking.ClientHandle) -> dict[str, str]:
        schema = {"type": "object", "properties": {}}
        asked = {"mode": "form", "message": "Which?", "requestedSchema": schema, **params}
        return {"action": client.call("elicitation/create", asked)["action"]}

    return agent


if __name__ == "__main__":
    serve(plain_asking_agent() if "plain" in sys.argv else asking_agent())
