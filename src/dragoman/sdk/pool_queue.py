"""Jobs that wait, taken in turn from everybody who has some.

Each group is served in its own order, and the groups one after another: whoever brings ten thousand jobs does
not make the next one wait for all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

J = TypeVar("J")


class FairQueue(Generic[J]):
    """First come, first served within a group; round and round among groups."""

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[Hashable, deque[J]] = {}  # in the order in which they are served

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    def put(self, group: Hashable, job: J) -> None:
        self._groups.setdefault(group, deque()).append(job)

    def take(self) -> J | None:
        """The next one, or None."""
        for group in self._groups:
            jobs = self._groups.pop(group)
            job = jobs.popleft()
            if jobs:
                self._groups[group] = jobs  # at the end: the others are next
            return job
        return None

    def remove(self, group: Hashable, job: J) -> bool:
        jobs = self._groups.get(group)
        if jobs is None or job not in jobs:
            return False
        jobs.remove(job)
        if not jobs:
            del self._groups[group]
        return True

    def take_all(self) -> list[J]:
        groups, self._groups = self._groups, {}
        return [job for jobs in groups.values() for job in jobs]
