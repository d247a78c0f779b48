"""How the blocking face gets its work done: the same coroutines, without `await`.

Everything that the SDK can ask or say is written once, as a coroutine. A `Runner` takes such a coroutine to
its end and returns what it returned. There are two kinds:

- `InlineRunner`, for a conversation that has no event loop: there a coroutine never suspends, because what it
  waits for is waited for inside of it, by the thread that runs it;
- `LoopRunner`, for a thread beside an event loop: each call crosses to the loop and back.

A `LoopRunner` can be cancelled, once: the call that its thread is in, or makes next, raises `Cancelled`.
Calls after that work again, so that a handler can clean up, as a cancelled task can.
"""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from dragoman.errors import Cancelled, LinkClosed, LocalMistake
from dragoman.runtime.deferred_module import DeferredModule

if TYPE_CHECKING:
    import asyncio

    from dragoman.sdk.agent.client_calls import ClientCalls
    from dragoman.sdk.agent.speaker import Speaker
else:
    asyncio = DeferredModule("asyncio")

T = TypeVar("T")

INTERRUPTED = 5.0
"""Seconds that a call gets to clean up behind itself after Ctrl-C; then the exception goes on without it."""


class Runner(Protocol):
    """Takes a coroutine to its end, in the calling thread's time."""

    @property
    def cancelled(self) -> bool:
        """Whether the peer has cancelled the work, or is gone."""
        ...

    def __call__(self, work: Coroutine[object, None, T], /) -> T: ...

    def ask(self, client: ClientCalls, method: str, message: object, result: type[T]) -> T:
        """Run `client.ask`, by a shorter way if there is one."""
        ...

    def say(self, speaker: Speaker, text: str) -> None:
        """Run `speaker.say`, by a shorter way if there is one."""


def step(work: Coroutine[object, None, T]) -> T:
    """Run a coroutine that never suspends."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    work.close()
    raise LocalMistake("this waits for an event loop, and a blocking conversation has none")


class InlineRunner:
    """Runs coroutines that never suspend."""

    __slots__ = ()

    cancelled = False

    def __call__(self, work: Coroutine[object, None, T], /) -> T:
        return step(work)

    def ask(self, client: ClientCalls, method: str, message: object, result: type[T]) -> T:
        return step(client.ask(method, message, result))

    def say(self, speaker: Speaker, text: str) -> None:
        step(speaker.say(text))


STEPPING = InlineRunner()


def iterate(items: AsyncIterator[T], run: Runner) -> Iterator[T]:
    """What `async for` would give. Leaving the loop early closes the iterator, as leaving its block would."""
    generator = cast("AsyncGenerator[T, None]", items)  # every one of ours is
    try:
        if run is STEPPING:
            yield from _step_through(generator)
            return
        while True:
            try:
                item = run(generator.__anext__())
            except StopAsyncIteration:
                return
            yield item
    finally:
        run(generator.aclose())


def _step_through(generator: AsyncGenerator[T, None]) -> Iterator[T]:
    """`step`, written out: a stream of updates goes through here one by one."""
    following = generator.__anext__
    while True:
        try:
            following().send(None)
        except StopIteration as stop:
            item = stop.value
        except StopAsyncIteration:
            return
        else:
            raise LocalMistake("this waits for an event loop, and a blocking conversation has none")
        yield item


class LoopRunner:
    """Runs coroutines in a loop that belongs to another thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, owner: int) -> None:
        """`owner` is the loop's thread, which must not wait for itself."""
        self._loop = loop
        self._owner = owner
        self._lock = threading.Lock()
        self._inside: set[concurrent.futures.Future[Any]] = set()
        self.cancelled = False
        self._is_unreported = False  # cancelled, and nobody has been told yet

    def __call__(self, work: Coroutine[object, None, T], /) -> T:
        end_event = threading.Event()
        future = self._begin(work, end_event)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            # Either `cancel`, or the loop is on its way out; the turn is over for this thread in both cases.
            raise Cancelled from None
        except KeyboardInterrupt:
            future.cancel()
            end_event.wait(INTERRUPTED)
            raise
        finally:
            with self._lock:
                self._inside.discard(future)

    def ask(self, client: ClientCalls, method: str, message: object, result: type[T]) -> T:
        return self(client.ask(method, message, result))

    def say(self, speaker: Speaker, text: str) -> None:
        self(speaker.say(text))

    def cancel(self) -> None:
        """Cancel the call that is running, or else the next one."""
        with self._lock:
            # One that has just come to its end cannot be cancelled any more: then the next call tells.
            self.cancelled = True
            cancels = [future.cancel() for future in self._inside]
            self._is_unreported = not any(cancels)

    def _begin(
        self, work: Coroutine[object, None, T], end_event: threading.Event
    ) -> concurrent.futures.Future[T]:
        if threading.get_ident() == self._owner:
            work.close()
            raise LocalMistake("a blocking call in the event loop's own thread would wait for itself")
        with self._lock:
            if self._is_unreported:
                self._is_unreported = False
                work.close()
                raise Cancelled
            coroutine = _run_and_set(work, end_event)
            try:
                future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
            except RuntimeError:  # the loop is closed
                coroutine.close()
                work.close()
                raise LinkClosed("the event loop of this conversation is gone") from None
            self._inside.add(future)
        return future


async def _run_and_set(work: Coroutine[object, None, T], end_event: threading.Event) -> T:
    try:
        return await work
    finally:
        end_event.set()


async def in_thread(function: Callable[[LoopRunner], T]) -> T:
    """Call a plain function in a thread of its own, with a crossing back to this loop.

    When this task is cancelled, so is the crossing, and the function gets the time that the task gets. A
    second cancellation leaves it behind: a thread cannot be ended from outside. The thread is a daemon, so
    that one left behind does not keep the process.
    """
    loop = asyncio.get_running_loop()
    crossing = LoopRunner(loop, owner=threading.get_ident())
    outcome_future: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if not outcome_future.done():
            outcome_future.set_result((result, error))

    def run() -> None:
        result, error = None, None
        try:
            result = function(crossing)
        except BaseException as exception:  # noqa: BLE001  # it is raised again where the result is awaited
            error = exception
        try:
            loop.call_soon_threadsafe(tell, result, error)
        except RuntimeError:
            pass  # the loop is closed: nobody waits for this any more

    threading.Thread(target=run, name="handler", daemon=True).start()
    try:
        return _outcome(await asyncio.shield(outcome_future))
    except asyncio.CancelledError:
        crossing.cancel()
        _outcome(await asyncio.shield(outcome_future))
        raise


def _outcome(outcome: tuple[T | None, BaseException | None]) -> T:
    result, error = outcome
    if isinstance(error, Cancelled):
        raise asyncio.CancelledError from error
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # it is what the function returned, None included
