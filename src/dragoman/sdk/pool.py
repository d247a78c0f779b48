"""`Pool`: many sessions at once, over one agent or many, no more at a time than it may.

    async with Pool("some-agent --acp", agents=4, concurrency=50) as pool:
        async for outcome in pool.run(Task(prompt=text, cwd=folder) for text, folder in work):
            print(outcome.task.label, outcome.kind)

Each task gets a session of its own, in the agent that has least to do, and ends with an `Outcome`, as it is
completed or in order. A pool is fair to those who use it at the same time. Leaving the block cancels what is
left and ends the agents; nothing stays behind.

It schedules. How an agent is started, watched and restarted is `supervised`'s business: give it supervised
agents to say how.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, Hashable, Iterable, Sequence
from contextlib import aclosing

from dragoman.errors import DeadlineExceeded, DragomanError, LocalMistake
from dragoman.sdk.client.prompt import TurnResult
from dragoman.sdk.pool_queue import FairQueue
from dragoman.sdk.pool_seat import Seat, best
from dragoman.sdk.pool_task import Job, Outcome, Task
from dragoman.sdk.supervision.life import together
from dragoman.sdk.supervision.session import Place, SupervisedSession
from dragoman.sdk.supervision.starting import Startable
from dragoman.sdk.supervision.supervisor import Supervised, supervised

__all__ = ["Job", "Outcome", "Pool", "Task"]

STARTS = 2 * (os.cpu_count() or 1)
"""Agents that are started at the same time: more would only make all of them late."""

ENDS = 32
"""Agents that are ended at the same time: each looks through the process table for what is left of it, but
one that does not want to end must not hold up all others.
"""

FREE_SECONDS = 5.0
"""What closing a session may take: its task has its outcome already, and the next one waits for the place."""


class Pool:
    """Constructing one starts nothing; its agents are started when they are first needed."""

    def __init__(
        self,
        target: Startable | Supervised | Iterable[Supervised],
        *,
        agents: int = 1,
        concurrency: int = 8,
        dialect: str = "auto",
    ) -> None:
        """`target` is what to start, `agents` times, and `dialect` what it speaks; or supervised agents, made
        and not entered, which were told themselves.
        """
        if agents < 1 or concurrency < 1:
            raise LocalMistake("a pool has at least one agent, and does at least one thing at a time")
        self.concurrency = concurrency
        self._made = _made(target, agents, dialect)
        self._seats: list[Seat] = []
        self._queue: FairQueue[Job] = FairQueue()
        self._running: dict[asyncio.Task[None], Job] = {}
        self._open = False

    async def __aenter__(self) -> Pool:
        starts = asyncio.Semaphore(STARTS)
        self._seats = [Seat(agent, starts) for agent in self._made]
        self._open = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._open = False
        for job in self._queue.take_all():
            job.settle(Outcome(task=job.task, index=job.index, kind="cancelled"))
        running = list(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        room = asyncio.Semaphore(ENDS)
        await together(seat.aclose(room) for seat in self._seats)

    # What is done with it.

    def submit(self, task: Task, *, index: int = 0, group: Hashable = None) -> Job:
        """Have a task done; await the job for its outcome. Jobs of one `group` wait for each other first."""
        if not self._open:
            raise LocalMistake("a pool is used inside of its `async with`")
        job = Job(task, index, group, self._stop)
        self._queue.put(group, job)
        self._fill()
        return job

    async def run(self, tasks: Iterable[Task], *, in_order: bool = False) -> AsyncGenerator[Outcome, None]:
        """Have all of them done; outcomes as they come, or in the order of the tasks. Tasks are taken when
        there is room for them, so there may be any number. Leaving the loop cancels the rest.
        """
        group, source = object(), enumerate(tasks)
        under_way: deque[Job] = deque()
        completed: asyncio.Queue[Job] = asyncio.Queue()

        def take_more() -> None:
            while len(under_way) < 2 * self.concurrency and (found := next(source, None)) is not None:
                job = self.submit(found[1], index=found[0], group=group)
                job.when_done(completed.put_nowait)
                under_way.append(job)

        try:
            take_more()
            while under_way:
                if in_order:
                    job = under_way[0]
                else:
                    job = await completed.get()
                outcome = await job
                under_way.remove(job)
                take_more()
                yield outcome
        finally:
            for job in under_way:
                job.cancel()

    async def map(self, tasks: Iterable[Task]) -> list[Outcome]:
        """The outcomes of all, in order."""
        async with aclosing(self.run(tasks, in_order=True)) as outcomes:
            return [outcome async for outcome in outcomes]

    # Inside.

    def _fill(self) -> None:
        while len(self._running) < self.concurrency and self._open:
            job = self._queue.take()
            if job is None:
                return
            running = job.running = asyncio.create_task(self._do(job), name=f"pool: {job.task.label}")
            self._running[running] = job
            running.add_done_callback(self._ended)

    def _ended(self, running: asyncio.Task[None]) -> None:
        job = self._running.pop(running)
        # Cancelled before its first step, it could not say so itself.
        job.settle(Outcome(task=job.task, index=job.index, kind="cancelled"))
        self._fill()

    def _stop(self, job: Job) -> None:
        if self._queue.remove(job.group, job):
            job.settle(Outcome(task=job.task, index=job.index, kind="cancelled"))
        elif job.running is not None:
            job.running.cancel()

    async def _do(self, job: Job) -> None:
        task, loop = job.task, asyncio.get_running_loop()
        began, seat = loop.time(), best(self._seats)
        session: SupervisedSession | None = None
        result: TurnResult | None = None
        error: Exception | None = None
        seat.load += 1
        try:
            async with asyncio.timeout(task.seconds):
                session = await _opened(seat, task)
                result = await _turn(session, task)
        except TimeoutError:
            error = DeadlineExceeded("the task", task.seconds or 0.0)
        except Exception as failed:  # noqa: BLE001  # an outcome is a value, and the caller's code is in here
            error = failed
            seat.note(failed)
        finally:
            seat.load -= 1
            kind = "done" if result is not None else "failed" if error is not None else "cancelled"
            job.settle(
                Outcome(
                    task=task,
                    index=job.index,
                    kind=kind,  # type: ignore[arg-type]  # one of three words
                    result=result,
                    error=error,
                    session_id=session.id if session is not None else None,
                    seconds=loop.time() - began,
                )
            )
            if session is not None and self._open:  # else the whole agent is about to end
                await _free(session)


async def _opened(seat: Seat, task: Task) -> SupervisedSession:
    place = Place(
        cwd=task.cwd, mcp_servers=task.mcp_servers, additional_directories=task.additional_directories
    )
    return await (await seat.agent()).open_session(place, "new")


async def _turn(session: SupervisedSession, task: Task) -> TurnResult:
    turn = session.prompt(*task.content)
    async with aclosing(aiter(turn)) as updates:
        async for update in updates:
            if task.on_update is not None:
                task.on_update(update)
    return turn.result


async def _free(session: SupervisedSession) -> None:
    """What was done there is over; that an agent does not let go of it is no failure of the task."""
    try:
        async with asyncio.timeout(FREE_SECONDS):
            await session.close()
    except (DragomanError, TimeoutError):
        pass


def _made(
    target: Startable | Supervised | Iterable[Supervised], agents: int, dialect: str
) -> Sequence[Supervised]:
    if isinstance(target, Supervised):
        return [target]
    if not isinstance(target, str) and isinstance(target, Iterable):
        given = list(target)
        found = [one for one in given if isinstance(one, Supervised)]
        if found and len(found) == len(given):
            return found
        words = [one for one in given if isinstance(one, str)]
        return [supervised(words, dialect=dialect) for _ in range(agents)]
    return [supervised(target, dialect=dialect) for _ in range(agents)]
