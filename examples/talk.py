"""A conversation with an agent in the terminal: type a line, read the answer, end with Ctrl-D.

Without arguments it is the review agent, about the folder you are in: try "review my changes", "review src",
"apply the fixes" or "help". Any other agent can be talked to as well: give its command as arguments.
"""

import asyncio
import difflib
import os
import sys
import threading
from collections.abc import AsyncIterator

from dragoman import Client, connect
from dragoman.errors import CallFailed, LinkClosed, SpawnFailed
from dragoman.schema.v1 import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Diff,
    PermissionOption,
    Plan,
    RequestPermissionRequest,
    SessionUpdate,
    TextContent,
    ToolCall,
    ToolCallProgress,
)

REVIEW = [sys.executable, "-m", "dragoman", "agent", "review"]

client = Client("talk")
lines: asyncio.Queue[str | None] = asyncio.Queue()


async def main() -> None:
    # A thread of our own: the loop cannot watch every kind of stdin, and would wait for a thread of its own.
    threading.Thread(target=read_stdin, args=(asyncio.get_running_loop(),), daemon=True).start()
    async with connect(sys.argv[1:] or REVIEW, client=client) as agent:
        session = await agent.new_session(cwd=os.getcwd())
        async for line in typed():
            try:
                async for update in session.prompt(line):
                    show(update)
                print()
            except CallFailed as error:
                print(f"\n({error})")


def read_stdin(loop: asyncio.AbstractEventLoop) -> None:
    try:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line.rstrip("\n"))
        loop.call_soon_threadsafe(lines.put_nowait, None)
    except RuntimeError:
        pass  # the conversation ended before the input did


async def typed() -> AsyncIterator[str]:
    """Lines with something on them, until the end."""
    while (line := await ask("> ")) is not None:
        if line.strip():
            yield line


async def ask(question: str) -> str | None:
    if sys.stdin.isatty():
        print(question, end="", flush=True)
    line = await lines.get()
    if line is None:
        lines.put_nowait(None)  # the end stays the end, whoever asks next
    return line


@client.request_permission
async def decide(request: RequestPermissionRequest) -> PermissionOption | bool:
    names = {str(number): option for number, option in enumerate(request.options, 1)}
    print(f"\n{printable(request.tool_call.title or 'May it?')}")
    for block in request.tool_call.content or ():
        if isinstance(block, Diff):
            print(printable(changes(block)), end="")
    for number, option in names.items():
        print(f"  {number}  {printable(option.name)}")
    return names.get((await ask("? ") or "").strip(), False)


def show(update: SessionUpdate) -> None:
    match update:
        case AgentMessageChunk(content=TextContent(text=text)):
            print(printable(text), end="", flush=True)
        case AgentThoughtChunk(content=TextContent(text=text)):
            print(f"({printable(text)})")
        case Plan(entries=entries):
            print(" | ".join(f"{printable(entry.content)}: {entry.status}" for entry in entries))
        case ToolCall(title=title):
            print(f"[{printable(title)}]")
        case ToolCallProgress(status=str(status)):
            print(f"[{status}]")
        case _:
            pass  # commands, modes, usage: nothing to read aloud


def changes(diff: Diff) -> str:
    before = (diff.old_text or "").splitlines(keepends=True)
    return "".join(
        difflib.unified_diff(before, diff.new_text.splitlines(keepends=True), diff.path, diff.path)
    )


def printable(text: str) -> str:
    """What an agent says must not move the cursor, set the title or write to the clipboard."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except (LinkClosed, SpawnFailed) as error:
        sys.exit(f"talk: {error}")
    except KeyboardInterrupt:
        print()
