"""Updates outside any turn: limits how many bytes of them are kept, and recognises repeated ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from dragoman.schema import v1
from dragoman.sdk.growing_output import supersedes


class Sizes:
    """Counts the bytes of a queue that others read; callers report its length."""

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
        """Note the queue's current length: drop the sizes of the oldest items, or of the newest."""
        while self._count > length:
            run = self._runs[-1 if newest else 0]
            count = min(run[0], self._count - length)
            run[0] -= count
            self._count -= count
            self.total -= count * run[1]
            if not run[0]:
                self._runs.pop() if newest else self._runs.popleft()


def without_superseded(
    late: deque[v1.SessionUpdate], updates: Sequence[v1.SessionUpdate]
) -> Sequence[v1.SessionUpdate]:
    """Drop output that is repeated in a later, longer update. This runs on every block of a replay, so only
    adjacent progress updates are compared.
    """
    progress = v1.ToolCallProgress
    types = list(map(type, updates))
    superseded_indexes = set()
    at = -1
    for _ in range(types.count(progress)):
        at = types.index(progress, at + 1)
        before = updates[at - 1] if at else late[-1] if late else None
        if type(before) is progress and supersedes(updates[at], before):
            superseded_indexes.add(at - 1)
    if -1 in superseded_indexes:
        late.pop()
    return (
        [update for at, update in enumerate(updates) if at not in superseded_indexes]
        if superseded_indexes
        else updates
    )
