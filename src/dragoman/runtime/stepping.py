"""Runs coroutines without a task for each.

Most handlers finish without ever waiting. A runner steps one coroutine after another inside one task; the
first that really suspends keeps that task as its own from then on (so timeouts and cancellation work in it
as in any task), and a fresh runner takes over the rest of the queue.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


class Rest(Coroutine[Any, Any, T]):
    """Awaiting this continues a coroutine that has been stepped once and yielded `first`."""

    __slots__ = ("_first", "_work")

    def __init__(self, work: Coroutine[Any, Any, T], first: Any) -> None:
        self._work = work
        self._first = first

    def __await__(self) -> Generator[Any, Any, T]:
        work, waiting_for = self._work, self._first
        while True:
            try:
                sent = yield waiting_for
            except BaseException as thrown:  # noqa: BLE001  # handed on into the coroutine, cancellation included
                try:
                    waiting_for = work.throw(thrown)
                except StopIteration as done:
                    return done.value  # type: ignore[no-any-return]
            else:
                try:
                    waiting_for = work.send(sent)
                except StopIteration as done:
                    return done.value  # type: ignore[no-any-return]

    def send(self, value: Any) -> Any:
        return self._work.send(value)

    def throw(self, *exception: Any) -> Any:
        return self._work.throw(*exception)

    def close(self) -> None:
        self._work.close()
