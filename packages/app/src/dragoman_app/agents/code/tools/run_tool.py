"""The tool that runs commands: in a terminal of the client if there is one, so that the user sees the output
live; otherwise here, as a process tree that ends with the turn.
"""

from __future__ import annotations

import asyncio
import os
from typing import Annotated, NamedTuple

from msgspec import UNSET, Meta, Struct

from dragoman.errors import BadAnswer, CallFailed, DeadlineExceeded, ErrorAnswer
from dragoman.schema import v1
from dragoman_app.agents.code.permission import PermissionWish, ToolProblem
from dragoman_app.agents.code.tools.tool import CoderTool, ToolContext, ToolOutcome

SECONDS = 120
MOST_SECONDS = 3600
OUTPUT = 256 * 1024
"""The most bytes of output to keep; the end matters more than the beginning."""

CHARACTERS = 30_000
"""The most characters of output for the model."""

SHELL = ("cmd.exe", "/c") if os.name == "nt" else ("/bin/sh", "-c")


class RunArguments(Struct, forbid_unknown_fields=True):
    command: Annotated[str, Meta(description="A line for the shell, in the working folder")]
    timeout: Annotated[int, Meta(ge=1, le=MOST_SECONDS, description="Seconds after which it is ended")] = (
        SECONDS
    )


class CommandEnd(NamedTuple):
    """How a command ended."""

    output: str
    code: int | None
    signal: str | None
    is_truncated: bool
    timed_out: bool = False


async def run(work: ToolContext, arguments: RunArguments) -> ToolOutcome:
    if not arguments.command.strip():
        raise ToolProblem("The command is empty.")
    await work.permit(
        PermissionWish(
            kind="run", key=f"run:{arguments.command}", always="Allow this command in this session"
        )
    )
    try:
        if work.places.runs_there:
            return await _run_there(work, arguments)
        work.places.check_here()
        end = await _run_here(work, arguments)
    except (CallFailed, BadAnswer, DeadlineExceeded) as error:
        raise ToolProblem(f"The command could not be run: {error}") from None
    except ErrorAnswer as error:
        raise ToolProblem(f"The command could not be run: {error.message}") from None
    text = _result_text(end)
    return ToolOutcome(text, [f"```\n{text}\n```"])


async def _run_here(work: ToolContext, arguments: RunArguments) -> CommandEnd:
    try:
        async with asyncio.timeout(arguments.timeout):
            ran = await work.turn.run(*SHELL, arguments.command, cwd=work.places.cwd, output_bytes=OUTPUT)
    except TimeoutError:
        return CommandEnd("", None, None, is_truncated=False, timed_out=True)
    return CommandEnd(ran.output, ran.exit_code, ran.signal, ran.truncated)


async def _run_there(work: ToolContext, arguments: RunArguments) -> ToolOutcome:
    shell, *flags = SHELL
    timed_out = False
    terminal = await work.turn.create_terminal(
        shell, *flags, arguments.command, cwd=work.places.cwd, output_byte_limit=OUTPUT
    )
    async with terminal:  # leaving it ends the command, also when the turn is cancelled
        await work.report.progress(content=[terminal.content])
        try:
            async with asyncio.timeout(arguments.timeout):
                await terminal.wait()
        except TimeoutError:
            timed_out = True
            await terminal.kill()
        output = await terminal.output()
    status = output.exit_status if isinstance(output.exit_status, v1.TerminalExitStatus) else None
    code = status.exit_code if status is not None and status.exit_code is not UNSET else None
    signal = status.signal if status is not None and status.signal is not UNSET else None
    end = CommandEnd(output.output, code, signal, output.truncated, timed_out=timed_out)
    return ToolOutcome(_result_text(end), [terminal.content])


def _result_text(end: CommandEnd) -> str:
    output = end.output.rstrip("\n")
    if end.is_truncated or len(output) > CHARACTERS:
        output = f"(the beginning is left out)\n{output[-CHARACTERS:]}"
    return f"{output}\n({_describe_end(end)})" if output else f"({_describe_end(end)}; no output)"


def _describe_end(end: CommandEnd) -> str:
    if end.timed_out:
        return "it did not end in time, and was ended"
    if end.signal is not None:
        return f"ended by signal {end.signal}"
    return f"exit status {end.code}" if end.code is not None else "ended"


RUNNING = (
    CoderTool(
        name="run",
        description="Run a command line in the shell and see its output and exit status. It gets no input; "
        "do not start programs that wait for some, or servers that do not end.",
        arguments=RunArguments,
        kind="execute",
        title=lambda arguments: arguments.command,
        run=run,
        changes=True,
    ),
)
