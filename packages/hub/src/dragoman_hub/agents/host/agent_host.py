"""The host of one agent: keeps its pipes, and passes its output to the connected hub.

It promises that a frame is kept until a hub has acknowledged it, that a write is given to the agent whole and
once, and that the agent does not outlive its agent host. One hub at a time: the one that came last. A hub
that does not acknowledge soon slows the agent down. Without a hub, it goes on keeping until its buffer is
full, and ends the agent and itself after `linger` seconds. A hub may give it a lease: from then on the agent
acts only while a lease lasts (see `leased`).

It does not know what frames mean. How the process is started is `host_process`'s to know.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from dragoman.errors import PeerDied, SpawnFailed
from dragoman.transport.contract import DEFAULT_LIMITS, READ_SIZE, Transport, TransportLimits
from dragoman.transport.owned_tree import OwnedTree
from dragoman.transport.process import ChildTransport, obituary, spawn
from dragoman_hub.agents.host import lease, place, records
from dragoman_hub.agents.host.agent_lease import AgentLease
from dragoman_hub.agents.host.deliveries import Deliveries
from dragoman_hub.agents.host.frames import KeptFrames
from dragoman_hub.agents.host.hub_connection import HubConnection, Pieces

STRANGERS = 8
"""The most open connections without authentication."""

HELLO_WITHIN = 5.0
"""The seconds for the authentication of a connection."""

FIRST_HUB = 60.0
"""The least seconds that the program that started the host has to connect, even if the time between two hubs
is shorter.
"""

TOO_LATE = "the lease ran out before the agent was started"

ATTACHED = 8 * 1024 * 1024
"""The most bytes that a connected hub has not stored yet. Without a hub the limit is `Order.buffer`."""

LIMITS = TransportLimits(high=DEFAULT_LIMITS.high, low=0)
"""The limits of the agent's pipes: `Deliveries` sends one write at a time and waits until the agent has read
all of it.
"""


class HostOrder(Struct, frozen=True, kw_only=True):
    """The command that an agent host runs, the path of its socket, and its time limits."""

    command: Sequence[str]
    socket: Path
    cwd: str | None = None
    env: Mapping[str, str] | None = None
    """The agent's whole environment; None passes on the host's own."""
    linger: float = 60.0
    buffer: int = 64 << 20
    batch: int = READ_SIZE
    """The approximate bytes of frames in one record: an interrupted record is sent again as a whole."""
    lease: float | None = None
    """The end of the first lease, on the clock of `lease.now`; None for an agent that needs no lease."""

    lease_linger: float = 20.0
    """The seconds that the agent is suspended without a lease before it is ended."""
    sandbox: str = "auto"
    """The sandbox that the host itself builds, on another machine."""


class HostedTransport(Transport, Protocol):
    """The transport to an agent whose processes belong to this host."""

    @property
    def tree(self) -> OwnedTree: ...


class AgentHost:
    """Starts the agent when it is created, and listens; `run` lasts until both have ended. Needs a running
    loop.
    """

    def __init__(
        self, order: HostOrder, *, wrap: Callable[[ChildTransport], HostedTransport] = lambda child: child
    ) -> None:
        self._order = order
        self._loop = asyncio.get_running_loop()
        self._frames = KeptFrames()
        self._lines = LastLines()
        self._end: bytes | None = None  # the record that tells how the agent ended
        self._leaving = asyncio.Event()
        self._visitors: set[HubConnection] = set()
        self._hub: HubConnection | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._full = self._is_held = False
        self._unreported_numbers: dict[str, int] = {}  # what was taken since the hub was last told
        self._reported_bytes = 0
        self._listener, self._secret = place.listen(order.socket)
        try:
            self._agent = wrap(self._spawn())
        except BaseException:
            self._stop_listening()
            raise
        self._lease = AgentLease(
            self._agent.tree, linger=order.lease_linger, note=self.note, on_lost=self.leave
        )
        self._deliveries = Deliveries(self._agent, on_delivery=self._on_delivery, may=self._lease.lasts)
        if order.lease is not None:
            self._lease.renew(order.lease)

    def _spawn(self) -> ChildTransport:
        order = self._order
        if order.lease is not None and order.lease <= lease.now():
            raise SpawnFailed(f"{TOO_LATE}; renew it, and try again")
        return spawn(order.command, cwd=order.cwd, env=order.env, limits=LIMITS, on_stderr=self._on_stderr)

    async def run(self) -> None:
        self._agent.start(self)
        self._await_a_hub(max(self._order.linger, FIRST_HUB))
        self._loop.add_reader(self._listener, self._on_connection)
        async with asyncio.TaskGroup() as tasks:
            delivering = tasks.create_task(self._deliveries.run(), name="deliveries")
            await self._leaving.wait()
            self._stop_listening()  # before the agent ends, so that nobody comes to find half of it
            if self._lease.end():
                self._deliveries.let_go()
            await self._agent.aclose()
            self._lease.drop()
            delivering.cancel()
            if self._hub is not None:
                await self._hub.flush(LIMITS.flush)
        for visitor in list(self._visitors):
            visitor.close()

    def leave(self) -> None:
        """End the agent, in an orderly way if its lease allows, and then the agent host."""
        if self._timer is not None:
            self._timer.cancel()
        self._leaving.set()

    # The agent speaks: the sink of its transport.

    def feed(self, block: bytes) -> None:
        self._frames.add(block)
        self._spoke()

    def on_oversized(self, size: int) -> None:
        self._frames.add_oversized(size)
        self._spoke()

    def on_end(self, reason: BaseException | None) -> None:
        if isinstance(reason, PeerDied):  # its stderr has gone out in lines
            died = PeerDied(reason.what, returncode=reason.returncode, signal=reason.signal)
        else:
            died = obituary(os.path.basename(self._order.command[0]), self._agent.tree.returncode, "")
        why = f"{died}; its lease had run out" if self._lease.over else str(died)
        end_record = records.AgentEndRecord(reason=why, exit_status=died.returncode)
        self._end = records.record(records.ENDED, payload=msgspec.json.encode(end_record))
        self._lines.finish()
        self._pump()

    def note(self, line: bytes) -> None:
        """Send the hub a note of the host among the agent's standard error."""
        self._on_stderr(line + b"\n")

    def _on_stderr(self, chunk: bytes) -> None:
        self._lines.feed(chunk)
        self._pump()

    def _spoke(self) -> None:
        self._pump()
        self._balance()

    def _on_delivery(self, stream: str, last: int) -> None:
        if stream:
            self._unreported_numbers[stream] = last
        self._pump()

    def _pump(self) -> None:
        if self._hub is not None:
            self._hub.pump()

    def _balance(self) -> None:
        """Listen to the agent unless the buffer is full or the hub asked for a pause."""
        charge, buffer = self._frames.charge, self._order.buffer
        if self._hub is not None:
            buffer = min(buffer, ATTACHED)
        # The gap saves stopping and starting for every block.
        self._full = charge >= buffer or (self._full and charge > buffer - buffer // 4)
        is_held = self._full or (self._hub is not None and self._hub.is_paused)
        if is_held != self._is_held:
            self._is_held = is_held
            (self._agent.pause if is_held else self._agent.resume)()

    # What the hub gets.

    def _next(self) -> Pieces | None:
        hub = self._hub
        if hub is None:
            return None
        if (receipt := self._next_receipt(hub)) is not None:
            return [receipt]
        if not hub.is_started:
            return None
        if (line := self._lines.take()) is not None:
            return [records.record(records.STDERR, payload=line)]
        if hub.is_paused:
            return None
        if self._frames:
            return self._next_frames()
        if self._end is not None and not hub.is_end_sent:
            hub.is_end_sent = True
            return [self._end]
        return None

    def _next_receipt(self, hub: HubConnection) -> bytes | None:
        done_bytes = self._deliveries.done_bytes
        if done_bytes == self._reported_bytes and not self._unreported_numbers:
            return None
        numbers, self._unreported_numbers, self._reported_bytes = self._unreported_numbers, {}, done_bytes
        # What an earlier hub sent may still be on its way: this one counts its own bytes only.
        return records.record(records.TAKEN, max(0, done_bytes - hub.base), msgspec.json.encode(numbers))

    def _next_frames(self) -> Pieces | None:
        batch = self._frames.take(self._order.batch)
        if batch is None:
            return None
        if not batch.blocks:
            return [records.record(records.OVERSIZED, batch.first, records.SIZE.pack(batch.size))]
        return [records.HEADER.pack(records.FRAMES, batch.size, batch.first), *batch.blocks]

    # Hubs come and go.

    def _on_connection(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # it left again, or there are no descriptors; the next one may be luckier
            return
        connection.setblocking(False)
        strangers = len(self._visitors) - (self._hub is not None)
        if strangers >= STRANGERS or not place.is_ours(connection):
            connection.close()
            return
        visitor = HubConnection(connection, on_record=self._on_record, on_gone=self._on_gone)
        self._visitors.add(visitor)
        self._loop.call_later(HELLO_WITHIN, self._send_away, visitor)

    def _send_away(self, visitor: HubConnection) -> None:
        if not visitor.is_proven:
            visitor.close()

    def _on_gone(self, visitor: HubConnection) -> None:
        self._visitors.discard(visitor)
        if visitor is self._hub:
            self._hub = None
            self._balance()
            self._await_a_hub(self._order.linger)

    def _await_a_hub(self, seconds: float) -> None:
        if not self._leaving.is_set():
            self._timer = self._loop.call_later(seconds, self.leave)

    def _stop_listening(self) -> None:
        """Only once: the path may belong to another agent host soon."""
        self._loop.remove_reader(self._listener)
        place.remove(self._order.socket)
        self._listener.close()

    def _on_record(self, visitor: HubConnection, kind: int, number: int, payload: bytes) -> None:
        if visitor is self._hub:
            self._obey(visitor, kind, number, payload)
        elif kind != records.HELLO or number != records.VERSION:
            why = f"this keeper speaks version {records.VERSION}"  # every version of a hub reads these words
            visitor.dismiss(records.record(records.REFUSED, payload=why.encode()))
        elif not secrets.compare_digest(payload, self._secret):
            visitor.dismiss(records.record(records.REFUSED, payload=b"the secret is wrong"))
        else:
            self._welcome(visitor)

    def _welcome(self, hub: HubConnection) -> None:
        """The newest hub is the hub: one that hangs must not lock its successor out."""
        old, self._hub = self._hub, hub
        if old is not None:
            old.dismiss(records.record(records.REPLACED))
        if self._timer is not None:
            self._timer.cancel()
        self._frames.rewind()
        self._balance()  # the pause of the one before does not bind this one
        hub.trust(largest=records.LARGEST)
        hub.base, self._reported_bytes, self._unreported_numbers = (
            self._deliveries.received_bytes,
            self._deliveries.done_bytes,
            {},
        )
        hub.next = self._next
        welcome = records.HostWelcome(
            agent=self._agent.tree.pid, host=os.getpid(), taken=self._deliveries.taken_numbers
        )
        hub.tell(records.record(records.WELCOME, payload=msgspec.json.encode(welcome)))

    def _obey(self, hub: HubConnection, kind: int, number: int, payload: bytes) -> None:
        if kind == records.ACKNOWLEDGE:
            self._frames.acknowledge(number)
            self._balance()
        elif kind == records.WRITE:
            if not self._leaving.is_set():
                stream, block = records.split_write(payload)
                self._deliveries.accept(stream, number, block)
        elif kind == records.FORGET:
            self._deliveries.forget(payload.decode(), number)
        elif kind in (records.PAUSE, records.RESUME, records.START):
            hub.is_started = hub.is_started or kind == records.START
            hub.is_paused = kind == records.PAUSE
            self._balance()
            hub.pump()
        elif kind == records.LEASE:
            if self._lease.renew(number / 1000):
                self._deliveries.go_on()
        elif kind == records.CLOSE:
            hub.is_paused = False
            self._balance()
            self.leave()


# The last lines of an agent's standard error that no hub has read: whole lines, limited in size.

KEPT = 64 * 1024
"""The most bytes of lines that wait for a hub: enough for a long traceback. Also the longest line."""

LINE = 64
"""The overhead of a line, in bytes."""


class LastLines:
    """`feed` chunks of a stream in, `take` lines out."""

    __slots__ = ("_charge", "_lines", "_part")

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._charge = 0
        self._part = b""  # the line that has not ended yet

    def feed(self, chunk: bytes) -> None:
        *lines, self._part = (self._part + chunk).split(b"\n")
        for line in lines:
            self._add(line.removesuffix(b"\r"))
        while len(self._part) > KEPT:
            self._add(self._part[:KEPT])
            self._part = self._part[KEPT:]

    def finish(self) -> None:
        """Handle the end of the stream: the last line counts even without its newline."""
        if self._part:
            self._add(self._part)
            self._part = b""

    def take(self) -> bytes | None:
        if not self._lines:
            return None
        line = self._lines.popleft()
        self._charge -= len(line) + LINE
        return line

    def _add(self, line: bytes) -> None:
        self._lines.append(line)
        self._charge += len(line) + LINE
        while self._charge > KEPT + LINE:
            self.take()
