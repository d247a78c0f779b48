"""Agents whose processes outlive the hub: `host_agent` starts one, `find_hosted` reconnects to it.

Frames are numbered over the agent's life and come again until they are acknowledged, so a hub that stores the
number with the frame knows each of them exactly once. A write that names its stream and sequence is given to
the agent once, however often it is sent; `taken` tells a hub that came back where to go on. The hub that came
last has the agent; for the one before, `replaced` is true and the agent lives on.

When the agent has ended, its agent host waits to be told that all was heard: call `aclose`. How an agent host
works inside is `agent_host`'s to know.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket as sockets
from pathlib import Path
from weakref import WeakValueDictionary

from msgspec.structs import replace

from dragoman.errors import DeadlineExceeded, LinkClosed
from dragoman_hub.agents.host import place
from dragoman_hub.agents.host.agent_host import HostOrder
from dragoman_hub.agents.host.host_connection import GONE, HostedAgent, NumberedSink, OtherVersion
from dragoman_hub.agents.host.launcher import bury_the_dead, launch

__all__ = ["HostedAgent", "NumberedSink", "find_hosted", "host_agent"]

log = logging.getLogger(__name__)

WELCOME_WITHIN = 10.0
"""The seconds for an agent host to answer a hub."""

_latest_agents: WeakValueDictionary[Path, HostedAgent] = WeakValueDictionary()  # by place, the latest of each


async def host_agent(order: HostOrder) -> HostedAgent:
    """Start an agent with its agent host. The socket's folder is created, or must be closed to other users.

    An agent of ours that has ended at the same place is closed first: whoever starts it anew has heard what
    it had to say. With a `lease` the agent never acts without one (see `KeptAgent.lease`). Raises
    `SpawnFailed` when there is nothing to start, an agent host at that place already, or no time left of the
    lease.
    """
    path = place.of(order.socket)
    before = _latest_agents.get(path)
    if before is not None and before.has_ended:
        await before.aclose()
    await launch(replace(order, socket=path))
    agent = await find_hosted(path)
    if agent is None:
        raise LinkClosed(GONE)
    return agent


async def find_hosted(socket: Path) -> HostedAgent | None:
    """Connect to the agent whose host listens at the socket. None if there is none; then the files of a dead
    one are removed.

    Raises `LocalMistake` when the agent host refuses us, `DeadlineExceeded` when it does not answer.
    """
    if os.name == "nt":
        return None  # nobody is kept there; see `launch`
    path = place.of(socket)
    bury_the_dead()
    try:
        async with asyncio.timeout(WELCOME_WITHIN):
            while (connection := await _connect(path)) is not None:
                agent = HostedAgent(connection, path=path)
                try:
                    if await agent.introduce():
                        _latest_agents[path] = agent
                        return agent
                except OtherVersion as other:
                    await _end_stranger(path, other.version)
                await asyncio.sleep(0.01)  # it is on its way out, or full of strangers
    except TimeoutError as error:
        raise DeadlineExceeded(f"the agent host at {path}", WELCOME_WITHIN) from error
    place.remove_stale(path)
    return None


async def _end_stranger(path: Path, version: int) -> None:
    """An agent host of another version of us cannot be gone on with: it is ended with its agent, whose turns
    end by that. Greeting and end are the same in all versions.
    """
    log.warning("the agent host at %s speaks version %d: it is ended, and its agent with it", path, version)
    connection = await _connect(path)
    if connection is not None:
        agent = HostedAgent(connection, path=path)
        if await agent.introduce(version=version):
            await agent.aclose()


async def _connect(path: Path) -> sockets.socket | None:
    while True:
        try:
            return place.connect(path)
        except BlockingIOError:  # others wait before us; their deadline is short
            await asyncio.sleep(0.01)
