"""Threads for what may wait for a disk."""

from __future__ import annotations

import asyncio
import threading

import pytest

from dragoman.testing.pace import deadline
from dragoman_local.workspace.disk_threads import HELD, in_disk_thread


async def test_work_gives_what_it_gives_and_raises_what_it_raises() -> None:
    assert await in_disk_thread("/here", int, "12", base=3) == 5
    with pytest.raises(ValueError, match="invalid literal"):
        await in_disk_thread("/here", int, "x")


async def test_a_folder_that_hangs_holds_a_few_threads_also_when_nobody_waits_any_more() -> None:
    is_back, begun = threading.Event(), threading.Semaphore(0)

    def hang() -> None:
        begun.release()
        is_back.wait()

    tasks = [asyncio.create_task(in_disk_thread("/far", hang)) for _ in range(10 * HELD)]
    try:
        for _ in range(HELD):
            await asyncio.to_thread(begun.acquire)
        for task in tasks[: 2 * HELD]:
            task.cancel()
        await asyncio.wait(tasks[: 2 * HELD])
        async with deadline(10):
            assert await in_disk_thread("/near", len, "four") == 4
        assert not begun.acquire(blocking=False), "who gave up made room for nobody"
    finally:
        is_back.set()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(not task.cancelled() for task in tasks) == 8 * HELD, "the others have their turn"
