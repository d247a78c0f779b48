"""The slash commands of the echo agent: one for each feature that an agent can use.

Those that touch files, commands and processes are in `echo_tools`. An argument that makes no sense is
answered with how the command is used, never with an error: errors are what `/fail` is for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from msgspec import UNSET

from dragoman import AgentSession, Turn
from dragoman.errors import ErrorAnswer
from dragoman.schema.v1 import (
    STOP_REASONS,
    AvailableCommand,
    AvailableCommandsUpdate,
    PromptResponse,
    SessionMode,
    SessionModeState,
    StopReason,
    UnstructuredCommandInput,
    Usage,
)
from dragoman_app.agents import echo_tools
from dragoman_app.agents.echo_tools import BadArgument, parse_count, seconds

Outcome: TypeAlias = StopReason | PromptResponse | None

SECRET = "sk-echo-0123456789"  # noqa: S105  # a made-up one: it must never leave the process
LOOK_AGAIN = 0.05
"""The seconds between two checks for messages of the user while a command waits."""
LARGEST = 16 * 1024 * 1024
"""The most characters of one streamed update; larger ones test frames, not streams."""


@dataclass(frozen=True, slots=True)
class EchoCommand:
    """The function of a slash command."""

    description: str
    hint: str
    run: Callable[[Turn, str], Awaitable[Outcome]]


async def stream(turn: Turn, argument: str) -> None:
    count, *size = [parse_count(word) for word in argument.split()] or [-1]
    if count < 0 or len(size) > 1:
        raise BadArgument
    width = min(*size, LARGEST) if size else 0
    for number in range(count):
        await turn.say(f"{number} ".ljust(width, "."))


async def wait(turn: Turn, argument: str) -> None:
    """Wait until the time is over; repeat messages of the user at once."""
    duration = seconds(argument)
    loop = asyncio.get_running_loop()
    end = loop.time() + duration
    while (remaining := end - loop.time()) > 0:
        await asyncio.sleep(min(remaining, LOOK_AGAIN))
        await say_steering(turn)
    await turn.say(f"Waited {duration:g} seconds.")


async def say_steering(turn: Turn) -> bool:
    """Repeat messages of the user during the turn; return whether there were any."""
    messages = turn.take_steering()
    for message in messages:
        await turn.say(f"You also said: {message.text}\n")
    return bool(messages)


async def plan(turn: Turn, argument: str) -> None:
    steps = ["Look", "Think", "Answer"]
    for completed_count in range(len(steps) + 1):
        await turn.plan(
            (
                step,
                "completed"
                if at < completed_count
                else "in_progress"
                if at == completed_count
                else "pending",
            )
            for at, step in enumerate(steps)
        )
    await turn.say("The plan is done.")


async def think(turn: Turn, argument: str) -> None:
    await turn.think(argument or "What could I say?")
    await turn.say("I have thought about it.")


async def fail(turn: Turn, argument: str) -> None:
    raise RuntimeError(f"the key {SECRET} was refused")


async def stop(turn: Turn, argument: str) -> Outcome:
    for reason in STOP_REASONS:
        if reason == argument:
            return reason  # type: ignore[return-value]  # one of the known reasons: just compared
    raise BadArgument


async def usage(turn: Turn, argument: str) -> Outcome:
    used = parse_count(argument or "1000")
    await turn.usage(used=used, size=max(used, 200_000), cost=0.01)
    tokens = Usage(total_tokens=used, input_tokens=used - used // 10, output_tokens=used // 10)
    return PromptResponse(stop_reason="end_turn", usage=tokens)


async def notice(turn: Turn, argument: str) -> None:
    await turn.notice(argument or "Something you may want to know")


async def mode(turn: Turn, argument: str) -> None:
    if argument:
        if argument not in [session_mode.id for session_mode in AVAILABLE]:
            raise BadArgument
        switch(turn.session, argument)
        await turn.mode(argument)
    await turn.say(f"The mode is {current(turn.session)}.")


def _with_usage(name: str, command: EchoCommand) -> EchoCommand:
    """The command that says how it is used when its argument makes no sense."""

    async def run(turn: Turn, argument: str) -> Outcome:
        try:
            return await command.run(turn, argument)
        except BadArgument:
            await turn.say(f"Usage: /{name} {command.hint}".rstrip())
            return None

    return EchoCommand(command.description, command.hint, run)


_TABLE = {
    "stream": EchoCommand("Send N updates, each SIZE characters long", "N [SIZE]", stream),
    "wait": EchoCommand("Do nothing for a while", "SECONDS", wait),
    "ask": EchoCommand("Ask for permission; if it is given, create the file", "PATH", echo_tools.ask),
    "plan": EchoCommand("Show a plan and work through it", "", plan),
    "think": EchoCommand("Think aloud, then answer", "[TEXT]", think),
    "read": EchoCommand("Read a file through the client", "PATH", echo_tools.read),
    "write": EchoCommand("Write a file through the client", "PATH TEXT", echo_tools.write),
    "run": EchoCommand("Run a command in a terminal of the client", "COMMAND", echo_tools.run),
    "child": EchoCommand("Start a tree of child processes and wait for it", "SECONDS", echo_tools.child),
    "fail": EchoCommand("Fail, with a secret in the reason", "", fail),
    "stop": EchoCommand("End the turn with this reason", "REASON", stop),
    "usage": EchoCommand("Report tokens and cost", "[USED]", usage),
    "notice": EchoCommand("Give a notice", "[TEXT]", notice),
    "mode": EchoCommand("Tell the mode, or change it", "[ID]", mode),
}

COMMANDS = {name: _with_usage(name, command) for name, command in _TABLE.items()}


@cache
def announcement() -> AvailableCommandsUpdate:
    """Return the update for a client after it opened a session."""
    return AvailableCommandsUpdate(
        available_commands=[
            AvailableCommand(
                name=name,
                description=command.description,
                input=UnstructuredCommandInput(hint=command.hint) if command.hint else UNSET,
            )
            for name, command in COMMANDS.items()
        ]
    )


AVAILABLE = [
    SessionMode(id="plain", name="Plain", description="Echoes"),
    SessionMode(id="bench", name="Bench", description="Echoes too; it is here to be switched to"),
]
AT_FIRST = SessionModeState(current_mode_id=AVAILABLE[0].id, available_modes=AVAILABLE)
INVALID_PARAMS = -32602


def current(session: AgentSession) -> str:
    return str(session.data.get("mode", AT_FIRST.current_mode_id))


def switch(session: AgentSession, mode_id: str) -> None:
    mode_ids = [mode.id for mode in AVAILABLE]
    if mode_id not in mode_ids:
        raise ErrorAnswer(INVALID_PARAMS, f"Invalid params: no such mode. Choose from {', '.join(mode_ids)}")
    session.data["mode"] = mode_id
