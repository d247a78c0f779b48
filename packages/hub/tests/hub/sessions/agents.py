"""Agents for tests of the hub: each prompt is a command.

`say N` says N pieces, `ask` asks for permission (`ask TEXT` for that of a certain text), `impatient` does not
wait long for it, `read PATH` reads a file of the client's, `write PATH TEXT` writes one, `tell METHOD` says
something about no session, `wait` waits until `Gate.open` is set, `die` breaks off.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from dragoman import Agent, Turn
from dragoman.errors import CallFailed
from dragoman.schema.v1 import (
    ElicitationAcceptAction,
    ElicitationSchema,
    PermissionOption,
    StringPropertySchema,
)

OPTIONS = [
    PermissionOption(option_id="allow", name="Allow", kind="allow_once"),
    PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
]


FORM = ElicitationSchema(properties={"name": StringPropertySchema(title="Name")}, required=["name"])


class Gate:
    """Where `wait` waits, and what the agent was told."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.waiting = asyncio.Event()
        self.prompts: list[str] = []
        self.cancelled = 0


async def _filled_in(turn: Turn) -> str:
    answer = await turn.elicit("Who are you?", FORM)
    return "accept" if isinstance(answer, ElicitationAcceptAction) else "cancel"


async def _written(turn: Turn, path: str, content: str) -> str:
    try:
        await turn.write_text_file(path, content)
    except CallFailed as error:
        return f"failed: {error.message}"
    return "written"


def obedient(gate: Gate | None = None) -> Agent:
    """Does what it is told, and remembers nothing."""
    gate = gate or Gate()
    agent = Agent("obedient", additional_directories=True)

    @agent.prompt
    async def obey(turn: Turn) -> None:
        gate.prompts.append(turn.text)
        # A hub may put a reminder in front of what the user says, as a block of its own.
        word, _, rest = (getattr(turn.prompt[-1], "text", "") if turn.prompt else "").partition(" ")
        if word == "say":
            for number in range(int(rest)):
                await turn.say(f"{number} ")
        elif word == "ask":
            async with turn.tool(f"Delete {rest or 'it'}", kind="delete") as call:
                allowed = await call.ask(OPTIONS)
            await turn.say("yes" if allowed else "no")
        elif word == "read":
            await turn.say(await turn.read_text_file(rest))
        elif word == "write":
            await turn.say(await _written(turn, *rest.split(" ", 1)))
        elif word == "run":
            async with await turn.create_terminal(*rest.split(), cwd=turn.session.cwd) as terminal:
                await terminal.wait()
            await turn.say(terminal.id)
        elif word == "form":
            await turn.say(await _filled_in(turn))
        elif word == "tell":
            await turn.client.notify(rest, {"elicitationId": "e-1"})
        elif word == "impatient":
            with suppress(TimeoutError):
                async with turn.tool("Delete it", kind="delete") as call, asyncio.timeout(0.2):
                    await call.ask(OPTIONS)
            await turn.say("never mind")
            await gate.open.wait()
        elif word == "wait":
            gate.waiting.set()
            try:
                await gate.open.wait()
            except asyncio.CancelledError:
                gate.cancelled += 1
                raise
            await turn.say("waited")
        else:
            await turn.say(f"You said: {turn.text}")

    return agent
