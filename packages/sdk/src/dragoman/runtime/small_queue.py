"""A queue that costs little memory while it is empty: each of thousands of sessions has several."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class SmallQueue(Generic[T]):
    """Like `collections.deque`, which takes most of a kilobyte from the start."""

    __slots__ = ("_items",)

    def __init__(self) -> None:
        self._items: deque[T] | None = None

    def __len__(self) -> int:
        return 0 if self._items is None else len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items or ())

    @property
    def first(self) -> T:
        """Return the first item; raises `IndexError` if the queue is empty."""
        if self._items is None:
            raise IndexError("the queue is empty")
        return self._items[0]

    def append(self, item: T) -> None:
        if self._items is None:
            self._items = deque()
        self._items.append(item)

    def popleft(self) -> T:
        item = self.first
        assert self._items is not None
        self._items.popleft()
        if not self._items:
            self._items = None
        return item

    def clear(self) -> None:
        self._items = None
