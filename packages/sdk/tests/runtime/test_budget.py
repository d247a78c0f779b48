"""Bytes are counted at every level, waited for in order, and given back."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.runtime.budget import ByteBudget, HeldBytes


async def steps(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Taking:
    """Takes so much in a task."""

    def __init__(self, budget: ByteBudget, size: int) -> None:
        self.budget = budget
        self.size = size
        self.task = asyncio.create_task(budget.take(size))

    def has_it(self) -> bool:
        return self.task.done() and not self.task.cancelled()

    def release(self) -> None:
        self.task.result().release()


async def test_a_hold_counts_at_every_level_until_it_is_released() -> None:
    root = ByteBudget(100)
    agent = root.child(50)
    session = agent.child(20)
    with await session.take(15) as held:
        assert (session.held_bytes, agent.held_bytes, root.held_bytes, held.size) == (15, 15, 15, 15)
        assert session.try_take(6) is None
        assert session.try_take(5) is not None
    held.release()  # once more, without effect
    assert (session.held_bytes, agent.held_bytes, root.held_bytes) == (5, 5, 5)


async def test_who_came_first_is_served_first() -> None:
    budget = ByteBudget(10)
    first = await budget.take(10)
    waiting = [Taking(budget, size) for size in (6, 5, 1)]
    await steps()
    assert budget.waiting == 3
    first.release()
    await steps()
    assert [one.has_it() for one in waiting] == [True, False, False], "a small one does not overtake"
    waiting[0].release()
    await steps()
    assert [one.has_it() for one in waiting] == [True, True, True]


async def test_a_holder_at_its_own_limit_makes_nobody_else_wait() -> None:
    root = ByteBudget(100)
    greedy, other = root.child(30), root.child(30)
    await greedy.take(30)
    stuck = Taking(greedy, 1)
    await steps()
    assert not stuck.has_it()
    assert other.try_take(30) is not None
    stuck.task.cancel()
    await asyncio.wait([stuck.task])


async def test_a_large_one_is_not_overtaken_for_ever_by_small_ones_of_others() -> None:
    root = ByteBudget(20)
    one, two, three = (root.child(20) for _ in range(3))
    holds = [await one.take(5), await two.take(5), await three.take(5)]
    large = Taking(one, 10)
    small = Taking(two, 4)
    await steps()
    assert not large.has_it()
    holds[0].release()
    holds[2].release()
    await steps()
    assert large.has_it()
    large.release()
    await steps()
    assert small.has_it()


async def test_who_holds_nothing_has_room_though_the_others_hold_everything() -> None:
    root = ByteBudget(10)
    one, two = root.child(10), root.child(10)
    await one.take(10)
    assert one.try_take(1) is None
    assert two.try_take(3) is not None
    assert two.try_take(3) is None


async def test_what_is_larger_than_the_limit_passes_alone() -> None:
    root = ByteBudget(10)
    session = root.child(10).child(5)
    large = Taking(session, 1000)
    next_one = Taking(session, 1)
    await steps()
    assert (large.has_it(), next_one.has_it()) == (True, False)
    large.release()
    await steps()
    assert next_one.has_it()


async def test_who_is_cancelled_leaves_nothing_behind_and_holds_nobody_up() -> None:
    budget = ByteBudget(10)
    held = await budget.take(5)
    cancelled, behind = Taking(budget, 10), Taking(budget, 5)
    await steps()
    assert not behind.has_it()
    cancelled.task.cancel()
    await steps()
    assert behind.has_it()
    granted = Taking(budget, 10)
    await steps()
    held.release()
    behind.release()  # grants it, in the same step in which it is cancelled
    granted.task.cancel()
    await asyncio.wait([granted.task])
    assert budget.held_bytes == 0


async def test_two_who_want_more_do_not_wait_for_each_other() -> None:
    budget = ByteBudget(10)
    one, two = await budget.take(5), await budget.take(5)
    growing = [asyncio.create_task(held.change(8)) for held in (one, two)]
    await steps()
    assert [task.done() for task in growing] == [True, False]
    one.release()
    await steps()
    assert growing[1].done()
    assert budget.held_bytes == two.size == 8


async def test_a_closed_budget_frees_what_it_held_and_lets_everybody_go() -> None:
    root = ByteBudget(10)
    session, other = root.child(10), root.child(10)
    held = await session.take(10)
    await other.take(1)
    waiting, behind = Taking(session, 5), Taking(other, 5)
    rooms: list[str] = []
    session.when_room(lambda: rooms.append("room"))
    await steps()
    assert not behind.has_it()
    session.close()
    await steps()
    assert waiting.has_it()
    assert behind.has_it()
    assert rooms == ["room"]
    held.release()
    waiting.release()
    assert (session.held_bytes, root.held_bytes) == (0, 6)
    assert (await session.take(100)).size == 0


def test_a_producer_is_called_when_there_is_room_also_by_the_release_of_another() -> None:
    root = ByteBudget(100)
    agent = root.child(10)
    one, two = agent.child(10), agent.child(10)
    one.add(20)
    two.add(1)
    calls: list[str] = []
    two.when_room(lambda: calls.append("two"))
    assert two.is_full
    one.remove(11)
    assert not calls
    one.remove(1)
    assert calls == ["two"]
    two.when_room(lambda: calls.append("at once"))
    assert calls == ["two", "at once"]


LIMITS = (40, 20, 10)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 12), st.booleans()), max_size=60))
def test_no_level_exceeds_its_limit_but_by_one_hold_and_everybody_is_served(
    orders: list[tuple[int, int, bool]],
) -> None:
    async def run() -> None:
        root = ByteBudget(LIMITS[0])
        agents = [root.child(LIMITS[1]) for _ in range(3)]
        sessions = [agent.child(LIMITS[2]) for agent in agents for _ in range(2)]
        taking: list[Taking] = []
        held: list[HeldBytes] = []
        for place, size, releases in orders:
            taking.append(Taking(sessions[place], size))
            await steps()
            held += [one.task.result() for one in taking if one.has_it()]
            taking = [one for one in taking if not one.has_it()]
            assert all(
                agent.held_bytes == sum(s.held_bytes for s in sessions if s._parent is agent)
                for agent in agents
            )
            assert all(session.held_bytes <= max(LIMITS[2], 12) for session in sessions)
            assert all(agent.held_bytes <= LIMITS[1] for agent in agents)
            assert root.held_bytes <= LIMITS[0] + 12 * len(agents)
            if releases and held:
                held.pop(0).release()
        while True:
            await steps()
            held += [one.task.result() for one in taking if one.has_it()]
            taking = [one for one in taking if not one.has_it()]
            if not held:
                break
            held.pop(0).release()
        assert not taking, "nobody holds anything, and somebody waits"
        assert root.held_bytes == 0

    asyncio.run(run())


@pytest.mark.parametrize("size", [0, 7])
def test_what_its_holder_counts_itself_can_be_set(size: int) -> None:
    root = ByteBudget(10)
    budget = root.child(10)
    budget.set(5)
    budget.set(size)
    assert budget.held_bytes == root.held_bytes == size
