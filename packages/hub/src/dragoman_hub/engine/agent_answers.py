"""How long the hub waits for an agent's answer.

Agents are machines, so each wait is bounded, unless `schema.waits` says that a person or a turn answers. The
clock stands still while the agent waits for a person itself: it asks in the session that it is asked about,
and cannot go on before somebody answers there, which may take days.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

CALL_SECONDS = 120.0
"""The seconds for calls that a machine answers, without a limit of their own."""

LOOK_SECONDS = 5.0
"""The seconds between two checks for open questions, which also limit the precision."""


async def answer_within(
    future: asyncio.Future[T], seconds: float | None, *, waits_for_person: Callable[[], bool]
) -> T:
    """Wait for an agent's answer. Raises `TimeoutError` after this many seconds without a question to a
    person; None means no limit. A cancelled caller cancels the future too.
    """
    if seconds is None:
        return await future
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    try:
        while True:
            done, _ = await asyncio.wait((future,), timeout=min(until - loop.time(), LOOK_SECONDS))
            if done:
                return future.result()
            if waits_for_person():
                until = loop.time() + seconds
            elif loop.time() >= until:
                raise TimeoutError
    finally:
        future.cancel()  # nothing, if it is done


def nobody() -> bool:
    """The check for calls without a session: the hub asks people no question that names no session."""
    return False
