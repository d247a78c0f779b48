"""`Pool`: runs many sessions at once, over one agent or many, up to a limit.

    async with Pool("some-agent --acp", agents=4, concurrency=50) as pool:
        async for outcome in pool.run(PoolTask(prompt=text, cwd=folder) for text, folder in work):
            print(outcome.task.label, outcome.kind)

Each task gets a session of its own, in the agent that has least to do, and ends with a `TaskOutcome`, as it
is completed or in order. A pool is fair to those who use it at the same time. Leaving the block cancels what
is left and ends the agents; nothing stays behind.

It schedules. How an agent is started, watched and restarted is `supervised`'s business: give it supervised
agents to say how.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Hashable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from dragoman.errors import CrashLoop, DeadlineExceeded, DragomanError, LocalMistake
from dragoman.schema import v1
from dragoman.sdk.client.prompt import TurnResult
from dragoman.sdk.session_opener import SessionPlace
from dragoman.sdk.supervision.agent_start import Startable
from dragoman.sdk.supervision.life import together
from dragoman.sdk.supervision.session import SupervisedSession
from dragoman.sdk.supervision.supervisor import SupervisedAgent, supervised


class PoolAgent:
    """A supervised agent and its number of tasks."""

    __slots__ = ("_agent", "_is_open", "_lock", "_starts", "broken", "load")

    def __init__(self, agent: SupervisedAgent, starts: asyncio.Semaphore) -> None:
        """`starts` limits how many agents of a pool start at once."""
        self.load = 0
        self.broken: DragomanError | None = None
        self._agent = agent
        self._is_open = False
        self._starts = starts
        self._lock = asyncio.Lock()

    async def agent(self) -> SupervisedAgent:
        """Return the started agent. Raises the error that made it unusable."""
        async with self._lock:
            if self.broken is not None:
                raise self.broken.with_traceback(None)
            if not self._is_open:
                try:
                    async with self._starts:
                        await self._agent.__aenter__()
                except DragomanError as error:
                    self.broken = error
                    raise
                self._is_open = True
        return self._agent

    def note(self, error: Exception) -> None:
        """Note the error of a job. After a `CrashLoop` the agent is unusable."""
        if isinstance(error, CrashLoop):
            self.broken = error

    async def aclose(self, ends: asyncio.Semaphore) -> None:
        async with ends:
            if self._is_open:
                await self._agent.__aexit__()

    @property
    def rank(self) -> tuple[bool, int, bool]:
        """The sort key of agents; the smallest is used: healthy, with few tasks, and preferably running
        already.
        """
        return self.broken is not None, self.load, not self._is_open


def best(seats: Sequence[PoolAgent]) -> PoolAgent:
    return min(seats, key=lambda seat: seat.rank)


J = TypeVar("J")


class FairQueue(Generic[J]):
    """A queue: first come, first served within a group, round-robin between groups."""

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[Hashable, deque[J]] = {}  # in the order in which they are served

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    def put(self, group: Hashable, job: J) -> None:
        self._groups.setdefault(group, deque()).append(job)

    def take(self) -> J | None:
        """Remove and return the next item, or None."""
        for group in self._groups:
            jobs = self._groups.pop(group)
            job = jobs.popleft()
            if jobs:
                self._groups[group] = jobs  # at the end: the others are next
            return job
        return None

    def remove(self, group: Hashable, job: J) -> bool:
        jobs = self._groups.get(group)
        if jobs is None or job not in jobs:
            return False
        jobs.remove(job)
        if not jobs:
            del self._groups[group]
        return True

    def take_all(self) -> list[J]:
        groups, self._groups = self._groups, {}
        return [job for jobs in groups.values() for job in jobs]


Content: TypeAlias = str | v1.ContentBlock
OutcomeKind: TypeAlias = Literal["done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolTask:
    """One turn in a session of its own."""

    prompt: Content | Sequence[Content]
    cwd: str
    mcp_servers: Sequence[v1.McpServer] = ()
    additional_directories: Sequence[str] = ()
    label: str = ""
    """The caller's own name for the task."""

    seconds: float | None = None
    """The most seconds from the task's start (not from its submission); then it is cancelled."""

    on_update: Callable[[v1.SessionUpdate], None] | None = None

    @property
    def content(self) -> Sequence[Content]:
        several = isinstance(self.prompt, Sequence) and not isinstance(self.prompt, str)
        return self.prompt if several else (self.prompt,)  # type: ignore[return-value]  # told apart above


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """How a task ended."""

    task: PoolTask
    index: int
    """The position of the task in the submitted list."""

    kind: OutcomeKind
    result: TurnResult | None = None
    """The result of a task that is `done`, with any stop reason."""

    error: Exception | None = None
    """The error of a task that `failed`: one of Dragoman's errors, or an exception of the caller's
    `on_update`.
    """

    session_id: str | None = None
    seconds: float = 0.0
    """The seconds from start to end; none if the task never started."""

    def unwrap(self) -> TurnResult:
        """Return the result, or raise the error."""
        if self.result is not None:
            return self.result
        raise self.error or DragomanError("the task was cancelled")


