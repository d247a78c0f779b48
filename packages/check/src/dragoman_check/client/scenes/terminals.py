"""Scenes about a client's terminals: all five methods, used correctly and wrongly.

The commands are ours: the Python that runs this, with a line of program. They need no shell and find nothing
on the machine.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from uuid import uuid4

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.client.scenes.permissions import is_allowed
from dragoman_check.client.turn import StandInTurn
from dragoman_check.marked_processes import find, run

CREATE, OUTPUT, WAIT = "terminal/create", "terminal/output", "terminal/wait_for_exit"
KILL, RELEASE = "terminal/kill", "terminal/release"

LIMIT = 100

LOOKS = 150
"""The number of checks of the output before a command is given up."""

RUNS = "import time; print('begun', flush=True); time.sleep(600)"
"""Prints a word, and does not end."""


async def terminals(turn: StandInTurn) -> None:
    """Run a command that ends by itself."""
    if not await _may_run(turn):
        return
    program = "import os, sys; print(os.getcwd()); print(os.environ.get('STAND_IN')); sys.exit(3)"
    env = [{"name": "STAND_IN", "value": "here"}]
    terminal = await create(turn, program, name="terminal", env=env, args=["more", "words"])
    if not terminal:
        return
    await show_terminal(turn, terminal)
    first = turn.position
    waits = [turn.begin(WAIT, {"terminalId": terminal}) for _ in range(2)]
    for request_id in waits:
        await turn.answer(WAIT, request_id, since=first)
    turn.mark("terminal waited for", first)
    await turn.call(OUTPUT, {"terminalId": terminal}, name="terminal output")
    await turn.call(KILL, {"terminalId": terminal}, name="kill after exit")
    await turn.call(RELEASE, {"terminalId": terminal}, name="release")
    for method in (OUTPUT, WAIT, KILL, RELEASE):
        await turn.call(method, {"terminalId": terminal}, name=f"{method} after release")


async def _may_run(turn: StandInTurn) -> bool:
    if turn.can("terminal"):
        folder = str(turn.folder)
        turn.may_run = await is_allowed(turn, f"Run {sys.executable}", kind="execute", path=folder)
    return turn.may_run


async def show_terminal(turn: StandInTurn, terminal: str) -> None:
    """Show a terminal to the client, during the command and afterwards."""
    content = [{"type": "terminal", "terminalId": terminal}]
    call = turn.call_id()
    turn.update("tool_call", toolCallId=call, title="Run it", kind="execute", status="in_progress")
    turn.update("tool_call_update", toolCallId=call, content=content)


async def terminal_limits(turn: StandInTurn) -> None:
    """Print more output than is kept, in characters of several bytes."""
    if not turn.may_run:
        return
    program = "import sys; sys.stdout.buffer.write('\\u00e9\\u2713\\U0001f409'.encode() * 200)"
    terminal = await create(turn, program, name="terminal with a limit", outputByteLimit=LIMIT)
    if terminal:
        await turn.call(WAIT, {"terminalId": terminal}, name="limited terminal waited for")
        await turn.call(OUTPUT, {"terminalId": terminal}, name="limited terminal output")
        await turn.call(RELEASE, {"terminalId": terminal})


async def terminals_that_run(turn: StandInTurn) -> None:
    """Run commands that end only when they are killed."""
    if not turn.may_run:
        return
    terminal = await create(turn, RUNS, name="terminal that runs")
    if terminal:
        await _wait_for_output(turn, terminal)
        await _kill(turn, terminal)
    mark = uuid4().hex
    terminal = await create(turn, RUNS, name="terminal to release early", args=[mark])
    if terminal:
        await _wait_for_output(turn, terminal)
        processes = find(mark)
        await turn.call(RELEASE, {"terminalId": terminal}, name="released early")
        turn.fact("released process gone", await are_gone(processes, mark) if processes else None)


async def _wait_for_output(turn: StandInTurn, terminal: str) -> None:
    """Wait for output, with a limit."""
    for _ in range(LOOKS):
        answer = await turn.call(OUTPUT, {"terminalId": terminal})
        result = answer.message.get("result")
        if not isinstance(result, dict) or result.get("exitStatus"):
            return
        if result.get("output"):
            turn.mark("output while running", answer.number - 2)
            return
        await turn.pause()


async def _kill(turn: StandInTurn, terminal: str) -> None:
    where = {"terminalId": terminal}
    first = turn.position
    waiting, withdrawn = turn.begin(WAIT, where), turn.begin(WAIT, where)
    await turn.call(OUTPUT, where, name="output while waiting")
    turn.connection.notify("$/cancel_request", {"requestId": str(waiting)})  # another id than the number
    turn.connection.notify("$/cancel_request", {"requestId": withdrawn})
    await turn.call(KILL, where, name="kill")
    for request_id in (withdrawn, waiting):
        await turn.answer(WAIT, request_id, since=first)
    turn.mark("wait withdrawn", first)
    await turn.call(WAIT, where, name="wait after kill")
    await turn.call(OUTPUT, where, name="output after kill")
    await turn.call(RELEASE, where, name="release after kill")


async def terminal_faults(turn: StandInTurn) -> None:
    """Send requests that a client must refuse."""
    if not turn.can("terminal"):
        return
    for method in (OUTPUT, WAIT, KILL, RELEASE):
        await turn.call(method, {"terminalId": "nobody's"}, name=f"{method} of an unknown session")
    await turn.call(CREATE, {"command": "/no/such/program"}, name="unknown command")
    faults: dict[str, JsonObject] = {
        "terminal with bad args": {"args": "x"},
        "terminal with a bad env": {"env": 5},
        "terminal with a bad limit": {"outputByteLimit": "x"},
        "terminal with a bad cwd": {"cwd": 5},
    }
    for name, fault in faults.items():
        await turn.call(CREATE, {"command": sys.executable, "args": ["-V"], **fault}, name=name)
    null = {"command": sys.executable, "args": ["-V"], "env": None, "cwd": None, "outputByteLimit": None}
    answer = await turn.call(CREATE, null, name="terminal with nulls")
    terminal = terminal_id_of(answer.message.get("result"))
    if terminal:
        await turn.call(RELEASE, {"terminalId": terminal})


async def create(turn: StandInTurn, program: str, *, name: str, args: Json = (), **more: Json) -> str:
    """Create a terminal that runs a line of Python; empty if the client refuses."""
    words = ["-I", "-S", "-c", program, *args]
    answer = await turn.call(CREATE, {"command": sys.executable, "args": words, **more}, name=name)
    return terminal_id_of(answer.message.get("result"))


def terminal_id_of(result: object) -> str:
    terminal = result.get("terminalId") if isinstance(result, dict) else None
    return terminal if isinstance(terminal, str) else ""


TRIES = 100
BETWEEN = 0.05


async def are_gone(processes: list[Path], mark: str) -> bool:
    """Whether all of them have ended; waits a few seconds for it."""
    for _ in range(TRIES):
        if not run(processes, mark):
            return True
        await asyncio.sleep(BETWEEN)
    return False
