"""Work that can be ended early. What it has collected until then stays with whoever started it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def run_until(stop: asyncio.Event | None, work: Coroutine[Any, Any, T]) -> T | None:
    """What `work` returns; None if `stop` was set first. Then the work is cancelled, and its end awaited."""
    working = asyncio.create_task(work, name="examination")
    stopping = asyncio.create_task((stop or asyncio.Event()).wait(), name="stop")
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.wait((working, stopping))
    return None if working.cancelled() else working.result()
