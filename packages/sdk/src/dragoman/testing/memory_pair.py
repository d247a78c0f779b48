"""`talking_to`: connects a client to an agent object, in memory.

async with talking_to(agent) as handle:
    session = await handle.new_session(cwd="/tmp")
    assert (await session.prompt("Hello")).text == "You said: Hello"
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dragoman.runtime import Limits
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.client.agent_handle import AgentHandle
from dragoman.sdk.client.client import Client
from dragoman.sdk.connect import connect
from dragoman.sdk.serve import serving
from dragoman.testing.script_peers import ScriptedAgent
from dragoman.testing.transcript import RecordingTransport, Transcript
from dragoman.transport.contract import Transport
from dragoman.transport.memory import memory_pair


@asynccontextmanager
async def talking_to(
    agent: Agent | ScriptedAgent,
    *,
    client: Client | None = None,
    limits: Limits | None = None,
    transcript: Transcript | None = None,
) -> AsyncIterator[AgentHandle]:
    """Connect to an agent object and initialize it. The messages are added to `transcript`, as the client saw
    them.

        async with talking_to(agent) as handle:
            session = await handle.new_session(cwd="/tmp")
            assert (await session.prompt("Ann")).text == "Hello, Ann."

    Leaving the block ends both sides.
    """
    ours, theirs = memory_pair()
    end: Transport = ours if transcript is None else RecordingTransport(ours, transcript, party="client")
    server = (
        agent.serving(theirs) if isinstance(agent, ScriptedAgent) else serving(agent, theirs, limits=limits)
    )
    async with server, connect(end, client=client, limits=limits) as handle:
        yield handle
