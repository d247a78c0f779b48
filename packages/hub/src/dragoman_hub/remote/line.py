"""The connection to a remote agent: a transport that survives network failures.

The agent host there keeps every frame until it is acknowledged, and gives each write to the agent once, by
its number. So after a cut the line connects again, says up to where it has heard, and repeats what was not
taken: nothing is lost, and nothing comes twice. While there is no connection, writes wait, and count as
`pending`. The end is the agent's own, the host's, or ours after `give_up` seconds without a connection.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple, TypeAlias

from dragoman.errors import LinkClosed, PeerDied
from dragoman.transport.contract import DEFAULT_LIMITS, Sink, TransportLimits
from dragoman.transport.waiters import Waiters
from dragoman_hub.agents.host.host_connection import HostedAgent
from dragoman_hub.remote.client_process import RemoteFailed
from dragoman_hub.remote.connection import RemoteConnection

STREAM = "line"
"""The name under which the host counts our writes."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
"""The seconds between two attempts, doubled each time, with randomness."""

WELCOME_SECONDS = 30.0

OpeningStep: TypeAlias = Literal["start", "find"]
Opener: TypeAlias = Callable[[OpeningStep], Awaitable[RemoteConnection]]


class LineNotice(NamedTuple):
    """A change of the connection: `lost` with the reason, or `back` after this many seconds."""

    kind: Literal["lost", "back"]
    reason: str = ""
    seconds: float = 0.0


