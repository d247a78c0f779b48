"""Many sessions at once, no more than may be; every task has an outcome, and nothing stays behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from dragoman import Agent, Pool, Turn, supervised
from dragoman.errors import CallFailed, CrashLoop, DeadlineExceeded, LocalMistake, PeerDied, SpawnFailed
from dragoman.schema.v1 import SessionUpdate
from dragoman.sdk.pool import PoolTask, TaskOutcome
from dragoman.sdk.supervision.supervisor import SupervisedAgent
from tests.runtime.clock import virtually
from tests.sdk.ends import text_of
from tests.sdk.supervision.lives import QUICK, script
from tests.transport.programs import alive, eventually


def tasks(*prompts: str) -> list[PoolTask]:
    return [PoolTask(prompt=prompt, cwd="/tmp", label=prompt) for prompt in prompts]


class Crowd:
    """An agent that knows how many turns run at once, and ends them when it is told."""

    def __init__(self) -> None:
        self.agent = Agent("crowd")
        self.now = self.most = 0
        self.seen: list[str] = []
        self.gate = asyncio.Event()
        self.cancelled = 0

        @self.agent.prompt
        async def reply(turn: Turn) -> None:
            self.seen.append(turn.text)
            self.now += 1
            self.most = max(self.most, self.now)
            try:
                if turn.text.startswith("wait"):
                    await self.gate.wait()
                elif turn.text == "fail":
                    raise ValueError("mine")
                await turn.say(turn.text)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            finally:
                self.now -= 1


async def test_outcomes_come_in_order_or_as_they_are_completed() -> None:
    crowd = Crowd()
    async with Pool(crowd.agent, concurrency=3) as pool:
        first = []
        async with aclosing(pool.run(tasks("wait", "quick", "fast"))) as outcomes:
            async for outcome in outcomes:
                first.append(outcome.task.label)
                if len(first) == 2:
                    crowd.gate.set()
        assert sorted(first[:2]) == ["fast", "quick"]
        assert first[2] == "wait"
        found = await pool.map(tasks("wait", "quick", "fast"))
    assert [outcome.unwrap().text for outcome in found] == ["wait", "quick", "fast"]
    assert [outcome.index for outcome in found] == [0, 1, 2]
    assert {outcome.kind for outcome in found} == {"done"}


async def test_no_more_run_at_once_than_may_and_as_many_as_may_do() -> None:
    crowd = Crowd()
    async with Pool(crowd.agent, concurrency=4) as pool:
        outcomes = asyncio.create_task(pool.map(tasks(*(f"wait {n}" for n in range(20)))))
        await eventually(lambda: crowd.now == 4)
        crowd.gate.set()
        assert len(await outcomes) == 20
    assert crowd.most == 4


async def test_one_task_that_fails_is_no_reason_for_the_others_to() -> None:
    crowd = Crowd()

    def broken(update: SessionUpdate) -> None:
        raise RuntimeError("of the caller")

    mine = PoolTask(prompt="x", cwd="/tmp", on_update=broken)
    async with Pool(crowd.agent) as pool:
        good, bad, own, last = await pool.map([*tasks("good", "fail"), mine, *tasks("last")])
    assert (good.kind, bad.kind, own.kind, last.kind) == ("done", "failed", "failed", "done")
    assert isinstance(bad.error, CallFailed)
    assert isinstance(own.error, RuntimeError)
    with pytest.raises(CallFailed):
        bad.unwrap()


def test_a_task_has_its_time_and_its_updates() -> None:
    async def play() -> None:
        crowd = Crowd()
        heard: list[str] = []
        slow = PoolTask(prompt="wait", cwd="/tmp", seconds=60)
        told = PoolTask(
            prompt=["a ", "b"], cwd="/tmp", on_update=lambda update: heard.append(text_of(update))
        )
        async with Pool(crowd.agent) as pool:
            late, done = await pool.map([slow, told])
            await eventually(lambda: crowd.now == 0)  # the agent was told to stop
        assert isinstance(late.error, DeadlineExceeded)
        assert done.kind == "done"
        assert heard == ["a b"]
        assert crowd.cancelled == 1

    virtually(play())


async def test_a_job_can_be_cancelled_while_it_waits_and_while_it_runs() -> None:
    crowd = Crowd()
    async with Pool(crowd.agent, concurrency=1) as pool:
        running, waiting, last = (pool.submit(task) for task in tasks("wait", "never", "last"))
        await eventually(lambda: crowd.now == 1)
        waiting.cancel()
        assert (await waiting).kind == "cancelled"
        running.cancel()
        assert (await running).kind == "cancelled"
        assert (await last).kind == "done"
        running.cancel()  # of no use any more
        assert (await running).seconds > 0
    assert crowd.seen == ["wait", "last"]


async def test_leaving_the_loop_cancels_the_rest() -> None:
    crowd = Crowd()
    async with Pool(crowd.agent, concurrency=2) as pool:
        async with aclosing(pool.run(tasks("quick", "wait 1", "wait 2", "wait 3"))) as outcomes:
            assert (await anext(outcomes)).task.label == "quick"
        await eventually(lambda: crowd.now == 0)
        assert (await pool.submit(tasks("after")[0])).kind == "done"
    assert "wait 3" not in crowd.seen


async def test_closing_the_pool_settles_every_job() -> None:
    crowd = Crowd()
    async with Pool(crowd.agent, concurrency=2) as pool:
        jobs = [pool.submit(task) for task in tasks("wait 1", "wait 2", "wait 3")]
        await eventually(lambda: crowd.now == 2)
    assert [(await job).kind for job in jobs] == ["cancelled"] * 3
    with pytest.raises(LocalMistake):
        pool.submit(tasks("late")[0])


async def test_two_who_share_a_pool_take_turns() -> None:
    crowd = Crowd()
    crowd.gate.set()
    async with Pool(crowd.agent, concurrency=1) as pool:
        jobs = [pool.submit(task, group="many") for task in tasks(*(f"m{n}" for n in range(6)))]
        jobs += [pool.submit(task, group="few") for task in tasks("f0", "f1")]
        for job in jobs:
            await job
    assert crowd.seen.index("f1") < crowd.seen.index("m4")


async def test_tasks_are_taken_when_there_is_room() -> None:
    crowd, taken = Crowd(), 0

    def endless() -> Iterator[PoolTask]:
        nonlocal taken
        while True:
            taken += 1
            yield tasks(f"t{taken}")[0]

    async with Pool(crowd.agent, concurrency=3) as pool, aclosing(pool.run(endless())) as outcomes:
        for _ in range(10):
            await anext(outcomes)
    assert taken <= 10 + 2 * 3 + 1


@pytest.mark.bound(20)
async def test_work_is_spread_over_many_processes_and_all_of_them_end(tmp_path: Path) -> None:
    busy = script(tmp_path, "agent busy\non prompt\n  wait 0.2\n  say ok")
    agents: list[SupervisedAgent] = [supervised(busy, restarts=QUICK) for _ in range(3)]
    async with Pool(agents, concurrency=6) as pool:
        found = await pool.map(tasks(*"abcdef"))
        pids = {agent.handle.link.transport.tree.pid for agent in agents}  # type: ignore[attr-defined]
        assert len(pids) == 3
    assert {outcome.kind for outcome in found} == {"done"}
    assert not any(map(alive, pids))


@pytest.mark.bound(20)
async def test_an_agent_that_dies_fails_its_tasks_and_serves_the_next(tmp_path: Path) -> None:
    mortal = script(tmp_path, "agent mortal\non prompt die\n  die 1\non prompt\n  say ok")
    async with Pool(supervised(mortal, restarts=QUICK), concurrency=1) as pool:
        found = await pool.map(tasks("a", "die", "b"))
        assert [outcome.kind for outcome in found] == ["done", "failed", "done"]
        assert isinstance(found[1].error, PeerDied)
        found = await pool.map(tasks("die", "die", "b", "c"))
    assert [type(outcome.error) for outcome in found] == [PeerDied, PeerDied, CrashLoop, CrashLoop]


@pytest.mark.bound(20)
async def test_a_broken_agent_is_left_out_while_others_work(tmp_path: Path) -> None:
    good = script(tmp_path, "agent good\non prompt\n  say ok")
    async with Pool([supervised("no-such-agent"), supervised(good)], concurrency=1) as pool:
        found = await pool.map(tasks(*"abcd"))
        assert [outcome.kind for outcome in found].count("done") == 3
    async with Pool("no-such-agent", agents=2) as pool:
        found = await pool.map(tasks(*"abcd"))
    assert all(isinstance(outcome.error, SpawnFailed) for outcome in found)


@pytest.mark.bound(30)
async def test_200_sessions_at_once_in_one_process(tmp_path: Path) -> None:
    many = script(tmp_path, "agent many\n  can close\non prompt\n  wait 0.5\n  say ok")
    async with Pool(many, concurrency=200) as pool:
        found: list[TaskOutcome] = await pool.map(tasks(*map(str, range(200))))
    assert [outcome.unwrap().text for outcome in found] == ["ok"] * 200
    assert len({outcome.session_id for outcome in found}) == 200


def test_a_pool_has_room_for_something() -> None:
    with pytest.raises(LocalMistake):
        Pool("x", concurrency=0)
    with pytest.raises(LocalMistake):
        Pool("x", agents=0)
