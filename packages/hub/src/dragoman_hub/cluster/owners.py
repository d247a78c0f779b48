"""The owner of each session: the node whose name is under the session's key, as long as that node lives.

Nothing is decided by what is read here. A session is taken by a write that succeeds for one; what its owner
before still writes into the stream is refused from then on, because the new owner's first entry has moved the
stream's end (see `hub/engine/opening.py`).

Owners and nodes are heard of by one watch, in the order in which they were written. An owner that was read
ahead of it may be a node of whose return we have not heard yet: it is judged when the watch has come as far.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable

import msgspec
from msgspec import Struct

from dragoman.decoders import decode_json
from dragoman.errors import Elsewhere, JournalError, KeyTaken
from dragoman.runtime.locks import KeyedLock
from dragoman.transport.waiters import Waiters
from dragoman_hub.cluster.membership import Members
from dragoman_hub.engine.ownership import SessionLease
from dragoman_local.journal.shared_state import Register, RegisterValue, Subscription

log = logging.getLogger(__name__)

PREFIX = "own"
TRIES = 10
WATCH_SECONDS = 5.0
"""The most seconds that the watch may be behind a read value."""


def _ignore() -> None:
    pass


class _Owned(Struct, frozen=True):
    session: str
    node: str
    life: str


class _Known(Struct, frozen=True):
    owner: _Owned
    revision: int


class Owners:
    """The known owners of open sessions."""

    def __init__(
        self, register: Register, members: Members, *, on_given: Callable[[], None] = _ignore
    ) -> None:
        """`on_given` is called when this node may have been given a session."""
        self._on_given = on_given
        self._register = register
        self._members = members
        self._entries: dict[str, _Known] = {}  # by key
        self._mine: dict[str, SessionLease] = {}
        self._dropped_ids: set[str] = set()
        self._locks: dict[str, KeyedLock] = {}
        self._watch: Subscription | None = None
        self._watched_revision = 0  # how far the watch has come
        self._watchers = Waiters()

    async def start(self) -> None:
        self._watch = await self._register.watch(PREFIX, self._on_watch)

    async def aclose(self) -> None:
        if self._watch is not None:
            await self._watch.aclose()
            self._watch = None

    def where(self, session: str) -> str | None:
        """Return the living node that is known to have the session; None if there is none."""
        entry = self._entries.get(_key(session))
        if entry is None or self._members.find(entry.owner.node) is None:
            return None
        return entry.owner.node

    def of(self, node: str) -> list[str]:
        """Return the sessions under a node's name; the node may be dead."""
        return [entry.owner.session for entry in self._entries.values() if entry.owner.node == node]

    def is_known(self, session: str) -> bool:
        """Whether the session has an owner, dead or alive."""
        return _key(session) in self._entries

    def orphans(self) -> list[str]:
        """Return sessions of nodes that no longer exist."""
        return [
            entry.owner.session
            for entry in self._entries.values()
            if self._members.find(entry.owner.node) is None
        ]

    def given_sessions(self) -> list[str]:
        """Sessions that this node got from another node, had in an earlier process, or claimed and
        dropped.
        """
        me = self._members.node
        return [
            entry.owner.session
            for entry in self._entries.values()
            if entry.owner.node == me.name
            and (entry.owner.life != me.life or entry.owner.session in self._dropped_ids)
        ]

    async def claim(self, session: str) -> SessionLease:
        """Claim a session for this node. Raises `Elsewhere` if a living node has it."""
        async with self._lock(session):
            for _ in range(TRIES):
                life = self._members.node.life
                try:
                    is_taken_over = await self._try(session)
                except KeyTaken:
                    await self._look_again(session)
                    continue
                is_taken_over = is_taken_over or session in self._dropped_ids
                self._dropped_ids.discard(session)
                lease = self._mine[session] = SessionLease(session, is_taken_over=is_taken_over, life=life)
                return lease
        raise JournalError(f"session {session} could not be claimed: its owner changes all the time")

    async def _try(self, session: str) -> bool:
        """Try to claim; returns whether the session had an owner before."""
        key = _key(session)
        entry = self._entries.get(key)
        me = self._members.node
        value = msgspec.json.encode(_Owned(session, me.name, me.life))
        if entry is None:
            self._note(key, value, await self._register.create(key, value))
            return False
        owner = entry.owner
        if (owner.node, owner.life) == (me.name, me.life):
            return False
        if owner.node != me.name and self._members.find(owner.node) is not None:
            raise Elsewhere(session, owner.node)
        self._note(key, value, await self._register.update(key, value, entry.revision))
        return True

    async def release(self, lease: SessionLease, *, to: str = "") -> None:
        """Free the session, or give it to the node `to`; nothing happens if it was claimed again in the
        meantime, or lost.
        """
        async with self._lock(lease.session):
            if self._mine.get(lease.session) is not lease:
                return
            del self._mine[lease.session]
            key = _key(lease.session)
            entry = self._entries.get(key)
            me = self._members.node
            if entry is None or (entry.owner.node, entry.owner.life) != (me.name, me.life):
                return
            try:
                if to:
                    value = msgspec.json.encode(_Owned(lease.session, to, ""))
                    self._note(key, value, await self._register.update(key, value, entry.revision))
                    return
                await self._register.delete(key, entry.revision)
            except KeyTaken:
                return
            except (JournalError, TimeoutError) as error:
                log.warning("session %s could not be given back: %s", lease.session, error)
                return
            if self._entries.get(key) == entry:
                del self._entries[key]

    def drop(self, session: str) -> None:
        """Forget a session that this node no longer owns. If it has no owner, our unfinished work in it
        remains.
        """
        self._mine.pop(session, None)
        self._dropped_ids.add(session)

    # Inside.

    def _lock(self, session: str) -> KeyedLock:
        if len(self._locks) > 1000:
            self._locks = {name: lock for name, lock in self._locks.items() if lock.in_use}
        return self._locks.setdefault(session, KeyedLock())

    def _note(self, key: str, value: bytes, revision: int) -> None:
        self._on_change(key, RegisterValue(value, revision))

    async def _look_again(self, session: str) -> None:
        """Read the key again, and the nodes as known when it was written."""
        key = _key(session)
        current = await self._register.get(key)
        try:
            async with asyncio.timeout(WATCH_SECONDS):
                while current is not None and self._watched_revision < current.revision:
                    await self._watchers.wait()
                    current = await self._register.get(key)
        except TimeoutError:
            raise JournalError(
                f"session {session} could not be claimed: the register cannot be followed"
            ) from None
        self._on_change(key, current, surely=True)

    def _on_watch(self, key: str, register_value: RegisterValue | None) -> None:
        if register_value is not None:
            self._watched_revision = max(self._watched_revision, register_value.revision)
        self._on_change(key, register_value)
        self._watchers.wake()

    def _on_change(self, key: str, register_value: RegisterValue | None, *, surely: bool = False) -> None:
        entry = self._entries.get(key)
        if entry is not None and (register_value is None or register_value.revision > entry.revision):
            self._dropped_ids.discard(entry.owner.session)  # whoever had it since then has seen to it
        if register_value is None:
            self._entries.pop(key, None)
        elif entry is None or register_value.revision > entry.revision or surely:
            try:
                owner = decode_json(register_value.value, _Owned)
            except msgspec.MsgspecError:
                log.error("the register has an owner that cannot be read")
                return
            self._entries[key] = _Known(owner, register_value.revision)
            if owner.node == self._members.node.name and owner.life != self._members.node.life:
                self._on_given()


def _key(session: str) -> str:
    """Names of sessions may have any letters; keys may not."""
    return f"{PREFIX}.{hashlib.blake2b(session.encode(), digest_size=16).hexdigest()}"
