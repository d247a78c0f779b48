"""Lets code without `await` use the SDK: each call goes to the event loop and waits for the result.

Everything that the SDK can ask or say is written once, as a coroutine. A `Runner` hands such a coroutine to a
loop that runs in another thread, and returns what it returned.

A runner can be cancelled, once: the call that its thread is in, or makes next, raises `Cancelled`. Calls
after that work again, so that a handler can clean up, as a cancelled task can.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar, cast

from dragoman.errors import Cancelled, ErrorAnswer, LinkClosed, LocalMistake
from dragoman.wire.codes import INTERNAL_ERROR

T = TypeVar("T")

INTERRUPTED = 5.0
"""The most seconds for a call's cleanup after Ctrl-C; then the exception is raised without waiting."""

STUBBORN = 1.0
"""The most seconds for the program's own code to end after the conversation; then its thread is abandoned."""


TURNS = 8
"""The steps of the loop in which an update reaches the thread that waits for it, with a reserve."""

HandlerCall: TypeAlias = Callable[[], BaseException | None]
"""Calls a handler without raising; returns an exception that must end the program: Ctrl-C or `sys.exit`."""


class ProgramThreads:
    """The threads of a program as the loop sees them: those that wait for the loop, and those that run
    handlers.

    A handler is called in the main thread if that waits for the loop: there Ctrl-C reaches it, also in
    `input()`. Otherwise it gets a thread of its own, a daemon: one that never ends does not keep the process.

    While a thread looks at updates and no thread waits for more, a question of the agent waits too: a person
    reads what the agent said before the question about it.
    """

    def __init__(self) -> None:
        self._lookers = 0
        self._waiting: list[_Crossing[Any]] = []
        self._change = asyncio.Event()
        self._idle: list[tuple[threading.Thread, SimpleQueue[HandlerCall | None]]] = []
        self._is_closed = False

    # In the loop.

    def look(self, count: int) -> None:
        """Change the number of threads that read updates."""
        self._lookers += count
        self._change.set()

    def enter(self, crossing: _Crossing[Any]) -> None:
        """Note that a thread waits for the loop."""
        self._waiting.append(crossing)
        self._change.set()

    def leave(self, crossing: _Crossing[Any]) -> None:
        self._waiting.remove(crossing)

    async def until_free(self) -> None:
        """Wait until a handler may be called: earlier updates may still be on their way to the thread that
        waits for them.
        """
        turns = 0
        while turns < TURNS:
            if self._lookers and not self._waiting:
                turns = 0
                self._change.clear()
                await self._change.wait()
            else:
                turns += 1
                await asyncio.sleep(0)

    def call(self, work: HandlerCall) -> None:
        """Call a handler in a thread that has no other work."""
        main = next((crossing for crossing in reversed(self._waiting) if crossing.is_main), None)
        if main is None or not main.offer(work):
            self.call_elsewhere(work)

    # In any thread.

    def call_elsewhere(self, work: HandlerCall) -> None:
        """Call a handler in a thread that does not belong to the program."""
        try:
            _, calls = self._idle.pop()
        except IndexError:
            calls = SimpleQueue()
            threading.Thread(target=self._work, args=(calls,), name="handler", daemon=True).start()
        calls.put(work)

    def _work(self, calls: SimpleQueue[HandlerCall | None]) -> None:
        while work := calls.get():
            work()
            self._idle.append((threading.current_thread(), calls))
            if self._is_closed:
                return

    def close(self) -> None:
        """Let the threads end, and wait for the idle ones."""
        self._is_closed = True
        for thread, calls in tuple(self._idle):
            calls.put(None)
            thread.join(STUBBORN)


