"""An event loop whose clock is a number: it jumps to the next timer instead of waiting for it.

So deadlines are tested exactly and at once. And because nothing happens here but what the loop itself does, a
loop that has nothing ready and no timer can never go on: that is a deadlock, and it is raised as one.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

TURNS = 200_000
"""More than any honest test needs; a loop that turns this often is running in a circle."""


class Stuck(Exception):
    """Everybody waits for somebody else, or the loop turns without end."""


class _Selector(selectors.SelectSelector):
    """Never waits: time passes by being added."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._loop.count_turn()
        ready = super().select(0)
        if not ready and timeout is None:
            raise Stuck(f"nothing can happen any more\n{self._loop.describe()}")
        if not ready and timeout is not None and timeout > 0:
            self._loop.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """For conversations in memory: no threads, no processes, no sockets."""

    def __init__(self) -> None:
        self.now = 0.0
        self.turns = 0
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self.now

    def count_turn(self) -> None:
        self.turns += 1
        if self.turns > TURNS:
            raise Stuck(f"the loop turned {TURNS} times\n{self.describe()}")

    def describe(self) -> str:
        """What is still there, for whoever has to find out why."""
        return "\n".join(f"  {task!r}" for task in asyncio.all_tasks(self))


class Clockwork:
    """Runs one coroutine after another in one virtual loop, and fails when one leaves a task behind."""

    def __init__(self) -> None:
        self.loop = VirtualLoop()
        self.complaints: list[str] = []
        self.loop.set_exception_handler(self._complain)

    def run(self, body: Coroutine[Any, Any, T]) -> T:
        self.loop.turns = 0
        self.complaints.clear()
        try:
            result = self.loop.run_until_complete(body)
            left = asyncio.all_tasks(self.loop)
            assert not left, f"tasks left behind: {left}"
        finally:
            self._clear()
        assert not self.complaints, f"the loop complained: {self.complaints}"
        return result

    def close(self) -> None:
        self._clear()
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()

    def _clear(self) -> None:
        """Whatever happened, the next example starts with an empty loop."""
        self.loop.turns = 0
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks, timeout=100))

    def _complain(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # Errors that asyncio would only log, such as that of a callback, are failures here.
        self.complaints.append(f"{context.get('message')}: {context.get('exception')!r}")


def virtually(body: Coroutine[Any, Any, T]) -> T:
    """Run one coroutine on the clock that never waits."""
    clockwork = Clockwork()
    try:
        return clockwork.run(body)
    finally:
        clockwork.close()
