"""Which hub owns a session. A single hub owns all; nodes of a cluster must claim them (see `cluster`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class SessionLease:
    """Proof that we own a session. Each opening has its own, so that a late release frees no later one."""

    __slots__ = ("is_taken_over", "life", "session")

    def __init__(self, session: str, *, is_taken_over: bool = False, life: str = "") -> None:
        self.session = session
        self.life = life
        """The life of the node that has claimed it: it ends when the node loses its own lease."""
        self.is_taken_over = is_taken_over
        """Whether it was somebody's before, who did not give it back."""


class Ownership(Protocol):
    """Claims a session before the hub opens it, and releases it afterwards."""

    @property
    def is_shared(self) -> bool:
        """Whether others may have sessions of the same journal."""

    def left_behind(self) -> Sequence[str] | None:
        """Sessions that this hub had open before its last restart; None if only the journal knows."""

    async def may_act(self) -> None:
        """Wait until no other node can own these sessions. Raises `JournalError` if that is unknown for too
        long.
        """

    async def may_use(self, lease: SessionLease) -> None:
        """Do the same for a session that is being opened; raises `JournalError` also if it may have been lost
        since.
        """

    async def claim(self, session: str) -> SessionLease:
        """Claim a session for this node. Raises `Elsewhere`."""

    async def release(self, lease: SessionLease) -> None:
        """Free the session for any node. Nothing happens if it was claimed again in the meantime."""

    async def give(self, lease: SessionLease, *, agent: str, cwd: str) -> None:
        """Give a session to another node, which has the agent and the folder and continues it."""

    def on_lost(self, session: str) -> None:
        """Drop a session that another program has written to."""


class SoleOwnership:
    """The ownership of a single hub."""

    is_shared = False

    def left_behind(self) -> None:
        return None

    async def may_act(self) -> None:
        pass

    async def may_use(self, lease: SessionLease) -> None:
        pass

    async def claim(self, session: str) -> SessionLease:
        return SessionLease(session)

    async def release(self, lease: SessionLease) -> None:
        pass

    async def give(self, lease: SessionLease, *, agent: str, cwd: str) -> None:
        pass

    def on_lost(self, session: str) -> None:
        pass