class PoolJob:
    """A submitted task. Await it for its outcome."""

    __slots__ = ("_outcome", "_stop", "group", "index", "running", "task")

    def __init__(self, task: PoolTask, index: int, group: Hashable, stop: Callable[[PoolJob], None]) -> None:
        self.task = task
        self.index = index
        self.group = group
        self.running: asyncio.Task[None] | None = None
        self._stop = stop
        self._outcome: asyncio.Future[TaskOutcome] = asyncio.get_running_loop().create_future()

    def __await__(self) -> Generator[object, None, TaskOutcome]:
        # Shielded: whoever stops waiting does not stop the job.
        return asyncio.shield(self._outcome).__await__()

    @property
    def done(self) -> bool:
        return self._outcome.done()

    def cancel(self) -> None:
        """Cancel the job; its outcome is `cancelled`."""
        self._stop(self)

    def settle(self, outcome: TaskOutcome) -> None:
        if not self._outcome.done():
            self._outcome.set_result(outcome)

    def when_done(self, call: Callable[[PoolJob], None]) -> None:
        self._outcome.add_done_callback(lambda _: call(self))


__all__ = ["Pool", "PoolJob", "PoolTask", "TaskOutcome"]

STARTS = 2 * (os.cpu_count() or 1)
"""The most agents to start at the same time: more would only delay all of them."""

ENDS = 32
"""The most agents to end at the same time: each searches the process table for its remaining processes, but
one that does not end must not delay the others.
"""

FREE_SECONDS = 5.0
"""The most seconds for closing a session: its task already has its outcome, and the next one waits for the
place.
"""


