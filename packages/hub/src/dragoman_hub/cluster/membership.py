"""The nodes of a cluster: each has a lease in the register, and renews it while it is healthy.

A lease is a key that its node writes every little while. Nobody's clock is compared with another's: a node
counts from the moment before its last renewal, the others from the moment after they saw it, and a node stops
acting at seven tenths of the time after which others may declare it dead. To declare it dead is one more
write that only one can make, and that the node's own next renewal runs into: who has lost its lease knows.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.decoders import decode_json
from dragoman.errors import JournalError, KeyTaken, LocalMistake
from dragoman.runtime.owner import TaskOwner
from dragoman_hub.agents.channel import LeaseTerm
from dragoman_hub.agents.host.lease import now
from dragoman_local.journal.shared_state import Register, RegisterValue, Subscription

log = logging.getLogger(__name__)

PREFIX = "nodes"
ACTS = 0.7
"""The part of the lease in which its node acts."""
RENEWALS = 10
"""The renewals during one lease."""
AGAIN = 0.2
JOIN_SECONDS = 30.0
"""The most seconds that a starting node tries to get its lease."""


class Node(Struct, frozen=True, kw_only=True):
    """A node's description of itself."""

    name: str
    life: str
    """An id that changes with every start."""
    home: str
    """The folder of the node: agents can only be taken over from there with its name."""
    state: Literal["alive", "draining", "dead"] = "alive"
    agents: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    busy: int = 0
    sessions: int = 0
    url: str = ""


class _Seen(Struct):
    node: Node
    revision: int
    at: float