class _Crossing(Generic[T]):
    """One call on its way through the loop."""

    __slots__ = (
        *("_calls", "_error", "_is_busy", "_result", "_task", "_threads", "_work"),
        *("is_main", "is_settled"),
    )

    def __init__(self, work: Coroutine[object, None, T], threads: ProgramThreads) -> None:
        self.is_main = threading.get_ident() == threading.main_thread().ident
        self._work = work
        self._threads = threads
        self._task: asyncio.Task[None] | None = None  # once it has begun
        self._calls: SimpleQueue[HandlerCall | None] = SimpleQueue()  # for this thread; None: it is settled
        self._is_busy = False  # with one of these
        self.is_settled = False
        self._result: T | None = None
        self._error: BaseException | None = None

    # In the thread that waits.

    def wait(self) -> T:
        while work := self._calls.get():
            interrupt = work()
            self._is_busy = False
            if interrupt is not None:
                raise interrupt
        error, self._error = self._error, None  # the frames of its traceback know this crossing
        if error is not None:
            raise error
        return cast("T", self._result)

    def wait_cancelled(self, seconds: float) -> None:
        """Ctrl-C has ended `wait`: give the loop some time to clean up."""
        self._is_busy = True
        with suppress(Empty):
            while work := self._calls.get(timeout=seconds):
                self._threads.call_elsewhere(work)

    # In the loop.

    def start(self) -> None:
        if not self.is_settled:
            asyncio.get_running_loop().create_task(self._run())  # it keeps itself

    def offer(self, work: HandlerCall) -> bool:
        """Let the thread that waits call a handler; False if it cannot."""
        if self._is_busy or self.is_settled:
            return False
        self._is_busy = True
        self._calls.put(work)
        return True

    def settle(self, result: T | None, error: BaseException | None) -> bool:
        """False if it came too late."""
        if self.is_settled:
            return False
        self.is_settled = True
        self._result, self._error = result, error
        self._calls.put(None)
        return True

    def end(self, error: BaseException) -> bool:
        """The thread need not wait for the end of what it asked for; False if that has come."""
        is_first = self.settle(None, error)
        self.cancel()
        return is_first

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
        else:
            self._work.close()
            self.settle(None, Cancelled())

    async def _run(self) -> None:
        result: T | None = None
        error: BaseException | None = None
        if self.is_settled:
            return
        self._task = asyncio.current_task()
        self._threads.enter(self)
        try:
            result = await self._work
        except asyncio.CancelledError:
            error = Cancelled()
        except BaseException as exception:  # noqa: BLE001  # it is raised again in the thread that waits
            error = exception
        self._threads.leave(self)
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
        crossing = _Crossing(work, self.threads)
        try:
            self._begin(crossing, work)
            return crossing.wait()
        except (KeyboardInterrupt, SystemExit):
            if not crossing.is_settled:
                self._loop.call_soon_threadsafe(crossing.cancel)
                crossing.wait_cancelled(INTERRUPTED)
            raise
        finally:
            with self._lock:
                self._inside.discard(crossing)

    def cancel(self) -> None:
        """Cancel the call that is running, or else the next one. Runs in the loop."""
        with self._lock:
            self.cancelled = True
            # One that has just come to its end cannot be cancelled any more: then the next call tells.
            ended = [crossing.end(Cancelled()) for crossing in self._inside]
            self._is_unreported = not any(ended)

    def close(self) -> None:
        """End every call: the loop is about to stop, and the calls would wait for ever."""
        with self._lock:
            self._is_closed = True
            for crossing in self._inside:
                self._loop.call_soon_threadsafe(crossing.end, _closed())

    @property
    def is_own_thread(self) -> bool:
        """Whether this is the loop's thread."""
        return threading.get_ident() == self._owner.ident

    def start(self, work: Coroutine[object, None, object]) -> None:
        """Start work in the loop without waiting: for the loop's own thread."""
        self._loop.create_task(work)

    def _begin(self, crossing: _Crossing[T], work: Coroutine[object, None, T]) -> None:
        with self._lock:
            error = self._refusal()
            if error is None:
                self._loop.call_soon_threadsafe(crossing.start)
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
    """Iterate over the items of an `async for`. Leaving the loop early closes the iterator, as leaving its
    block would.
    """
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

    def run() -> BaseException | None:
        result, error = None, None
        try:
            result = function(runner)
        except BaseException as exception:  # noqa: BLE001  # it is raised again where the result is awaited
            error = exception
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            pass  # the loop is closed: nobody waits for this any more
        return error if isinstance(error, KeyboardInterrupt | SystemExit) else None

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
    if isinstance(error, KeyboardInterrupt | SystemExit):  # which would end the loop
        raise ErrorAnswer(INTERNAL_ERROR, "the program was interrupted") from error
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # it is what the function returned, None included
