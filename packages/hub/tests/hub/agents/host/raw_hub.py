"""What tests of kept agents share: a hub's journal, a raw hub that can be cut anywhere, ends of processes."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import msgspec

from dragoman.testing.pace import patience
from dragoman.transport.contract import TransportLimits
from dragoman.transport.waiters import Waiters
from dragoman_hub.agents.host import place, records
from dragoman_hub.agents.host.hosted_agents import HostedAgent, find_hosted

LATEST = 2**63
"""Beyond every number: whatever was said so far."""


class Journal:
    """A sink that stores each frame under its number, and objects to gaps and to frames that have changed."""

    def __init__(self, agent: HostedAgent | None = None, *, base: int | None = 0) -> None:
        """With an agent, it acknowledges at once. Without a base, it begins wherever the agent is."""
        self.agent = agent
        self.frames: list[bytes] = []
        self.base = base
        self.lines: list[bytes] = []
        self.skipped: list[tuple[int, int]] = []
        self.feeds = 0
        self.end: tuple[str, int | None] | None = None
        self._waiters = Waiters()

    @property
    def last(self) -> int:
        return (self.base or 0) + len(self.frames)

    @property
    def words(self) -> list[bytes]:
        """The frames that are not blank; see `round_trips`."""
        return [frame for frame in self.frames if frame]

    def feed(self, first: int, block: bytes) -> None:
        assert self.end is None
        if self.base is None:
            self.base = first - 1
        assert block.endswith(b"\n")
        self.feeds += 1
        for number, frame in enumerate(block[:-1].split(b"\n"), first):
            if number <= self.base:
                continue  # the acknowledgement was lost with the hub before us
            if number <= self.last:
                assert self.frames[number - self.base - 1] == frame
            else:
                assert number == self.last + 1
                self.frames.append(frame)
        if self.agent is not None:
            self.agent.acknowledge(self.last)
        self._waiters.wake()

    def stderr(self, line: bytes) -> None:
        self.lines.append(line)
        self._waiters.wake()

    def on_oversized(self, number: int, size: int) -> None:
        self.skipped.append((number, size))

    def on_end(self, reason: str, exit_status: int | None) -> None:
        assert self.end is None
        self.end = (reason, exit_status)
        self._waiters.wake()

    async def until(self, count: int) -> None:
        """Wait for this many frames."""
        while len(self.frames) < count:
            await self._waiters.wait()

    async def until_word(self, word: bytes) -> None:
        while word not in self.frames:
            await self._waiters.wait()

    async def until_line(self, line: bytes) -> None:
        """Wait for a complaint, or for a word of the agent host."""
        while line not in self.lines:
            await self._waiters.wait()

    async def until_ended(self) -> tuple[str, int | None]:
        while self.end is None:
            await self._waiters.wait()
        return self.end


class RawHub:
    """A hub that says what it is told to say, byte by byte, and reads only when asked."""

    def __init__(self, path: Path, *, secret: bytes | None = None, version: int = records.VERSION) -> None:
        connection = place.connect(path)
        assert connection is not None
        self.socket = connection
        self.socket.settimeout(patience(30))
        self._buffer = b""
        secret = place.read_secret(path) if secret is None else secret
        self.socket.sendall(records.record(records.HELLO, version, secret))

    def read(self) -> tuple[int, int, bytes]:
        kind, size, number = records.HEADER.unpack(self._take(records.HEADER.size))
        return kind, number, self._take(size)

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            chunk = self.socket.recv(65536)
            if not chunk:
                raise EOFError
            self._buffer += chunk
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def close(self) -> None:
        self.socket.close()


async def raw_hub(path: Path) -> tuple[RawHub, records.HostWelcome]:
    """One that has been welcomed."""
    raw = RawHub(path)
    kind, _, payload = await asyncio.to_thread(raw.read)
    assert kind == records.WELCOME
    return raw, msgspec.json.decode(payload, type=records.HostWelcome)


async def until_gone(pid: int) -> None:
    """Wait for the exit of any process."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    gone = asyncio.Event()
    asyncio.get_running_loop().add_reader(fd, gone.set)
    try:
        await gone.wait()
    finally:
        asyncio.get_running_loop().remove_reader(fd)
        os.close(fd)


def a_socketpair() -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    return ours, theirs


async def round_trips(agent: HostedAgent, count: int) -> None:
    """The agent host has gone round this often, and could have done what it should not. Says blanks."""
    agent.limits = TransportLimits(low=0)
    for _ in range(count):
        agent.write(b"\n")
        await agent.drain()
        assert agent.pending == 0


async def attach(path: Path) -> tuple[HostedAgent, Journal]:
    """The agent that is kept there, and a journal of what it says from now on, acknowledged at once."""
    agent = await find_hosted(path)
    assert agent is not None
    agent.acknowledge(LATEST)
    journal = Journal(agent, base=None)
    agent.start(journal)
    return agent, journal
