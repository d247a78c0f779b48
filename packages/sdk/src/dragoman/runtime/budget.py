"""Counts and limits the bytes that are buffered between two parts: for one session, its agent, and in total.

A `ByteBudget` has a limit and may have a parent; what is held in it is held in all its ancestors too. Work
that can wait asks with `take` and begins when it fits: first come, first served, but a holder that is at its
own limit makes nobody else wait. What cannot wait is counted with `add`, and whoever produces it stops as
long as `is_full`.

Two rules keep everybody moving. A hold that is alone at a level always fits there, so a message that is
larger than a limit still passes. And a child of the root that holds nothing fits the root, however much the
others hold: the root is exceeded by at most one hold for each of its children.

It knows numbers and callbacks. It belongs to one event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import count

_tickets = count()


class _Waiter:
    """Somebody who waits for room; `on_room` is called once, when there is."""

    __slots__ = ("on_room", "size", "takes", "ticket")

    def __init__(self, size: int, on_room: Callable[[], None], *, takes: bool) -> None:
        self.ticket = next(_tickets)
        self.size = size
        self.takes = takes
        self.on_room = on_room


class ByteBudget:
    """One level of a budget. Levels without children hold bytes and make callers wait; levels with
    children only sum.
    """

    __slots__ = ("_is_closed", "_parent", "_root", "_waiters", "_waiting", "held_bytes", "limit")

    def __init__(self, limit: int, *, parent: ByteBudget | None = None) -> None:
        self.limit = limit
        self.held_bytes = 0
        self._parent = parent
        self._root: ByteBudget = self if parent is None else parent._root
        self._is_closed = False
        self._waiters: deque[_Waiter] | None = None  # made when somebody waits: there are many budgets
        self._waiting: dict[ByteBudget, None] | None = None if parent else {}  # at the root: who has waiters

    def child(self, limit: int) -> ByteBudget:
        return ByteBudget(limit, parent=self)

    @property
    def waiting(self) -> int:
        """The number of callers that wait for room."""
        return len(self._waiters or ())

    @property
    def is_full(self) -> bool:
        return not self.fits(1)

    def fits(self, size: int) -> bool:
        """Whether the budget has room for this many bytes now."""
        level: ByteBudget | None = self
        below: ByteBudget | None = None
        while level is not None:
            is_free = level.held_bytes == 0 or level.held_bytes + size <= level.limit
            is_due = level._parent is None and below is not None and below.held_bytes == 0
            if not (is_free or is_due):
                return False
            level, below = level._parent, level
        return True

    def add(self, size: int) -> None:
        """Count bytes that are already in memory, even if they exceed the budget."""
        if self._is_closed:
            return
        level: ByteBudget | None = self
        while level is not None:
            level.held_bytes += size
            level = level._parent
        if size < 0:
            self._root._wake()

    def remove(self, size: int) -> None:
        self.add(-size)

    def set(self, size: int) -> None:
        """Set the count, for a holder that knows its own size."""
        if size != self.held_bytes:
            self.add(size - self.held_bytes)

    def charge(self, size: int) -> HeldBytes:
        """Take bytes, even if they exceed the budget."""
        self.add(size)
        return HeldBytes(self, size)

    def try_take(self, size: int) -> HeldBytes | None:
        """Take bytes if they fit and no other caller waits."""
        if self._is_closed or self._waiters or not self.fits(size):
            return None
        return self.charge(size)

    async def take(self, size: int) -> HeldBytes:
        """Take bytes when it is the caller's turn and they fit. A closed budget makes no caller wait."""
        hold = self.try_take(size)
        if hold is not None:
            return hold
        if self._is_closed:
            return HeldBytes(self, 0)
        grant_future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def grant() -> None:
            if not grant_future.done():
                grant_future.set_result(None)

        waiter = self._wait(size, grant, takes=True)
        try:
            await grant_future
        except asyncio.CancelledError:
            if self._waiters and waiter in self._waiters:
                self._waiters.remove(waiter)
                self._root._wake()  # whoever stood behind it may fit
            else:
                self.remove(size)
            raise
        return HeldBytes(self, size)

    def when_room(self, on_room: Callable[[], None]) -> None:
        """Call this function once when the budget has room; at once if it has room now."""
        if self._is_closed or not self.is_full:
            on_room()
        else:
            self._wait(1, on_room, takes=False)

    def close(self) -> None:
        """Release all bytes of a holder that is gone, and wake its waiters."""
        if self._is_closed:
            return
        waiters, self._waiters = self._waiters, None  # nothing that is free now is for them
        self.add(-self.held_bytes)
        self._is_closed = True
        for waiter in waiters or ():
            waiter.on_room()

    def _wait(self, size: int, on_room: Callable[[], None], *, takes: bool) -> _Waiter:
        waiter = _Waiter(size, on_room, takes=takes)
        if self._waiters is None:
            self._waiters = deque()
        self._waiters.append(waiter)
        assert self._root._waiting is not None
        self._root._waiting[self] = None
        return waiter

    def _wake(self) -> None:
        """Let those go on who fit now, in the order in which they came."""
        while self._waiting and (budget := self._next(self._waiting)) is not None:
            assert budget._waiters is not None
            waiter = budget._waiters.popleft()
            if waiter.takes:
                budget.add(waiter.size)
            waiter.on_room()

    @staticmethod
    def _next(waiting: dict[ByteBudget, None]) -> ByteBudget | None:
        """Whose first waiter goes on. One that only lacks room at the root keeps that room from those behind
        it, or a large one would wait for ever; who holds nothing has room there anyway.
        """
        heads: list[tuple[int, int, ByteBudget]] = []
        for budget in list(waiting):
            if budget._waiters:
                heads.append((budget._waiters[0].ticket, budget._waiters[0].size, budget))
            else:
                del waiting[budget]
        is_reserved = False
        for _, size, budget in sorted(heads, key=lambda head: head[0]):
            if budget._fits_below_root(size):
                if budget.fits(size) and (not is_reserved or budget._branch().held_bytes == 0):
                    return budget
                is_reserved = True
        return None

    def _fits_below_root(self, size: int) -> bool:
        level = self
        while level._parent is not None:
            if level.held_bytes and level.held_bytes + size > level.limit:
                return False
            level = level._parent
        return True

    def _branch(self) -> ByteBudget:
        """The child of the root that this one is, or belongs to."""
        level = self
        while level._parent is not None and level._parent._parent is not None:
            level = level._parent
        return level


class HeldBytes:
    """Bytes taken from a budget. Use `with`, or call `release`; a second release has no effect."""

    __slots__ = ("_budget", "size")

    def __init__(self, budget: ByteBudget, size: int) -> None:
        self._budget = budget
        self.size = size

    def __enter__(self) -> HeldBytes:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        size, self.size = self.size, 0
        if size:
            self._budget.remove(size)

    async def change(self, size: int) -> None:
        """Take this many bytes instead. The old bytes are released first: otherwise two growing holders would
        wait for each other.
        """
        self.release()
        new_hold = await self._budget.take(size)
        self.size, new_hold.size = new_hold.size, 0
