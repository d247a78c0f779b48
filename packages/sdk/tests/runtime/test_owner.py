"""Whoever is started by an owner ends when the owner ends."""

from __future__ import annotations

import asyncio
import logging

import pytest

from dragoman.runtime.owner import TaskOwner
from tests.runtime.clock import virtually


async def test_closing_cancels_and_waits_for_every_task() -> None:
    ended: list[int] = []

    async def work(n: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # cleaning up may take a while
            ended.append(n)

    owner = TaskOwner("test")
    tasks = [owner.start(work(n)) for n in range(5)]
    await asyncio.sleep(0)
    await owner.aclose()
    assert sorted(ended) == list(range(5))
    assert all(task.cancelled() for task in tasks)
    assert len(owner) == 0


async def test_a_task_that_ended_is_no_longer_owned() -> None:
    async def work() -> None: ...

    owner = TaskOwner("test")
    await owner.start(work())
    await asyncio.sleep(0)
    assert len(owner) == 0


async def test_an_owner_of_nothing_closes_at_once_and_twice() -> None:
    owner = TaskOwner("test")
    await owner.finish(60)
    await owner.aclose()
    await owner.aclose()


def test_finishing_waits_only_so_long() -> None:
    async def body() -> None:
        loop = asyncio.get_running_loop()
        owner = TaskOwner("test")
        owner.start(asyncio.sleep(3))
        await owner.finish(10)
        assert loop.time() == pytest.approx(3)
        owner.start(asyncio.sleep(30))
        await owner.finish(10)
        assert loop.time() == pytest.approx(13)
        await owner.aclose()
        assert loop.time() == pytest.approx(13)

    virtually(body())


def test_a_task_that_swallows_its_cancellation_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    async def stubborn() -> None:
        for _ in range(2):
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                continue

    async def body() -> None:
        owner = TaskOwner("a name to find in the log")
        owner.start(stubborn())
        await asyncio.sleep(0)
        await owner.aclose(patience=5)
        assert asyncio.get_running_loop().time() == pytest.approx(5)
        await asyncio.sleep(300)

    with caplog.at_level(logging.ERROR):
        virtually(body())
    assert "a name to find in the log" in caplog.text


async def test_an_owner_can_be_closed_by_one_of_its_tasks() -> None:
    owner = TaskOwner("test")
    others = owner.start(asyncio.sleep(1000))

    async def close() -> None:
        await owner.aclose()

    await owner.start(close())
    assert others.cancelled()
