from __future__ import annotations

import asyncio

from dragoman.transport.waiters import Waiters


async def test_all_who_wait_wake_together_and_later_ones_wait_for_the_next() -> None:
    waiters = Waiters()
    first = [asyncio.ensure_future(waiters.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    waiters.wake()
    await asyncio.gather(*first)
    later = asyncio.ensure_future(waiters.wait())
    for _ in range(3):
        await asyncio.sleep(0)
    assert not later.done()
    waiters.wake()
    await later


async def test_one_who_is_cancelled_leaves_nothing_behind() -> None:
    waiters = Waiters()
    tired, patient = (asyncio.ensure_future(waiters.wait()) for _ in range(2))
    await asyncio.sleep(0)
    tired.cancel()
    await asyncio.wait({tired})
    waiters.wake()
    await patient
    assert waiters._futures == []