class Pool:
    """Runs tasks over agents, which start when they are first needed.

        async with Pool("some-agent --acp", agents=4, concurrency=50) as pool:
            outcomes = await pool.map([PoolTask(prompt="Review it", cwd=folder) for folder in folders])

    An outcome is a value, whatever happened: one task that fails does not stop the others.
    """

    def __init__(
        self,
        target: Startable | SupervisedAgent | Iterable[SupervisedAgent],
        *,
        agents: int = 1,
        concurrency: int = 8,
        dialect: str = "auto",
    ) -> None:
        """`target` is the agent to start `agents` times, and `dialect` its dialect; or supervised agents,
        created but not entered, with their own settings.
        """
        if agents < 1 or concurrency < 1:
            raise LocalMistake("a pool has at least one agent, and does at least one thing at a time")
        self.concurrency = concurrency
        self._agents = _make_agents(target, agents, dialect)
        self._seats: list[PoolAgent] = []
        self._queue: FairQueue[PoolJob] = FairQueue()
        self._running: dict[asyncio.Task[None], PoolJob] = {}
        self._open = False

    async def __aenter__(self) -> Pool:
        starts = asyncio.Semaphore(STARTS)
        self._seats = [PoolAgent(agent, starts) for agent in self._agents]
        self._open = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._open = False
        for job in self._queue.take_all():
            job.settle(TaskOutcome(task=job.task, index=job.index, kind="cancelled"))
        running = list(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        room = asyncio.Semaphore(ENDS)
        await together(seat.aclose(room) for seat in self._seats)

    # What is done with it.

    def submit(self, task: PoolTask, *, index: int = 0, group: Hashable = None) -> PoolJob:
        """Submit a task; await the job for its outcome. Jobs of one `group` wait for each other first."""
        if not self._open:
            raise LocalMistake("a pool is used inside of its `async with`")
        job = PoolJob(task, index, group, self._stop)
        self._queue.put(group, job)
        self._fill()
        return job

    async def run(
        self, tasks: Iterable[PoolTask], *, in_order: bool = False
    ) -> AsyncGenerator[TaskOutcome, None]:
        """Run all tasks, and yield outcomes as they arrive or in the order of the tasks. Tasks are taken when
        there is room, so there may be any number. Leaving the loop cancels the rest.
        """
        group, source = object(), enumerate(tasks)
        under_way: deque[PoolJob] = deque()
        completed_jobs: asyncio.Queue[PoolJob] = asyncio.Queue()

        def take_more() -> None:
            while len(under_way) < 2 * self.concurrency and (numbered_task := next(source, None)) is not None:
                job = self.submit(numbered_task[1], index=numbered_task[0], group=group)
                job.when_done(completed_jobs.put_nowait)
                under_way.append(job)

        try:
            take_more()
            while under_way:
                if in_order:
                    job = under_way[0]
                else:
                    job = await completed_jobs.get()
                outcome = await job
                under_way.remove(job)
                take_more()
                yield outcome
        finally:
            for job in under_way:
                job.cancel()

    async def map(self, tasks: Iterable[PoolTask]) -> list[TaskOutcome]:
        """Return all outcomes, in order."""
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
            running.add_done_callback(self._on_task_end)

    def _on_task_end(self, running: asyncio.Task[None]) -> None:
        job = self._running.pop(running)
        # Cancelled before its first step, it could not say so itself.
        job.settle(TaskOutcome(task=job.task, index=job.index, kind="cancelled"))
        self._fill()

    def _stop(self, job: PoolJob) -> None:
        if self._queue.remove(job.group, job):
            job.settle(TaskOutcome(task=job.task, index=job.index, kind="cancelled"))
        elif job.running is not None:
            job.running.cancel()

    async def _do(self, job: PoolJob) -> None:
        task, loop = job.task, asyncio.get_running_loop()
        began, seat = loop.time(), best(self._seats)
        session: SupervisedSession | None = None
        result: TurnResult | None = None
        error: Exception | None = None
        seat.load += 1
        try:
            async with asyncio.timeout(task.seconds):
                session = await _open_session(seat, task)
                result = await _turn(session, task)
        except TimeoutError:
            error = DeadlineExceeded("the task", task.seconds or 0.0)
        except Exception as exception:  # noqa: BLE001  # an outcome is a value, and the caller's code is in here
            error = exception
            seat.note(exception)
        finally:
            seat.load -= 1
            kind = "done" if result is not None else "failed" if error is not None else "cancelled"
            job.settle(
                TaskOutcome(
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


async def _open_session(seat: PoolAgent, task: PoolTask) -> SupervisedSession:
    place = SessionPlace(
        cwd=task.cwd, mcp_servers=task.mcp_servers, additional_directories=task.additional_directories
    )
    return await (await seat.agent()).open_session(place, "new")


async def _turn(session: SupervisedSession, task: PoolTask) -> TurnResult:
    turn = session.prompt(*task.content)
    async with aclosing(aiter(turn)) as updates:
        async for update in updates:
            if task.on_update is not None:
                task.on_update(update)
    return turn.result


async def _free(session: SupervisedSession) -> None:
    """Close the session of a task that has ended; a failure to close is not a failure of the task."""
    try:
        async with asyncio.timeout(FREE_SECONDS):
            await session.close()
    except (DragomanError, TimeoutError):
        pass


def _make_agents(
    target: Startable | SupervisedAgent | Iterable[SupervisedAgent], agents: int, dialect: str
) -> Sequence[SupervisedAgent]:
    if isinstance(target, SupervisedAgent):
        return [target]
    if not isinstance(target, str) and isinstance(target, Iterable):
        items = list(target)
        supervised_agents = [item for item in items if isinstance(item, SupervisedAgent)]
        if supervised_agents and len(supervised_agents) == len(items):
            return supervised_agents
        words = [item for item in items if isinstance(item, str)]
        return [supervised(words, dialect=dialect) for _ in range(agents)]
    return [supervised(target, dialect=dialect) for _ in range(agents)]
