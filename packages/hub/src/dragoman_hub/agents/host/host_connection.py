"""The hub's end of the socket to an agent host: a hosted agent, and the sink that receives its frames.

Nothing is trusted to arrive: acknowledgements may be lost and come to nothing, frames then come again with
the same numbers, and a write is told to be taken by the agent host alone. How an agent host is found and
started is in `hosted_agents`, what it does in `agent_host`.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket as sockets
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import msgspec

from dragoman.decoders import decode_json
from dragoman.errors import LinkClosed, LocalMistake
from dragoman.transport.contract import DEFAULT_LIMITS, TransportLimits
from dragoman.transport.waiters import Waiters
from dragoman.transport.writer import open_writer
from dragoman_hub.agents.host import lease, place, records
from dragoman_hub.agents.host.launcher import bury

CLOSED_WITHIN = 20.0
"""The seconds from the order to close to the end of the agent host: every step of ending a tree, and a
reserve.
"""

LOST = 0  # a kind of our own, among the records that wait: the socket has ended

GONE = "the agent host is gone, and the agent with it"
ACKNOWLEDGE_BYTES = 16 * 1024
ACKNOWLEDGE_SECONDS = 0.1
"""Frames are acknowledged after this many bytes, or after this time: at the pace of a model, a record for
each would cost as much as the frame.
"""

TAKEN_OVER = "another hub has taken the agent over"


class NumberedSink(Protocol):
    """Receives an agent's numbered frames. All calls come from the event loop's thread; while paused, only
    `stderr` is called.
    """

    def feed(self, first: int, block: bytes) -> None:
        """Receive whole frames, each with its newline; `first` is the number of the first. Frames are
        numbered 1, 2, 3 … over the agent's life; a blank line has a number too.
        """

    def stderr(self, line: bytes) -> None:
        """Receive the agent's standard error. It is not numbered, and is lost with the hub
        that received it.
        """

    def on_oversized(self, number: int, size: int) -> None:
        """The frame with this number had `size` bytes, above the limit, and was skipped."""

    def on_end(self, reason: str, exit_status: int | None) -> None:
        """The agent is gone after its last frame; or the agent host is gone or serves another hub. Called
        once.
        """


class OtherVersion(Exception):  # it is an answer, and no mistake
    """The agent host uses another version of the record format."""

    def __init__(self, version: int) -> None:
        super().__init__(f"version {version}")
        self.version = version


class HostedAgent:
    """An agent behind its agent host, and the hub's end of the socket between. Made by `host_agent` and
    `find_hosted`.
    """

    def __init__(
        self, connection: sockets.socket, *, path: Path | None, limits: TransportLimits = DEFAULT_LIMITS
    ) -> None:
        """`path` is the agent host's socket; None if the host is on another machine, where another program
        connects for us.
        """
        self.pid = 0
        """The agent's process, not the agent host's."""
        self.host_pid = 0
        self.is_replaced = False
        """Whether another hub has the agent now."""
        self.is_cut = False
        """Whether the connection has ended although the agent may live on."""
        self.limits = limits
        self.burst: AbstractContextManager[None] = nullcontext()
        """Entered while all that has come at once is fed."""
        self._path = path
        self._socket = connection
        self._loop = asyncio.get_running_loop()
        self._taken_numbers: dict[str, int] = {}
        self._sink: NumberedSink | None = None
        self._refusal = ""
        self._is_paused = self._has_ended = self._has_left = self._over = False
        self._closing = self._discarding = False
        self._held_records: deque[tuple[int, int, bytes]] = deque()  # arrived while paused
        self._written_bytes = self._done_bytes = 0
        self._unacknowledged_bytes = self._last_safe = 0
        self._acknowledgement: asyncio.TimerHandle | None = None
        self._waiters = Waiters()
        self._records = records.Records(self._on_record)
        self._writer = open_writer(os.dup(connection.fileno()), limits=limits, on_broken=lambda _: None)
        self._loop.add_reader(connection, self._readable)

    @property
    def taken_numbers(self) -> Mapping[str, int]:
        """The last sequence of each stream that was written to the agent's pipe, by any hub."""
        return MappingProxyType(self._taken_numbers)

    @property
    def has_ended(self) -> bool:
        """Whether the sink has received an end, or `aclose` is about to send it."""
        return self._has_ended or self._closing

    def start(self, sink: NumberedSink) -> None:
        """Begin to receive frames, from the first one without an acknowledgement."""
        if self._sink is not None:
            raise RuntimeError("an agent is started once")
        self._send_acknowledgement()
        self._sink = sink
        self._say(records.record(records.START))
        if self._over:
            self._end(GONE, None)

    def write(self, block: bytes, *, stream: str = "", last: int = 0) -> None:
        """Write whole frames to the agent, in one piece, without waiting. With a stream, `last` counts as
        taken after the write to the agent's pipe, and a write up to a taken number is ignored.

        Raises `LinkClosed` when the agent or its agent host is known to be gone.
        """
        if self._over or self._has_ended:
            raise LinkClosed("the agent is no longer there")
        self._written_bytes += len(block)
        self._writer.write(records.write_head(stream, last, len(block)) + block)

    @property
    def pending(self) -> int:
        """The bytes of writes that are not in the agent's pipe yet."""
        return self._written_bytes - self._done_bytes

    async def drain(self) -> None:
        """Return when `pending` is at or below `limits.low`; raise `LinkClosed` if that can never happen."""
        while self.pending > self.limits.low and not (self._over or self._has_ended):
            await self._waiters.wait()
        if self._over or self._has_ended:
            raise LinkClosed("the agent is no longer there")

    async def wait_until_taken(self, stream: str, last: int) -> None:
        """Return when the write with this number is in the agent's pipe; raise `LinkClosed` if that can never
        happen.
        """
        while self._taken_numbers.get(stream, 0) < last:
            if self._over or self._has_ended:
                raise LinkClosed("the agent is no longer there")
            await self._waiters.wait()

    def forget(self, stream: str) -> None:
        """Forget the number of a stream whose session is closed and whose messages were all taken. Stored
        frames are acknowledged first.
        """
        self._send_acknowledgement()
        last = self._taken_numbers.pop(stream, 0)
        if last:
            self._say(records.record(records.FORGET, last, stream.encode()))

    def acknowledge(self, number: int) -> None:
        """Acknowledge frames up to this one, which are stored. Allowed before `start`: then known frames are
        not sent again.
        """
        self._last_safe = number
        if self._acknowledgement is None and not self._over:
            self._acknowledgement = self._loop.call_later(ACKNOWLEDGE_SECONDS, self._send_acknowledgement)
        if self._unacknowledged_bytes >= ACKNOWLEDGE_BYTES:
            self._send_acknowledgement()

    def _send_acknowledgement(self) -> None:
        if self._acknowledgement is not None:
            self._acknowledgement.cancel()
            self._acknowledgement = None
            self._say(records.record(records.ACKNOWLEDGE, self._last_safe))
            self._unacknowledged_bytes = 0

    def lease(self, seconds: float, *, since: float | None = None) -> None:
        """From now on the agent needs leases. When this one has run out, its whole tree is suspended, even if
        the hub is gone; a later lease continues it, and without one in time it is ended. The seconds count
        from `since`, a time of `lease.now`, or from now. With none left, it stops at once.
        """
        ends = int(lease.moment(seconds, since) * 1000)
        self._say(records.record(records.LEASE, ends))

    def pause(self) -> None:
        """Stop feeding, and stop the agent host from reading the agent. A second call has no effect. An agent
        that is being ended feeds nothing more: otherwise its end would wait for a resume.
        """
        if self._closing:
            self._discarding = True
        elif not self._is_paused:
            self._is_paused = True
            self._say(records.record(records.PAUSE))

    def resume(self) -> None:
        """Continue feeding."""
        if self._is_paused:
            self._is_paused = False
            self._say(records.record(records.RESUME))
            self._loop.call_soon(self._catch_up)

    async def aclose(self) -> None:
        """End the agent with all its processes, and its agent host. Its last frames are fed, unless we are
        paused. An agent without a valid lease is killed at once. A second call has no effect.
        """
        if not self._has_left:
            self._closing = True
            self._discarding = self._discarding or self._is_paused
            self._is_paused = False
            self._catch_up()
            self._send_acknowledgement()
            self._say(records.record(records.CLOSE))
            try:
                await self._wait_for_the_end()
            finally:  # cancelled, we leave it to the agent host
                self._end(GONE, None)
                self._let_go()
        if self._path is not None and not (self._has_left or self.is_replaced):
            await bury(self.host_pid)
            place.remove_stale(self._path)

    async def leave(self) -> None:
        """Close the socket after all writes are in it: the agent lives on. The sink receives nothing more,
        not even `on_end`.
        """
        self._has_left = True
        self._send_acknowledgement()
        try:
            async with asyncio.timeout(self.limits.flush):
                await self._writer.drain(0)
        except (TimeoutError, LinkClosed):
            pass  # what did not go through is not taken; whoever comes back will see that
        finally:
            self._let_go()

    async def introduce(self, *, version: int = records.VERSION) -> bool:
        """Authenticate; False if the agent host ends before it answers. Raises `OtherVersion` if it uses
        another version.
        """
        assert self._path is not None
        try:
            if not place.is_ours(self._socket):
                raise LocalMistake(f"another user listens at {self._path}; remove that file")
            peer = place.peer_of(self._socket)
            whom = f"process {peer[0]}" if peer else "its process"
            secret = place.read_secret(self._path)
            self._say(records.record(records.HELLO, version, secret))
            await self.wait_for_welcome()
            match = re.search(r"speaks version (\d+)", self._refusal)
            if match is not None and int(match[1]) != version:
                raise OtherVersion(int(match[1]))
            if self._refusal:
                raise LocalMistake(
                    f"the agent host at {self._path} refuses this hub: {self._refusal}; end {whom}"
                )
        except BaseException:
            self._let_go()
            raise
        return not self._over

    async def wait_for_welcome(self) -> bool:
        """Wait until the agent host has answered; False if it ends before that."""
        while not (self.host_pid or self._over):
            await self._waiters.wait()
        return not self._over

    def _say(self, note: bytes) -> None:
        """Send a small record. One that is lost with the agent host says nothing that matters then."""
        if not self._over:
            try:
                self._writer.write(note)
            except LinkClosed:
                pass  # the end of the stream tells it to everybody

    def _readable(self) -> None:
        try:
            with self.burst:
                alive = self._records.receive(self._socket)
        except BlockingIOError:
            return
        except (OSError, MemoryError, records.OutOfStep):
            alive = False
        if not alive and not self._over:
            self._let_go()
            self._pass_on(LOST, 0, b"")

    def _on_record(self, kind: int, number: int, payload: bytes) -> None:
        if kind == records.TAKEN:
            self._done_bytes = number
            self._taken_numbers.update(msgspec.json.decode(payload, type=dict[str, int]))
            self._waiters.wake()
        elif kind == records.WELCOME:
            welcome = decode_json(payload, records.HostWelcome)
            self.pid, self.host_pid, self._taken_numbers = welcome.agent, welcome.host, welcome.taken
            self._waiters.wake()
        elif kind == records.REFUSED:
            self._refusal = payload.decode(errors="replace")
        elif kind == records.REPLACED:
            self.is_replaced = True
        else:
            self._pass_on(kind, number, payload)

    def _pass_on(self, kind: int, number: int, payload: bytes) -> None:
        """Pass an item to the sink; it waits while the sink is paused, and behind earlier items. Standard
        error does not: it has no place among the frames, and the agent host sends it during a pause too.
        """
        if kind != records.STDERR and (self._is_paused or self._held_records):
            self._held_records.append((kind, number, payload))
        else:
            self._tell(kind, number, payload)

    def _catch_up(self) -> None:
        with self.burst:
            while self._held_records and not self._is_paused:
                self._tell(*self._held_records.popleft())

    def _tell(self, kind: int, number: int, payload: bytes) -> None:
        sink = self._sink
        if sink is None or self._has_ended or self._has_left:
            return
        if kind == records.ENDED:
            how = decode_json(payload, records.AgentEndRecord)
            self._end(how.reason, how.exit_status)
        elif kind == LOST:
            self.is_cut = not self.is_replaced
            self._end(TAKEN_OVER if self.is_replaced else GONE, None)
        elif self._discarding:
            return
        elif kind == records.FRAMES:
            self._unacknowledged_bytes += len(payload)
            sink.feed(number, payload)
        elif kind == records.STDERR:
            sink.stderr(payload)
        elif kind == records.OVERSIZED:
            sink.on_oversized(number, records.SIZE.unpack(payload)[0])

    def _end(self, reason: str, exit_status: int | None) -> None:
        if self._sink is not None and not self._has_ended and not self._has_left:
            self._has_ended = True
            self._waiters.wake()
            self._sink.on_end(reason, exit_status)

    async def _wait_for_the_end(self) -> None:
        try:
            async with asyncio.timeout(CLOSED_WITHIN):
                while not self._over:
                    await self._waiters.wait()
        except TimeoutError:
            # It is there, for it holds the socket, but it hangs. The guard of the agent's tree ends that. The
            # number of a process of another machine means nothing here.
            if self._path is not None:
                os.kill(self.host_pid, signal.SIGKILL)

    def _let_go(self) -> None:
        if not self._over:
            self._over = True
            if self._acknowledgement is not None:
                self._acknowledgement.cancel()
            self._records.stop()
            self._loop.remove_reader(self._socket)
            self._writer.close()
            self._socket.close()
            self._waiters.wake()