class Members:
    """This node's lease, and the known state of the others.

    `describe` adds what is to be told of this node. `on_renewed` hears how long it may act, `on_lost`
    that it must not act any more, before it joins anew; `on_gone` hears the name of a node that was declared
    dead or has left, `on_came` of one that is there.
    """

    def __init__(
        self,
        register: Register,
        node: Node,
        *,
        lease: float,
        describe: Callable[[Node], Node],
        on_renewed: Callable[[LeaseTerm], None],
        on_lost: Callable[[], Awaitable[None]],
        on_gone: Callable[[str], None],
        on_came: Callable[[str], None],
        clock: Callable[[], float] = now,
    ) -> None:
        self.node = node
        self.lease = lease
        self._register = register
        self._describe = describe
        self._on_renewed = on_renewed
        self._on_lost = on_lost
        self._on_gone = on_gone
        self._on_came = on_came
        self._clock = clock
        self._seen_nodes: dict[str, _Seen] = {}
        self._revision = 0
        self._last = 0.0  # just before the last renewal that was granted
        self._contact = 0.0  # since when renewals are granted without a pause
        self._owner: TaskOwner | None = None
        self._watch: Subscription | None = None
        self._hurry = asyncio.Event()
        self._regained_event = asyncio.Event()

    # Who is there.

    def alive(self) -> list[Node]:
        """Nodes with a valid lease, with this one."""
        other_nodes = [entry.node for entry in self._seen_nodes.values() if entry.node.state != "dead"]
        return sorted([self.node, *other_nodes], key=lambda node: node.name)

    def find(self, name: str) -> Node | None:
        if name == self.node.name:
            return self.node
        entry = self._seen_nodes.get(name)
        return None if entry is None or entry.node.state == "dead" else entry.node

    @property
    def lasting(self) -> LeaseTerm:
        """The time for which this node may act without another renewal."""
        return LeaseTerm(ACTS * self.lease, self._last)

    @property
    def remaining(self) -> float:
        """The remaining seconds of it."""
        return max(0.0, self._last + ACTS * self.lease - self._clock())

    async def may_act(self) -> None:
        """Return while this node has its lease; wait for it as long as a lease lasts, then raise
        `JournalError`.
        """
        try:
            async with asyncio.timeout(self.lease):
                while self.remaining <= 0:
                    self._regained_event.clear()
                    await self._regained_event.wait()
        except TimeoutError:
            raise JournalError("this node has no lease now: the others cannot be reached") from None

    # Joining and leaving.

    async def join(self) -> bool:
        """Take the lease; return true if an earlier process of this node held it until now."""
        self._watch = await self._register.watch(PREFIX, self._on_change)
        inherits = await self._take_in_time()
        self._owner = TaskOwner("cluster membership")
        self._owner.start(self._renew())
        self._owner.start(self._look())
        return inherits

    async def _take_in_time(self) -> bool:
        """The servers may be electing: that takes longer than one try."""
        until = self._clock() + JOIN_SECONDS
        while True:
            try:
                return await self._take()
            except (JournalError, TimeoutError) as error:
                if self._clock() >= until:
                    raise
                log.warning("this node could not join the cluster yet: %s", error)
            await asyncio.sleep(AGAIN)

    async def _take(self) -> bool:
        """Write this node's name over no name, its own earlier one, or that of a dead node."""
        key = f"{PREFIX}.{self.node.name}"
        while True:
            began = self._clock()
            current = await self._register.get(key)
            before = None if current is None else _read(current)
            if before is not None and before.state != "dead" and before.home != self.node.home:
                raise LocalMistake(
                    f"a node named {self.node.name!r} already exists: choose another name with --node"
                )
            value = msgspec.json.encode(self._describe(self.node))
            try:
                if current is None:
                    self._revision = await self._register.create(key, value)
                else:
                    self._revision = await self._register.update(key, value, current.revision)
            except KeyTaken:
                continue
            self._on_granted(began)
            return before is not None and before.state != "dead"

    async def leave(self) -> None:
        """Return the lease, so that others can take this node's sessions at once."""
        await self._stop()
        try:
            await self._register.delete(f"{PREFIX}.{self.node.name}", self._revision)
        except JournalError as error:
            log.warning("the lease of this node could not be given back: %s", error)

    async def aclose(self) -> None:
        """Stop renewing; the lease expires by itself, unless we are back before."""
        await self._stop()

    async def _stop(self) -> None:
        if self._owner is not None:
            await self._owner.aclose()
            self._owner = None
        if self._watch is not None:
            await self._watch.aclose()
            self._watch = None

    # Our own lease.

    def hurry(self) -> None:
        """Renew the lease now, and check that it is still valid."""
        self._hurry.set()

    async def _renew(self) -> None:
        pause = self.lease / RENEWALS
        while True:
            try:
                async with asyncio.timeout(pause):
                    await self._hurry.wait()
            except TimeoutError:
                pass
            self._hurry.clear()
            try:
                await self._renew_once()
                pause = self.lease / RENEWALS
            except KeyTaken:
                if not await self._is_still_ours():
                    log.error("node %s has lost its lease: another has declared it dead", self.node.name)
                    await self._begin_anew()
            except (JournalError, TimeoutError) as error:
                log.warning("the lease of this node could not be renewed: %s", error)
                pause = AGAIN
            except Exception:  # a node that stops renewing is dead: whatever this is, it is tried again
                log.exception("the lease of this node could not be renewed")
                pause = AGAIN

    async def _renew_once(self) -> None:
        began = self._clock()
        value = msgspec.json.encode(self._describe(self.node))
        key = f"{PREFIX}.{self.node.name}"
        self._revision = await self._register.update(key, value, self._revision)
        self._on_granted(began)

    async def _is_still_ours(self) -> bool:
        """Whether a renewal was granted although its answer did not arrive. What we read may be old: then the
        next renewal is refused again.
        """
        try:
            current = await self._register.get(f"{PREFIX}.{self.node.name}")
        except (JournalError, TimeoutError):
            return True  # nobody knows; it runs out by itself
        node = None if current is None else _read(current)
        if current is None or node is None or node.state == "dead" or node.life != self.node.life:
            return False
        self._revision = current.revision
        self._hurry.set()
        return True

    def _on_granted(self, began: float) -> None:
        if began - self._last > self.lease / 2:
            self._contact = began  # we were cut off: what we did not see of others means nothing
        self._last = began
        self._regained_event.set()
        self._on_renewed(self.lasting)

    async def _begin_anew(self) -> None:
        self._last = -self.lease  # we may do nothing until we are somebody again
        await self._on_lost()
        self.node = replace(self.node, life=new_life())
        while True:
            try:
                await self._take()
                return
            except (JournalError, LocalMistake) as error:
                log.warning("this node could not join again: %s", error)
                await asyncio.sleep(AGAIN)

    # The others.

    def _on_change(self, key: str, value: RegisterValue | None) -> None:
        name = key.removeprefix(f"{PREFIX}.")
        if name == self.node.name:
            return
        before = self._seen_nodes.get(name)
        node = None if value is None else _read(value)
        if value is None or node is None:
            self._seen_nodes.pop(name, None)
        else:
            self._seen_nodes[name] = _Seen(node, value.revision, self._clock())
        was = before is not None and before.node.state != "dead"
        now = node is not None and node.state != "dead"
        if was and not now:
            self._on_gone(name)
        elif now and not was:
            self._on_came(name)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self.lease / 20)
            for name, entry in list(self._seen_nodes.items()):
                if entry.node.state != "dead" and self._is_silent(entry):
                    await self._declare_dead(name, entry)

    def _is_silent(self, entry: _Seen) -> bool:
        now = self._clock()
        in_contact = now - self._last < self.lease / 4
        return in_contact and now - max(entry.at, self._contact) > self.lease

    async def _declare_dead(self, name: str, entry: _Seen) -> None:
        value = msgspec.json.encode(replace(entry.node, state="dead"))
        try:
            await self._register.update(f"{PREFIX}.{name}", value, entry.revision)
        except KeyTaken:
            return  # it lives, or somebody else was first
        except (JournalError, TimeoutError) as error:
            log.warning("node %s could not be declared dead: %s", name, error)
            return
        log.error("node %s has not renewed its lease for %g s: it is dead", name, self.lease)


def _read(register_value: RegisterValue) -> Node | None:
    try:
        return decode_json(register_value.value, Node)
    except msgspec.MsgspecError:
        log.error("the register has a node that cannot be read")
        return None


def new_life() -> str:
    return secrets.token_hex(8)
