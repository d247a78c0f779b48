"""Remembers every request until its answer comes: an answer can only be translated if the request is known.

An edge keeps one `PendingRequests` for each direction in which it cares for answers. Its own requests, which
nobody but the edge knows of, have ids of its own; their answers end here.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import UNSET, UnsetType

from dragoman.dialect.message import Id

T = TypeVar("T")


class PendingRequests(Generic[T]):
    """Open requests of one direction by id, each with the edge's notes about it."""

    def __init__(self) -> None:
        self._open: dict[Id, T] = {}

    def owe(self, request_id: Id | UnsetType, memory: T) -> None:
        """Add a request. A second request with the same open id replaces the first: the sender made a
        mistake.
        """
        if request_id is not UNSET:
            self._open[request_id] = memory

    def settle(self, request_id: Id | UnsetType) -> T | None:
        """Remove the answered request, and return the notes about it; None if there is no such request."""
        return None if request_id is UNSET else self._open.pop(request_id, None)

    def look(self, request_id: Id | UnsetType) -> T | None:
        return None if request_id is UNSET else self._open.get(request_id)

    def items(self) -> list[tuple[Id, T]]:
        return list(self._open.items())

    def __len__(self) -> int:
        return len(self._open)


class OwnIds:
    """Ids for requests of an edge itself; ids that a peer also uses are skipped."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._last = 0

    def next(self) -> str:
        self._last += 1
        return f"{self._prefix}-{self._last}"
