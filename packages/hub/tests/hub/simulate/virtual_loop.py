"""An event loop with virtual time: it never waits, and a run of it is the same every time.

Time is a number that jumps to the next timer when nothing else can run. Callbacks run in the order that
asyncio promises; what the world varies (latencies, faults) comes from the timers of whoever simulates it.

Every callback belongs to a `Process`, through the context that it runs in. A process can be paused, as
SIGSTOP does it: its callbacks wait. It can be killed, as SIGKILL does it: its callbacks never run, so that
none of its `finally` blocks does either. Threads are not there: what is given to one runs in the loop, a
moment later.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import heapq
import logging
import random
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch
from uuid import UUID

from dragoman.sdk.resumption import transport
from dragoman_hub.agents import process
from dragoman_hub.agents.host import lease
from dragoman_hub.clients import request_checks
from dragoman_hub.clients.client import HubClient
from dragoman_hub.cluster import membership
from dragoman_hub.cluster.client_router import ClientRouter
from dragoman_hub.engine import checkpoints, forks, lifecycle, live_session, recovery
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.judge import servers
from dragoman_review.risks import warm

BEGINNING = 1_800_000_000.0
"""The wall clock at virtual time 0, in seconds since 1970."""

current: contextvars.ContextVar[Process | None] = contextvars.ContextVar("simulated process", default=None)


class Stuck(Exception):
    """Nothing can run, and no timer will change that."""


class Process:
    """A process of the simulated world. `skew` is what its wall clock is wrong by."""

    def __init__(self, loop: VirtualLoop, name: str) -> None:
        self.name = name
        self.is_alive = True
        self.is_paused = False
        self.skew = 0.0
        self.context = contextvars.copy_context()
        self.context.run(current.set, self)
        self._loop = loop
        self._held: list[asyncio.Handle] = []

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        return self._loop.create_task(work, context=self.context)

    def call_later(self, seconds: float, act: Callable[..., object], *args: Any) -> asyncio.TimerHandle:
        return self._loop.call_later(seconds, act, *args, context=self.context)

    def call_soon(self, act: Callable[..., object], *args: Any) -> asyncio.Handle:
        return self._loop.call_soon(act, *args, context=self.context)

    def hold(self, handle: asyncio.Handle) -> None:
        """A callback that is due while the process stands still."""
        self._held.append(handle)

    def resume(self) -> None:
        self.is_paused = False
        self._loop.add_ready(self._held)
        self._held = []

    def kill(self) -> None:
        self.is_alive = self.is_paused = False
        self._held = []


class Lane:
    """A way on which everything arrives late and in its order. It belongs to the process `of`: what is on it
    when another one dies arrives all the same.
    """

    def __init__(self, of: Process) -> None:
        self._of = of
        self._last = 0.0

    def send(self, seconds: float, act: Callable[..., object], *args: Any) -> None:
        now = asyncio.get_running_loop().time()
        # Timers of one moment have no order: nothing here has the moment of another.
        self._last = max(self._last + 1e-7, now + seconds)
        self._of.call_later(self._last - now, act, *args)

    @property
    def busy_for(self) -> float:
        """Seconds until what is on it has arrived."""
        return max(0.0, self._last - asyncio.get_running_loop().time())


class VirtualTask(asyncio.Task[Any]):
    """A task whose place in a set does not depend on where it lies in memory."""

    def __init__(
        self, work: Any, *, number: int, context: contextvars.Context | None = None, **options: Any
    ) -> None:
        self.number = number
        self.process = current.get() if context is None else context.get(current)
        super().__init__(work, context=context, **options)

    def __hash__(self) -> int:
        return self.number


class VirtualHandle(asyncio.TimerHandle):
    """A callback, due at once or at a moment. asyncio's own asks each time whether somebody debugs."""

    __slots__ = ()

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: VirtualLoop,
        context: contextvars.Context | None,
        when: float = 0.0,
    ) -> None:
        self._callback = callback
        self._args = args
        self._loop = loop
        self._context = contextvars.copy_context() if context is None else context
        self._when = when
        self._cancelled = self._scheduled = False
        self._source_traceback = self._repr = None

    def cancel(self) -> None:
        self._cancelled = True
        self._callback = self._args = None  # type: ignore[assignment]


