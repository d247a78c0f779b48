"""An agent that changes files as its prompts say, and questions about what it changed."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from dragoman import Agent, Turn
from dragoman.schema.v1 import ToolCallLocation
from tests.hub.sessions.stage import Talker


class Doors:
    """Where `wait NAME` waits."""

    def __init__(self) -> None:
        self.reached: dict[str, asyncio.Event] = {}
        self.open: dict[str, asyncio.Event] = {}

    def of(self, name: str) -> tuple[asyncio.Event, asyncio.Event]:
        return self.reached.setdefault(name, asyncio.Event()), self.open.setdefault(name, asyncio.Event())


def writer(doors: Doors | None = None) -> Agent:
    """Its prompts are words: `write F` in silence, `edit F` with a tool call, `run F` with one of a command,
    `fail F` with one that fails, `read F` with one that only reads, `lend F` through the client, `wait NAME`.
    """
    agent = Agent("writer")
    doors = doors or Doors()

    @agent.prompt
    async def obey(turn: Turn) -> None:
        words = iter(getattr(turn.prompt[-1], "text", "").split())
        for word, rest in zip(words, words, strict=True):
            path = os.path.join(turn.session.cwd, rest)
            where = [ToolCallLocation(path=path)]
            if word == "write":
                Path(path).write_text("new\n")
            elif word == "edit":
                async with turn.tool("Edit", kind="edit", locations=where):
                    Path(path).write_text("new\n")
            elif word == "run":
                async with turn.tool("Build", kind="execute"):
                    Path(path).write_text("built\n")
            elif word == "read":
                async with turn.tool("Read", kind="read", locations=where):
                    pass
            elif word == "fail":
                with suppress(ValueError):
                    async with turn.tool("Edit", kind="edit", locations=where):
                        raise ValueError("refused")
            elif word == "lend":
                await turn.write_text_file(path, "new\n")
            else:
                reached, open_ = doors.of(rest)
                reached.set()
                await open_.wait()

    return agent


async def do(client: Talker, session: str, words: str) -> None:
    answer = await client.answer(client.prompt(session, words))
    assert answer["result"]["stopReason"] == "end_turn", answer


async def changed(client: Talker, session: str) -> dict[str, Any]:
    told: dict[str, Any] = await client.call("_dragoman/hub/changes", {"sessionId": session})
    return told


async def names(client: Talker, session: str, what: str = "files") -> list[str]:
    return [os.path.basename(one["path"]) for one in (await changed(client, session))[what]]
