"""One is inside at a time, and it is in use until the last has left."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.runtime.locks import KeyedLock


async def test_it_is_in_use_while_it_passes_from_one_to_the_next() -> None:
    lock = KeyedLock()
    seen: list[tuple[int, bool]] = []

    async def pass_through(number: int) -> None:
        async with lock:
            await asyncio.sleep(0)
        seen.append((number, lock.in_use))

    await asyncio.gather(*(pass_through(number) for number in range(3)))
    assert seen == [(0, True), (1, True), (2, False)]


async def test_who_is_cancelled_while_waiting_does_not_keep_it_in_use() -> None:
    lock = KeyedLock()
    async with lock:
        waiting = asyncio.create_task(lock.__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert lock.in_use
    assert not lock.in_use


async def test_nobody_is_inside_beside_another() -> None:
    lock, inside = KeyedLock(), []

    async def pass_through() -> None:
        async with lock:
            inside.append(1)
            assert len(inside) == 1
            await asyncio.sleep(0)
            inside.pop()

    await asyncio.gather(*(pass_through() for _ in range(5)))
