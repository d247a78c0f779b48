"""Which node has a session: the one that wrote its name under the session's key, while that node lives.

Nothing is decided by what is read here. A session is taken by a write that succeeds for one; what its owner
before still writes into the stream is refused from then on, because the new owner's first entry has moved the
stream's end (see `hub/engine/opening.py`).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable

import msgspec
from msgspec import Struct

from dragoman.decoders import decode_json
from dragoman.errors import Elsewhere, JournalError, KeyTaken
from dragoman.hub.cluster.membership import Members
from dragoman.hub.engine.ownership import SessionLease
from dragoman.journal.shared_state import Register, RegisterValue, Subscription
from dragoman.runtime.locks import KeyedLock

log = logging.getLogger(__name__)

PREFIX = "own"
TRIES = 10


def _ignore() -> None:
    pass


class _Owned(Struct, frozen=True):
    session: str
    node: str
    life: str


class _Known(Struct, frozen=True):
    owned: _Owned
    revision: int


class Owners:
    """What is known of the owners of sessions that are open somewhere."""

    def __init__(self, register: Register, members: Members, *, given: Callable[[], None] = _ignore) -> None:
        """`given` hears that a session may have been given to us."""
        self._given = given
        self._register = register
        self._members = members
        self._known: dict[str, _Known] = {}  # by key
        self._mine: dict[str, SessionLease] = {}
        self._dropped: set[str] = set()
        self._locks: dict[str, KeyedLock] = {}
        self._watch: Subscription | None = None

    async def start(self) -> None:
        self._watch = await self._register.watch(PREFIX, self._changed)

    async def aclose(self) -> None:
        if self._watch is not None:
            await self._watch.aclose()
            self._watch = None

    def where(self, session: str) -> str | None:
        """The living node that has it, as far as we know; None if none has."""
        known = self._known.get(_key(session))
        if known is None or self._members.find(known.owned.node) is None:
            return None
        return known.owned.node

    def of(self, node: str) -> list[str]:
        """Sessions under a node's name, which may be dead."""
        return [known.owned.session for known in self._known.values() if known.owned.node == node]

    def is_known(self, session: str) -> bool:
        """Whether somebody has it, dead or alive."""
        return _key(session) in self._known

    def orphans(self) -> list[str]:
        """Sessions of nodes that are no more."""
        return [
            known.owned.session
            for known in self._known.values()
            if self._members.find(known.owned.node) is None
        ]

    def given(self) -> list[str]:
        """Sessions that another node has given to us, that a life of ours before this one had, or that we
        have claimed and dropped.
        """
        me = self._members.node
        return [
            known.owned.session
            for known in self._known.values()
            if known.owned.node == me.name
            and (known.owned.life != me.life or known.owned.session in self._dropped)
        ]

    async def claim(self, session: str) -> SessionLease:
        """Make it ours. Raises `Elsewhere` if it is a living node's."""
        async with self._lock(session):
            for _ in range(TRIES):
                try:
                    taken = await self._try(session)
                except KeyTaken:
                    await self._look_again(session)
                    continue
                taken = taken or session in self._dropped
                self._dropped.discard(session)
                lease = self._mine[session] = SessionLease(session, taken=taken)
                return lease
        raise JournalError(f"session {session} could not be claimed: its owner changes all the time")

    async def _try(self, session: str) -> bool:
        """Whether it was somebody's before."""
        key = _key(session)
        known = self._known.get(key)
        me = self._members.node
        value = msgspec.json.encode(_Owned(session, me.name, me.life))
        if known is None:
            self._note(key, value, await self._register.create(key, value))
            return False
        owned = known.owned
        if (owned.node, owned.life) == (me.name, me.life):
            return False
        if owned.node != me.name and self._members.find(owned.node) is not None:
            raise Elsewhere(session, owned.node)
        self._note(key, value, await self._register.update(key, value, known.revision))
        return True

    async def release(self, lease: SessionLease, *, to: str = "") -> None:
        """Nobody has it from here on, or the node `to`; nothing happens if it was claimed again meanwhile, or
        lost.
        """
        async with self._lock(lease.session):
            if self._mine.get(lease.session) is not lease:
                return
            del self._mine[lease.session]
            key = _key(lease.session)
            known = self._known.get(key)
            me = self._members.node
            if known is None or (known.owned.node, known.owned.life) != (me.name, me.life):
                return
            try:
                if to:
                    value = msgspec.json.encode(_Owned(lease.session, to, ""))
                    self._note(key, value, await self._register.update(key, value, known.revision))
                    return
                await self._register.delete(key, known.revision)
            except KeyTaken:
                return
            except (JournalError, TimeoutError) as error:
                log.warning("session %s could not be given back: %s", lease.session, error)
                return
            if self._known.get(key) == known:
                del self._known[key]

    def drop(self, session: str) -> None:
        """It is not ours any more, whoever has it. If nobody has, what we had begun in it is left behind."""
        self._mine.pop(session, None)
        self._dropped.add(session)

    # Inside.

    def _lock(self, session: str) -> KeyedLock:
        if len(self._locks) > 1000:
            self._locks = {name: lock for name, lock in self._locks.items() if lock.in_use}
        return self._locks.setdefault(session, KeyedLock())

    def _note(self, key: str, value: bytes, revision: int) -> None:
        self._changed(key, RegisterValue(value, revision))

    async def _look_again(self, session: str) -> None:
        key = _key(session)
        self._changed(key, await self._register.get(key), surely=True)

    def _changed(self, key: str, stored: RegisterValue | None, *, surely: bool = False) -> None:
        known = self._known.get(key)
        if known is not None and (stored is None or stored.revision > known.revision):
            self._dropped.discard(known.owned.session)  # whoever had it since then has seen to it
        if stored is None:
            self._known.pop(key, None)
        elif known is None or stored.revision > known.revision or surely:
            try:
                owned = decode_json(stored.value, _Owned)
            except msgspec.MsgspecError:
                log.error("the register holds an owner that cannot be read")
                return
            self._known[key] = _Known(owned, stored.revision)
            if owned.node == self._members.node.name and owned.life != self._members.node.life:
                self._given()


def _key(session: str) -> str:
    """Names of sessions may have any letters; keys may not."""
    return f"{PREFIX}.{hashlib.blake2b(session.encode(), digest_size=16).hexdigest()}"