class LineTransport:
    """The transport to a remote agent, made with the first connection by `open_line`."""

    def __init__(
        self,
        opener: Opener,
        *,
        give_up: float,
        on_notice: Callable[[LineNotice], None],
        on_stderr: Callable[[bytes], None],
        limits: TransportLimits = DEFAULT_LIMITS,
    ) -> None:
        self.limits = limits
        self.exit_status: int | None = None
        """Of the agent, if it has ended by itself."""
        self.cuts = 0
        self._opener = opener
        self._give_up = give_up
        self._on_notice = on_notice
        self._on_stderr = on_stderr
        self._sink: Sink | None = None
        self._connection: RemoteConnection | None = None
        self._agent: HostedAgent | None = None
        self._reconnecting: asyncio.Task[None] | None = None
        self._waiters = Waiters()  # for a new connection, or the end
        self._unsent: deque[tuple[int, bytes]] = deque()  # numbers and blocks that the agent may not have
        self._unsent_bytes = 0
        self._number = 0  # of the last write
        self._last_fed = 0  # the number of the last frame that the sink has had
        self._is_paused = self._has_ended = self._closing = False

    async def open(self, step: OpeningStep) -> None:
        """Connect and authenticate. Raises `RemoteFailed`."""
        connection = await self._opener(step)
        agent = HostedAgent(connection.socket, path=None, limits=self.limits)
        try:
            async with asyncio.timeout(WELCOME_SECONDS):
                is_welcome = await agent.wait_for_welcome()
        except TimeoutError:
            is_welcome = False
        except BaseException:
            await agent.leave()
            await connection.aclose()
            raise
        if not is_welcome:
            await agent.leave()
            await connection.aclose()
            raise RemoteFailed(f"{connection.access.place}: the agent host does not answer", "try again")
        self._connection, self._agent = connection, agent
        if self._sink is not None:
            self._go_on(agent)

    def start(self, sink: Sink) -> None:
        if self._sink is not None:
            raise RuntimeError("a transport is started once")
        self._sink = sink
        assert self._agent is not None, "the line was not opened"
        self._go_on(self._agent)

    def _go_on(self, agent: HostedAgent) -> None:
        """Send untaken messages again, and listen from the last received one on."""
        self._forget_taken()
        for number, block in self._unsent:
            try:
                agent.write(block, stream=STREAM, last=number)
            except LinkClosed:
                break  # cut again: the next connection repeats it
        if self._is_paused:
            agent.pause()
        if self._last_fed:
            agent.acknowledge(self._last_fed)
        agent.start(_NumberedFrames(self, agent))
        self._waiters.wake()

    def write(self, block: bytes | bytearray | memoryview) -> None:
        if self._closing or self._has_ended:
            raise LinkClosed("written to after close")
        self._number += 1
        data = bytes(block)
        self._unsent.append((self._number, data))
        self._unsent_bytes += len(data)
        if self._agent is not None and self._sink is not None:
            try:
                self._agent.write(data, stream=STREAM, last=self._number)
            except LinkClosed:
                pass  # it waits for the next connection
        self._forget_taken()

    def _forget_taken(self) -> None:
        last_number = 0 if self._agent is None else self._agent.taken_numbers.get(STREAM, 0)
        while self._unsent and self._unsent[0][0] <= last_number:
            self._unsent_bytes -= len(self._unsent.popleft()[1])

    @property
    def pending(self) -> int:
        self._forget_taken()
        return self._unsent_bytes

    async def drain(self) -> None:
        while self.pending > self.limits.low:
            if self._has_ended or self._closing:
                raise LinkClosed("the agent is no longer there")
            agent = self._agent
            if agent is None or agent.has_ended:
                await self._waiters.wait()
                continue
            try:
                await agent.wait_until_taken(STREAM, self._unsent[0][0])
            except LinkClosed:
                await self._waiters.wait()  # for the next connection

    def pause(self) -> None:
        self._is_paused = True
        if self._agent is not None:
            self._agent.pause()

    def resume(self) -> None:
        self._is_paused = False
        if self._agent is not None:
            self._agent.resume()

    async def aclose(self) -> None:
        """End the agent there, and feed its last output. Without a connection its host ends it later."""
        if self._closing:
            while self._connection is not None or self._reconnecting is not None:
                await self._waiters.wait()
            return
        self._closing = True
        if self._reconnecting is not None:
            self._reconnecting.cancel()
            await asyncio.wait([self._reconnecting])
            self._reconnecting = None
        agent, connection = self._agent, self._connection
        try:
            if agent is not None:
                await agent.aclose()
            if connection is not None:
                await connection.aclose()
        finally:
            self._connection = self._agent = None
            self._end(None)
            self._waiters.wake()

    # What the host says.

    def on_frames(self, first: int, block: bytes) -> None:
        """Feed new frames. The host repeats those without an acknowledgement."""
        last = first + block.count(b"\n") - 1
        if last <= self._last_fed:
            return
        old_count = self._last_fed - first + 1
        if old_count > 0:
            block = block.split(b"\n", old_count)[old_count]
        self._last_fed = last
        assert self._sink is not None
        self._sink.feed(block)

    def on_skipped(self, number: int, size: int) -> None:
        if number > self._last_fed:
            self._last_fed = number
            assert self._sink is not None
            self._sink.on_oversized(size)

    def on_stderr(self, line: bytes) -> None:
        self._on_stderr(line + b"\n")

    @property
    def last_fed(self) -> int:
        return self._last_fed

    def on_agent_end(self, agent: HostedAgent, reason: str, exit_status: int | None) -> None:
        if agent is not self._agent:
            return
        if self._closing or self._has_ended:
            self._end(None)
        elif agent.is_cut:
            self.cuts += 1
            self._reconnecting = asyncio.get_running_loop().create_task(self._reconnect(), name="line")
        elif agent.is_replaced:  # somebody removes what is there, and ends it first
            self._end(LinkClosed("another client has taken over the agent, or is ending it"))
        else:
            self.exit_status = exit_status
            self._end(PeerDied(reason, returncode=exit_status) if exit_status else None)

    async def _reconnect(self) -> None:
        connection, self._connection, self._agent = self._connection, None, None
        began = time.monotonic()
        self._on_notice(LineNotice("lost", "the connection was cut"))
        if connection is not None:
            await connection.aclose()
        pause = FIRST_PAUSE
        while True:
            try:
                await self.open("find")
                break
            except RemoteFailed as error:
                if error.is_gone or time.monotonic() - began > self._give_up:
                    self._reconnecting = None
                    self._end(LinkClosed(str(error)))
                    return
                self._on_notice(LineNotice("lost", str(error)))
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, LONGEST_PAUSE)
        self._reconnecting = None
        self._on_notice(LineNotice("back", seconds=time.monotonic() - began))

    def _end(self, reason: BaseException | None) -> None:
        if self._sink is not None and not self._has_ended:
            self._has_ended = True
            self._sink.on_end(reason)
        self._waiters.wake()


class _NumberedFrames:
    """Hears one connection for the line. What is fed is safe with us: nobody behind us can be cut off."""

    def __init__(self, line: LineTransport, agent: HostedAgent) -> None:
        self._line = line
        self._agent = agent

    def feed(self, first: int, block: bytes) -> None:
        self._line.on_frames(first, block)
        self._agent.acknowledge(self._line.last_fed)

    def stderr(self, line: bytes) -> None:
        self._line.on_stderr(line)

    def on_oversized(self, number: int, size: int) -> None:
        self._line.on_skipped(number, size)
        self._agent.acknowledge(self._line.last_fed)

    def on_end(self, reason: str, exit_status: int | None) -> None:
        self._line.on_agent_end(self._agent, reason, exit_status)
