"""The slash commands of the echo agent with effects: files, commands, permissions, child processes.

Each is reported as a tool call. Files and commands are the client's: what it did not advertise is not done
behind its back. `/ask` alone touches the disk itself, because what it is for is to see whether a permission
was obeyed.
"""

from __future__ import annotations

import asyncio
import math
import os
import shlex
import signal
import subprocess
import sys

from dragoman import Turn
from dragoman.errors import CallFailed, NotAdvertised
from dragoman.schema.v1 import ToolCallLocation

MARK = "ran\n"
"""The line that `/ask` adds to its file each time."""

TREE = """
exec 3<&0
(read -r _ <&3; kill -s KILL 0) &
sleep "$1" & pids=$!
(sleep "$1" & wait) & pids="$pids $!"
wait $pids
"""
"""A child with children and a grandchild. The first child waits for the end of its owner's pipe, so that the
tree ends even after a kill of its owner.
"""


class BadArgument(Exception):
    """The argument is invalid."""


def seconds(argument: str) -> float:
    try:
        value = float(argument)
    except ValueError:
        raise BadArgument from None
    if not (math.isfinite(value) and value >= 0):
        raise BadArgument
    return value


def parse_count(argument: str) -> int:
    if not (argument.isascii() and argument.isdigit() and len(argument) <= 12):
        raise BadArgument
    return int(argument)


async def ask(turn: Turn, argument: str) -> None:
    """Create a file, after permission."""
    path = _path(turn, argument)
    where = [ToolCallLocation(path=path)]
    async with turn.tool(
        f"Create {argument}", kind="edit", raw_input={"path": path}, locations=where, status="pending"
    ) as call:
        if not await call.ask():
            await call.fail("Not allowed")
            await turn.say("Not allowed.")
        elif _mark(path):
            await call.complete(f"Created {path}")
            await turn.say("Done.")
        else:
            await call.fail("Could not create it")
            await turn.say("Allowed, but the file cannot be created.")


async def read(turn: Turn, argument: str) -> None:
    path = _path(turn, argument)
    where = [ToolCallLocation(path=path)]
    async with turn.tool(f"Read {argument}", kind="read", locations=where) as call:
        try:
            text = await turn.read_text_file(path)
        except (CallFailed, NotAdvertised) as error:
            await call.fail(str(error))
            await turn.say(f"Could not read it: {error}")
        else:
            await call.complete(text)
            await turn.say(text)


async def write(turn: Turn, argument: str) -> None:
    name, _, text = argument.partition(" ")
    path = _path(turn, name)
    where = [ToolCallLocation(path=path)]
    async with turn.tool(f"Write {name}", kind="edit", locations=where) as call:
        try:
            await turn.write_text_file(path, text)
        except (CallFailed, NotAdvertised) as error:
            await call.fail(str(error))
            await turn.say(f"Could not write it: {error}")
        else:
            await call.complete(f"Wrote {len(text)} characters")
            await turn.say("Written.")


async def run(turn: Turn, argument: str) -> None:
    try:
        words = shlex.split(argument)
    except ValueError:
        raise BadArgument from None
    if not words:
        raise BadArgument
    async with turn.tool(f"Run {argument}", kind="execute") as call:
        try:
            async with await turn.create_terminal(*words, cwd=turn.session.cwd) as terminal:
                await call.progress(status="in_progress", content=[terminal.content])
                exit_status = await terminal.wait()
                output = await terminal.output()
        except (CallFailed, NotAdvertised) as error:
            await call.fail(str(error))
            await turn.say(f"Could not run it: {error}")
        else:
            await call.complete(output.output)
            await turn.say(
                f"{output.output}\nIt ended with {exit_status.exit_code or exit_status.signal or 0}."
            )


async def child(turn: Turn, argument: str) -> None:
    """Start real processes, and end them in any case."""
    duration = seconds(argument)
    if sys.platform == "win32":
        await turn.say("This command needs a POSIX system.")
        return
    tree = _start_tree(duration)
    try:
        await turn.say(f"Started {tree.pid}.\n")
        await asyncio.to_thread(tree.wait)
        await turn.say("It is over.")
    finally:
        _end(tree)


def _start_tree(duration: float) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", TREE, "echo-child", str(duration)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,  # nobody writes to it, but it ends when the last of them has ended
        start_new_session=True,
    )


def _end(tree: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(tree.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # all of it is gone
    tree.communicate()


def _path(turn: Turn, argument: str) -> str:
    """An absolute path, as the protocol wants it."""
    if not argument or "\0" in argument:
        raise BadArgument
    return os.path.join(turn.session.cwd, argument)


def _mark(path: str) -> bool:
    """Create the file, or count in one that holds nothing but our marks; nobody's file is ever changed."""
    try:
        with open(path, "a+", encoding="utf-8") as file:
            file.seek(0)
            if file.read().replace(MARK, ""):
                return False
            file.write(MARK)
    except (OSError, UnicodeDecodeError):
        return False
    return True
