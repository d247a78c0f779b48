"""How code without `await` uses the SDK: each call crosses to the event loop and waits for what comes back.

Everything that the SDK can ask or say is written once, as a coroutine. A `Runner` hands such a coroutine to a
loop that runs in another thread, and returns what it returned.

A runner can be cancelled, once: the call that its thread is in, or makes next, raises `Cancelled`. Calls
after that work again, so that a handler can clean up, as a cancelled task can.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, cast

from dragoman.errors import Cancelled, LinkClosed, LocalMistake

T = TypeVar("T")

INTERRUPTED = 5.0
"""Seconds that a call gets to clean up behind itself after Ctrl-C; then the exception goes on without it."""

STUBBORN = 1.0
"""Seconds that code of the program gets to end when the conversation is over; then it is left behind."""


class ProgramThreads:
    """The threads of a program as the loop sees them: those that wait for it, and those that run handlers.

    While a thread looks at updates and no thread waits for more, a question of the agent waits too: a person
    reads what the agent said before the question about it. The threads of handlers are daemons: one that
    never ends does not keep the process.
    """

    def __init__(self) -> None:
        self._lookers = 0
        self._waiters = 0
        self._change = asyncio.Event()
        self._idle: list[tuple[threading.Thread, SimpleQueue[Callable[[], None] | None]]] = []
        self._is_closed = False

    def look(self, count: int) -> None:
        """So many more threads look at updates. In the loop."""
        self._lookers += count
        self._change.set()

    def wait(self, count: int) -> None:
        """So many more threads wait for the loop. In the loop."""
        self._waiters += count
        self._change.set()

    async def until_free(self) -> None:
        """Until a handler may be called."""
        while self._lookers and not self._waiters:
            self._change.clear()
            await self._change.wait()

    def call(self, work: Callable[[], None]) -> None:
        """Call this in a thread that does nothing else meanwhile. It must not raise."""
        try:
            _, calls = self._idle.pop()
        except IndexError:
            calls = SimpleQueue()
            threading.Thread(target=self._work, args=(calls,), name="handler", daemon=True).start()
        calls.put(work)

    def _work(self, calls: SimpleQueue[Callable[[], None] | None]) -> None:
        while work := calls.get():
            work()
            self._idle.append((threading.current_thread(), calls))
            if self._is_closed:
                return

    def close(self) -> None:
        """Let the threads end, and wait for those that have nothing to do."""
        self._is_closed = True
        for thread, calls in tuple(self._idle):
            calls.put(None)
            thread.join(STUBBORN)


class _Crossing(Generic[T]):
    """One call on its way through the loop. It is settled once: by its end, or by whoever ends it."""

    __slots__ = ("_done", "_error", "_result", "_task", "_tickets", "_work")

    def __init__(self, work: Coroutine[object, None, T]) -> None:
        self._work = work
        self._task: asyncio.Task[None] | None = None
        self._tickets = [None]  # who takes the only one may settle
        self._result: T | None = None
        self._error: BaseException | None = None
        self._done = threading.Lock()
        self._done.acquire()

    def settle(self, result: T | None, error: BaseException | None) -> bool:
        """Any thread may call it. False if it came too late."""
        try:
            self._tickets.pop()
        except IndexError:
            return False
        self._result, self._error = result, error
        self._done.release()
        return True

    def wait(self, seconds: float = -1) -> None:
        self._done.acquire(timeout=seconds)

    def outcome(self) -> T:
        error, self._error = self._error, None  # the frames of its traceback know this crossing
        if error is not None:
            raise error
        return cast("T", self._result)

    # In the loop.

    def start(self, threads: ProgramThreads) -> None:
        if self._tickets:
            self._task = asyncio.get_running_loop().create_task(self._run(threads))
        else:
            self._work.close()

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
        else:
            self._work.close()
            self.settle(None, Cancelled())

    async def _run(self, threads: ProgramThreads) -> None:
        result: T | None = None
        error: BaseException | None = None
        threads.wait(1)
        try:
            result = await self._work
        except asyncio.CancelledError:
            error = Cancelled()
        except BaseException as exception:  # noqa: BLE001  # it is raised again in the thread that waits
            error = exception
        threads.wait(-1)
        self.settle(result, error)


class Runner:
    """Runs coroutines in a loop that belongs to another thread."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, owner: threading.Thread, threads: ProgramThreads
    ) -> None:
        """`owner` is the loop's thread, which must not wait for itself."""
        self.threads = threads
        self._loop = loop
        self._owner = owner
        self._lock = threading.Lock()
        self._inside: set[_Crossing[Any]] = set()
        self._is_closed = False
        self.cancelled = False
        """Whether the peer has cancelled the work, or is gone."""
        self._is_unreported = False  # cancelled, and the thread does not know yet

    def __call__(self, work: Coroutine[object, None, T], /) -> T:
        crossing = _Crossing(work)
        try:
            self._begin(crossing, work)
            crossing.wait()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(crossing.cancel)
            crossing.wait(INTERRUPTED)
            raise
        finally:
            with self._lock:
                self._inside.discard(crossing)
        return crossing.outcome()

    def cancel(self) -> None:
        """Cancel the call that is running, or else the next one."""
        with self._lock:
            # One that has just come to its end cannot be cancelled any more: then the next call tells.
            self.cancelled = True
            self._is_unreported = not self._end_all(Cancelled)

    def close(self) -> None:
        """End every call: the loop is about to stop, and would leave them waiting for ever."""
        with self._lock:
            self._is_closed = True
            self._end_all(_closed)

    def _end_all(self, error: Callable[[], BaseException]) -> bool:
        ended = [crossing for crossing in self._inside if crossing.settle(None, error())]
        for crossing in ended:
            self._loop.call_soon_threadsafe(crossing.cancel)
        return bool(ended)

    @property
    def is_own_thread(self) -> bool:
        """Whether this is the loop's thread."""
        return threading.get_ident() == self._owner.ident

    def start(self, work: Coroutine[object, None, object]) -> None:
        """Let the loop do something, without waiting: for the loop's own thread."""
        self._loop.create_task(work)

    def _begin(self, crossing: _Crossing[T], work: Coroutine[object, None, T]) -> None:
        with self._lock:
            error = self._refusal()
            if error is None:
                self._loop.call_soon_threadsafe(crossing.start, self.threads)
                self._inside.add(crossing)
        if error is not None:
            work.close()
            raise error

    def _refusal(self) -> BaseException | None:
        """Why nothing can be run now."""
        if self.is_own_thread:
            return LocalMistake("a blocking call in the event loop's own thread would wait for itself")
        if self._is_closed:
            return _closed()
        if not self._owner.is_alive():
            return LinkClosed("a fork of the process has no connection to the agent; connect again")
        if self._is_unreported:
            self._is_unreported = False
            return Cancelled()
        return None


