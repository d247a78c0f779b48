"""`connect`: from a command, an agent object or a transport to an initialized agent.

    async with connect("some-agent --acp") as agent:
        session = await agent.new_session(cwd="/project")

Leaving the block ends the conversation and, if we started one, the agent's whole process tree.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

from msgspec import UNSET

from dragoman.errors import CallTimeout, HandshakeTimeout, VersionMismatch
from dragoman.runtime import Limits, Link
from dragoman.schema.codec import write
from dragoman.schema.v1 import Implementation, InitializeRequest, InitializeResponse
from dragoman.sdk.agent import Agent
from dragoman.sdk.agent_handle import AgentHandle
from dragoman.sdk.client import Client
from dragoman.sdk.client_side import ClientSide
from dragoman.sdk.reading import read_result
from dragoman.sdk.serve import serving
from dragoman.transport.contract import Transport

SUPPORTED = (1,)

Target: TypeAlias = str | Sequence[str] | Agent | Transport


@asynccontextmanager
async def connect(
    target: Target,
    *,
    client: Client | None = None,
    limits: Limits | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    on_stderr: Callable[[bytes], None] | None = None,
) -> AsyncIterator[AgentHandle]:
    """An agent, started if need be, and initialized. A string is a command line; no shell runs it."""
    limits = limits or Limits()
    client = client or Client()
    if isinstance(target, Agent):
        from dragoman.transport.memory import memory_pair

        ours, theirs = memory_pair()
        async with serving(target, theirs, limits=limits), talking(ours, client, limits) as agent:
            yield agent
    elif isinstance(target, str | Sequence):
        from dragoman.transport.process import spawn

        child = spawn(target, cwd=cwd, env=env, on_stderr=on_stderr)
        async with talking(child, client, limits) as agent:
            yield agent
    else:
        async with talking(target, client, limits) as agent:
            yield agent


@asynccontextmanager
async def talking(transport: Transport, client: Client, limits: Limits) -> AsyncIterator[AgentHandle]:
    """A client's conversation over a transport, initialized."""
    side = ClientSide(client)
    link = Link(transport, side, name=f"client {client.name}", limits=limits)
    agent = AgentHandle(link, side)
    side.attach(link, agent)
    link.start()
    try:
        await _handshake(agent, client, limits)
        yield agent
    finally:
        await link.aclose()


async def _handshake(agent: AgentHandle, client: Client, limits: Limits) -> None:
    request = InitializeRequest(
        protocol_version=max(SUPPORTED),
        client_info=Implementation(
            name=client.name, version=client.version, title=UNSET if client.title is None else client.title
        ),
        client_capabilities=client.capabilities(),
    )
    try:
        raw = await agent.link.call("initialize", write(request), deadline=limits.handshake_seconds)
    except CallTimeout as late:
        raise HandshakeTimeout("the answer to initialize", late.seconds) from None
    answer = read_result(raw, InitializeResponse, "initialize")
    if answer.protocol_version not in SUPPORTED:
        raise VersionMismatch(answer.protocol_version, SUPPORTED)
    agent.introduce(answer)
