"""A script of faults made as short as it can be while the test still fails, by halving.

It knows a list and a question. How the question is asked, and how long that takes, is the caller's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def shrink(items: Sequence[T], fails: Callable[[list[T]], Awaitable[bool]]) -> list[T]:
    """A part of `items` that fails and of which no single item can be left out. `items` must fail."""
    left = list(items)
    size = max(1, len(left) // 2)
    while left:
        at = 0
        while at < len(left):
            tried = left[:at] + left[at + size :]
            if await fails(tried):
                left = tried
            else:
                at += size
        if size == 1:
            break
        size = max(1, size // 2)
    return left