def _closed() -> LinkClosed:
    return LinkClosed("this side closed the connection")


def iterate(items: AsyncIterator[T], run: Runner) -> Generator[T, None, None]:
    """What `async for` would give. Leaving the loop early closes the iterator, as leaving its block would."""
    generator = cast("AsyncGenerator[T, None]", items)  # every one of ours is
    looks = 0

    def look(count: int) -> None:
        nonlocal looks
        run.threads.look(count - looks)
        looks = count

    async def following() -> T:
        look(0)
        item = await anext(generator)
        look(1)
        return item

    async def close() -> None:
        look(0)
        await generator.aclose()

    try:
        while True:
            try:
                item = run(following())
            except StopAsyncIteration:
                return
            yield item
    finally:
        if run.is_own_thread:  # somebody forgot the iterator, and the garbage collector ran here
            run.start(close())
        else:
            run(close())


async def in_thread(function: Callable[[Runner], T], threads: ProgramThreads | None = None) -> T:
    """Call a plain function in a thread, with a runner that crosses back to this loop.

    When this task is cancelled, so is the runner, and the function gets the time that the task gets. A
    second cancellation leaves it behind: a thread cannot be ended from outside.
    """
    loop = asyncio.get_running_loop()
    threads = threads or _passing_threads()
    runner = Runner(loop, threading.current_thread(), threads)
    outcome_future: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if not outcome_future.done():
            outcome_future.set_result((result, error))

    def run() -> None:
        result, error = None, None
        try:
            result = function(runner)
        except BaseException as exception:  # noqa: BLE001  # it is raised again where the result is awaited
            error = exception
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            pass  # the loop is closed: nobody waits for this any more

    threads.call(run)
    try:
        return _outcome(await asyncio.shield(outcome_future))
    except asyncio.CancelledError:
        runner.cancel()
        _outcome(await asyncio.shield(outcome_future))
        raise


def _passing_threads() -> ProgramThreads:
    """For one handler: its thread ends with it."""
    threads = ProgramThreads()
    threads.close()
    return threads


def _outcome(outcome: tuple[T | None, BaseException | None]) -> T:
    result, error = outcome
    if isinstance(error, Cancelled):
        raise asyncio.CancelledError from error
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # it is what the function returned, None included
