"""How many bytes a queue holds whose items came in runs of one size: counted by runs, not by items."""

from __future__ import annotations

from collections import deque


class Sizes:
    """Follows a queue that others take from; it is told how long the queue is."""

    __slots__ = ("_count", "_runs", "total")

    def __init__(self) -> None:
        self.total = 0
        self._count = 0
        self._runs: deque[list[int]] = deque()  # how many, and how large each; the oldest first

    def add(self, count: int, each: int) -> None:
        if count:
            self._runs.append([count, each])
            self._count += count
            self.total += count * each

    def forget_all_but(self, length: int, *, newest: bool = False) -> None:
        """The queue is this long now: the oldest have left it, or the newest."""
        while self._count > length:
            run = self._runs[-1 if newest else 0]
            gone = min(run[0], self._count - length)
            run[0] -= gone
            self._count -= gone
            self.total -= gone * run[1]
            if not run[0]:
                self._runs.pop() if newest else self._runs.popleft()
