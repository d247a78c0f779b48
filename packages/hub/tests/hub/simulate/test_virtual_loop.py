"""The loop of the simulation: virtual time, processes that stand still, processes that die."""

from __future__ import annotations

import asyncio

import pytest

from tests.hub.simulate.virtual_loop import Lane, Process, Stuck, VirtualLoop, virtual_time


async def _pass(seconds: float) -> None:
    await asyncio.sleep(seconds)


def test_time_jumps_to_the_next_timer() -> None:
    with virtual_time("a") as loop:
        loop.run_until_complete(_pass(86_400.0))
        assert loop.time() == pytest.approx(86_400.0)


def test_a_loop_in_which_nothing_can_run_says_so() -> None:
    with virtual_time("a") as loop, pytest.raises(Stuck):
        loop.run_until_complete(loop.create_future())


def test_a_paused_process_does_nothing_until_it_goes_on() -> None:
    done: list[float] = []
    with virtual_time("a") as loop:
        process = Process(loop, "paused")
        process.call_later(1.0, lambda: done.append(loop.time()))
        process.is_paused = True
        loop.call_later(5.0, process.resume)
        loop.run_until_complete(_pass(6.0))
    assert done == [pytest.approx(5.0)]


def test_a_killed_process_does_not_even_clean_up() -> None:
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(100.0)
        finally:
            cleaned.append("too late")

    with virtual_time("a") as loop:
        process = Process(loop, "killed")
        process.start(work())
        loop.call_later(1.0, process.kill)
        loop.run_until_complete(_pass(200.0))
        assert not cleaned
        assert not loop.live_tasks()


def test_what_is_given_to_a_thread_runs_in_the_loop_a_little_later() -> None:
    async def ask(loop: VirtualLoop) -> float:
        await asyncio.to_thread(int)
        return loop.time()

    with virtual_time("a") as loop:
        assert 0 < loop.run_until_complete(ask(loop)) < 0.1


def test_what_is_sent_on_a_lane_arrives_in_order() -> None:
    arrived: list[int] = []

    async def send() -> None:
        lane = Lane(Process(asyncio.get_running_loop(), "of the lane"))  # type: ignore[arg-type]
        for number, seconds in enumerate((3.0, 1.0, 2.0, 1.0, 0.0)):
            lane.send(seconds, arrived.append, number)
        await asyncio.sleep(10.0)

    with virtual_time("a") as loop:
        loop.run_until_complete(send())
    assert arrived == [0, 1, 2, 3, 4]