class VirtualLoop(asyncio.BaseEventLoop):
    """Run it with `run_until_complete`. `errors` are what nobody has caught."""

    _ready: deque[asyncio.Handle]
    _stopping: bool

    def __init__(self, seed: str) -> None:
        super().__init__()
        self.errors: list[str] = []
        self.steps = 0
        self._now = 0.0
        self._timers: list[tuple[float, int, VirtualHandle]] = []
        self._timer_count = 0
        self._random = random.Random(f"{seed}/loop")
        self._count = 0
        self._tasks: list[VirtualTask] = []
        self.set_task_factory(self._make_task)
        self.set_exception_handler(self._keep_error)

    def time(self) -> float:
        return self._now

    def add_ready(self, handles: list[asyncio.Handle]) -> None:
        self._ready.extend(handles)

    def _make_task(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> VirtualTask:
        self._count += 1
        task = VirtualTask(work, number=self._count, loop=self, **options)
        self._tasks.append(task)
        if len(self._tasks) > 4096:
            self._tasks = [one for one in self._tasks if not one.done()]
        return task

    def _keep_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.errors.append(f"{context.get('message')}: {error!r}")

    def live_tasks(self) -> list[VirtualTask]:
        """Tasks that are not done, of processes that were not killed."""
        return [
            one for one in self._tasks if not one.done() and (one.process is None or one.process.is_alive)
        ]

    def run_in_executor(  # type: ignore[override]  # nobody here cares for the types of its arguments
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> Any:
        done = self.create_future()

        def run() -> None:
            if done.done():
                return
            try:
                done.set_result(func(*args))
            except Exception as error:  # noqa: BLE001  it is for whoever waits
                done.set_exception(error)

        self.call_later(self._random.uniform(0.0001, 0.005), run)
        return done

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> VirtualHandle:  # type: ignore[override]
        handle = VirtualHandle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, context: Any = None
    ) -> VirtualHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> VirtualHandle:
        timer = VirtualHandle(callback, args, self, context, when)
        self._timer_count += 1
        heapq.heappush(self._timers, (when, self._timer_count, timer))
        return timer

    def _run_once(self) -> None:
        """Turn after turn: timers that are due, then what is ready now. With nothing ready, time moves."""
        timers, ready = self._timers, self._ready
        while not self._stopping:
            if not ready:
                while timers and timers[0][2]._cancelled:
                    heapq.heappop(timers)
                if not timers:
                    raise Stuck("nothing can run any more")
                self._now = max(self._now, timers[0][0])
            while timers and timers[0][0] <= self._now:
                ready.append(heapq.heappop(timers)[2])
            for _ in range(len(ready)):
                handle: Any = ready.popleft()
                if handle._cancelled:
                    continue
                process = handle._context.get(current)
                if process is not None and not process.is_alive:
                    continue
                if process is not None and process.is_paused:
                    process.hold(handle)
                    continue
                self.steps += 1
                handle._run()

    def close_all(self) -> None:
        """End what killed processes have left, without letting it do anything."""
        logging.disable(logging.CRITICAL)
        for task in self._tasks:
            if task.process is not None:
                task.process.kill()
        self.call_soon(self._close_coroutines)
        self.call_soon(self.stop)
        self.run_forever()
        self._ready.clear()
        self._timers.clear()
        self.close()
        logging.disable(logging.NOTSET)

    def _close_coroutines(self) -> None:
        """Inside the loop: their `finally` blocks look for one."""
        for task in self._tasks:  # it may grow: a `finally` block may start a task
            if task.done():
                continue
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            work: Any = task.get_coro()
            for _ in range(20):
                try:
                    work.close()
                    break
                except Exception:  # noqa: BLE001  an await or an error in a block of a process that is dead
                    continue


def _numbered(kind: type, numbers: Iterator[int]) -> Any:
    def number(self: Any) -> int:
        found = self.__dict__.get("_simulated_number")
        if found is None:
            found = self.__dict__["_simulated_number"] = next(numbers)
        return int(found)

    return patch.object(kind, "__hash__", number)


def _counting() -> Iterator[int]:
    number = 0
    while True:
        number += 1
        yield number


@cache
def _freeze() -> None:
    """What is loaded stays: nobody need look through it again after every seed. Once, because counting what
    is frozen already takes longer than half a seed, where a million objects of pytest are.
    """
    gc.freeze()


@contextmanager
def virtual_time(seed: str) -> Iterator[VirtualLoop]:
    """A loop, and the hub's clocks and random names as it sees them there."""
    warm()  # else the first seed of a process would load the rules of the reviewer, and the others not
    loop = VirtualLoop(seed)
    names = random.Random(f"{seed}/names")

    def wall() -> float:
        process = current.get()
        return BEGINNING + loop.time() + (0.0 if process is None else process.skew)

    clocks = SimpleNamespace(time=wall, monotonic=loop.time, clock_gettime=lambda _: 1000.0 + loop.time())
    ids = SimpleNamespace(uuid4=lambda: UUID(int=names.getrandbits(128), version=4))
    secret = SimpleNamespace(token_hex=lambda size: names.getrandbits(size * 8).to_bytes(size).hex())
    modules: list[tuple[ModuleType, str, Any]] = [
        (checkpoints, "EVERY", 8),  # sessions are short here
        (checkpoints, "SPANS", (16, 480)),
        *((one, "time", clocks) for one in (forks, lease, process, live_session, lifecycle, recovery)),
        *((one, "uuid", ids) for one in (forks, lifecycle, request_checks, servers)),
        (live_session, "uuid4", ids.uuid4),
        (membership, "secrets", secret),
        (process, "randbits", names.getrandbits),
        (transport, "token_hex", secret.token_hex),
    ]
    patches = [patch.object(module, name, value) for module, name, value in modules]
    # Sets of these are gone through: their order must not depend on addresses.
    numbers = _counting()
    patches += [_numbered(kind, numbers) for kind in (HubClient, ClientRouter, LiveSession, asyncio.Event)]
    _freeze()
    gc.disable()  # when it would run, and what would end then, differs from run to run
    for one in patches:
        one.start()
    try:
        yield loop
    finally:
        loop.close_all()
        for one in patches:
            one.stop()
        gc.enable()
        gc.collect()
