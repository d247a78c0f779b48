"""Work that comes to its end, whoever is cancelled meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.runtime.owner import run_to_end


async def test_the_result_and_the_error_are_those_of_the_work() -> None:
    async def give() -> int:
        return 5

    async def fail() -> None:
        raise ValueError("no")

    assert await run_to_end(give()) == 5
    with pytest.raises(ValueError, match="no"):
        await run_to_end(fail())


async def test_a_cancel_is_heard_when_the_work_is_done() -> None:
    go, done = asyncio.Event(), []

    async def work() -> None:
        await go.wait()
        done.append("done")
        raise ValueError("of no interest any more")

    waiting = asyncio.ensure_future(run_to_end(work()))
    for _ in range(3):
        await asyncio.sleep(0)
        waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert done == ["done"]
