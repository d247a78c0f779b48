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
    """Open requests of one direction by their ids, each with what the edge wants to remember of it."""

    def __init__(self) -> None:
        self._open: dict[Id, T] = {}

    def owe(self, request_id: Id | UnsetType, memory: T) -> None:
        """A second request under an id that is still open replaces the first; its peer answers for that."""
        if request_id is not UNSET:
            self._open[request_id] = memory

    def settle(self, request_id: Id | UnsetType) -> T | None:
        """What was remembered of the request that this answers; None if nobody asked."""
        return None if request_id is UNSET else self._open.pop(request_id, None)

    def look(self, request_id: Id | UnsetType) -> T | None:
        return None if request_id is UNSET else self._open.get(request_id)

    def items(self) -> list[tuple[Id, T]]:
        return list(self._open.items())

    def __len__(self) -> int:
        return len(self._open)


class OwnIds:
    """Ids for requests that an edge makes up itself; a peer that uses the same words gets the next one."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._last = 0

    def next(self) -> str:
        self._last += 1
        return f"{self._prefix}-{self._last}"
