"""Peers that play a script, inside a test or in their own process.

    agent = ScriptedAgent('on prompt\\n  say "Hello"')
    async with talking_to(agent) as handle: ...         # in memory
    async with connect(agent.command(tmp_path)) as handle: ...   # the same as a process

    await ScriptedClient(story).talk_to("some-agent --acp")

What passed is in `transcript`; a client whose story goes another way raises `ScriptFailed`, with the line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from dragoman.errors import LocalMistake
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.serve import serving
from dragoman.testing.pace import deadline
from dragoman.testing.script.agent_role import AgentRole
from dragoman.testing.script.body import Body, MemoryBody
from dragoman.testing.script.client_role import ClientRole
from dragoman.testing.script.client_verbs import ScriptFailed
from dragoman.testing.script.script import Script
from dragoman.testing.transcript import Transcript, show
from dragoman.transport.contract import Transport
from dragoman.transport.memory import memory_pair
from dragoman.transport.process import spawn
from dragoman.wire.envelope import JsonObject

PATIENCE = 30.0
"""The default seconds for a whole story."""


class ScriptedAgent:
    """An agent that follows a script; it may serve any number of connections.

        agent = ScriptedAgent("on prompt\\n  say hello")
        async with talking_to(agent) as handle:
            session = await handle.new_session(cwd="/tmp")
            assert (await session.prompt("Hi")).text == "hello"

    `command` makes a program of it, for clients that start their agents.
    """

    def __init__(self, script: Script | str, *, folder: str | os.PathLike[str] | None = None) -> None:
        self.script = script if isinstance(script, Script) else Script.parse(script)
        self._folder = folder
        self.transcripts: list[Transcript] = []
        """What passed in each connection, the oldest first."""

    @property
    def transcript(self) -> Transcript:
        """The transcript of the newest connection."""
        return self.transcripts[-1] if self.transcripts else []

    def command(self, folder: str | os.PathLike[str] | None = None) -> list[str]:
        """Return the command that plays this script as a process. The script is written into `folder`, which
        may also be set at the beginning.
        """
        place = folder or self._folder
        if place is None:
            raise LocalMistake("a process needs a folder to read its script from: command(folder)")
        path = Path(place) / f"{self.script.settings.name}.script"
        path.write_text(self.script.text, encoding="utf-8")
        return [sys.executable, "-m", "dragoman", "agent", "script", str(path)]

    @asynccontextmanager
    async def serving(self, transport: Transport, *, body: Body | None = None) -> AsyncIterator[AgentRole]:
        """Serve its side of a conversation for the length of the block."""
        role = AgentRole(self.script, transport, body=body or MemoryBody(transport))
        self.transcripts.append(role.peer.transcript)
        role.start()
        try:
            yield role
        finally:
            await role.peer.aclose()
        if role.peer.failure is not None:
            raise role.peer.failure


Target: TypeAlias = str | Sequence[str] | Agent | ScriptedAgent | Transport


class ScriptedClient:
    """A client that plays its script against an agent. Its lines can use `names` from the start.

        story = '''
        client
          initialize
          new
          prompt "Hello"
          await turn "Hello"
        '''
        await ScriptedClient(story).talk_to("dragoman agent echo")

    What passed is the result; another course of things raises `ScriptFailed`.
    """

    def __init__(self, script: Script | str, *, names: JsonObject | None = None) -> None:
        self.script = script if isinstance(script, Script) else Script.parse(script)
        self.names = names or {}

    async def talk_to(self, target: Target, *, seconds: float = PATIENCE) -> Transcript:
        """Play the whole script against an agent, a command or a transport, and return the transcript."""
        async with _open_target(target) as transport:
            role = ClientRole(self.script, transport, body=MemoryBody(transport), names=self.names)
            role.start()
            try:
                async with deadline(seconds):
                    await role.tell()
            except TimeoutError:
                why = f"the story took longer than {seconds:g} seconds"
                raise ScriptFailed(role.at, f"{why}\n{show(role.peer.transcript)}") from None
            finally:
                await role.peer.aclose()
        return role.peer.transcript


@asynccontextmanager
async def _open_target(target: Target) -> AsyncIterator[Transport]:
    if isinstance(target, Agent):
        ours, theirs = memory_pair()
        async with serving(target, theirs):
            yield ours
    elif isinstance(target, ScriptedAgent):
        ours, theirs = memory_pair()
        async with target.serving(theirs):
            yield ours
    elif isinstance(target, str | Sequence):
        yield spawn(target)  # closed with the conversation, which owns it
    else:
        yield target
