"""When a lease ends, by whichever clock, and how often that is told."""

from __future__ import annotations

import asyncio
import time

from dragoman_hub.agents.host.lease import LOOK, TimedLease, moment, now


class Scene:
    """A lease on a clock that moves as it is told."""

    def __init__(self) -> None:
        self.time = 100.0
        self.ends = 0
        self.ended = asyncio.Event()
        self.lease = TimedLease(ran_out=self._ran_out, clock=lambda: self.time)

    def _ran_out(self) -> None:
        self.ends += 1
        self.ended.set()


async def test_who_was_never_given_a_lease_may_act() -> None:
    scene = Scene()
    scene.time = 10.0**9
    assert scene.lease.lasts()
    assert scene.ends == 0


async def test_the_first_to_ask_after_the_end_makes_it_known_once() -> None:
    scene = Scene()
    scene.lease.renew(105.0)
    scene.time = 104.9
    assert (scene.lease.lasts(), scene.ends) == (True, 0)
    scene.time = 105.0
    assert (scene.lease.lasts(), scene.ends) == (False, 1)
    assert (scene.lease.lasts(), scene.ends) == (False, 1)
    scene.lease.drop()


async def test_a_renewed_lease_lasts_again_and_ends_again() -> None:
    scene = Scene()
    scene.lease.renew(101.0)
    scene.time = 102.0
    assert not scene.lease.lasts()
    scene.lease.renew(103.0)
    assert (scene.lease.lasts(), scene.lease.over) == (True, False)
    scene.time = 103.0
    assert (scene.lease.lasts(), scene.ends) == (False, 2)


async def test_a_lease_that_comes_too_late_renews_nothing() -> None:
    scene = Scene()
    scene.lease.renew(100.0)
    assert (scene.lease.over, scene.ends) == (True, 1)
    scene.lease.renew(99.0)
    assert (scene.lease.over, scene.ends) == (True, 1)


async def test_a_lease_may_be_shortened() -> None:
    scene = Scene()
    scene.lease.renew(1000.0)
    scene.lease.renew(0.0)
    assert (scene.lease.over, scene.ends) == (True, 1)


async def test_a_clock_that_went_on_while_the_timers_slept_is_noticed_at_the_next_look() -> None:
    scene = Scene()
    scene.lease.renew(100.0 + 1000 * LOOK)
    scene.time += 1000 * LOOK
    await scene.ended.wait()
    assert scene.lease.over


async def test_a_lease_ends_by_itself_and_not_before_its_time() -> None:
    ended = asyncio.Event()
    lease = TimedLease(ran_out=ended.set)
    lease.renew(until := moment(0.05))
    await ended.wait()
    assert now() >= until


async def test_after_the_last_look_nothing_is_told() -> None:
    scene = Scene()
    scene.lease.renew(100.0 + 1e-6)
    scene.lease.drop()
    scene.time = 200.0
    await asyncio.sleep(0.001)  # a timer of a microsecond would have come before this one
    assert scene.ends == 0


def test_a_span_is_counted_from_where_it_began() -> None:
    assert moment(5.0, since=100.0) == 105.0
    assert moment(-1000.0, since=100.0) == 0.0
    assert now() <= moment(0.0) <= now()


def test_the_clock_counts_the_time_that_the_machine_slept_where_there_is_one() -> None:
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    before = time.clock_gettime(clock) if clock is not None else time.monotonic()
    assert before <= now()
