"""A handler's thread, and how a cancel reaches it.

A thread cannot be stopped from outside. A cancelled one hears of it from the call that it is in, or makes
next: that raises `Cancelled`, once. Calls after that work again, so that the handler can clean up.
"""

from __future__ import annotations

import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from dragoman.errors import Cancelled
from dragoman.sdk.sync.run import step

if TYPE_CHECKING:
    from dragoman.blocking.signals import ThreadSignal
    from dragoman.core import IncomingRequest
    from dragoman.sdk.agent.client_calls import ClientCalls
    from dragoman.sdk.agent.speaker import Speaker

T = TypeVar("T")

_local = threading.local()


def current_worker() -> Worker | None:
    """The worker that this thread is, or last called for."""
    return getattr(_local, "worker", None)


class WorkerLink(Protocol):
    """What a worker needs of its link; `agent_link.AgentLink` is one."""

    def ask(
        self, client: ClientCalls, method: str, message: object, result: type[T], worker: Worker
    ) -> T: ...

    def interrupt(self, worker: Worker) -> bool:
        """End the calls that this worker waits for; False when it waits for none."""


class PlainSpeaker(Protocol):
    """Says a text without a coroutine; `speaker.ThreadSpeaker` does."""

    def say_now(self, text: str) -> None: ...


class Worker:
    """Works on one request; also the runner of everything that its handler asks and says meanwhile."""

    __slots__ = ("_link", "cancelled", "left_open", "request", "unheard")

    def __init__(self, link: WorkerLink, incoming: IncomingRequest) -> None:
        self._link = link
        self.request = incoming
        self.cancelled = False
        self.unheard = False  # cancelled, and its handler has not been told yet
        self.left_open: ThreadSignal | None = None  # it waits for a call that a cancel does not take back

    def __call__(self, work: Coroutine[object, None, T], /) -> T:
        _local.worker = self  # also in threads that the handler started by itself
        if self.unheard:
            work.close()
            self.check()
        return step(work)

    def ask(self, client: ClientCalls, method: str, message: object, result: type[T]) -> T:
        """The short way for `client.ask`, which is most of what is ever run."""
        _local.worker = self
        if self.unheard:
            self.check()
        return self._link.ask(client, method, message, result, self)

    def say(self, speaker: Speaker, text: str) -> None:
        """The short way for `speaker.say`."""
        _local.worker = self
        if self.unheard:
            self.check()
        cast("PlainSpeaker", speaker).say_now(text)

    def enter(self) -> None:
        """This thread is the worker from now on."""
        _local.worker = self

    def check(self) -> None:
        """Raise what has to be told."""
        if self.unheard:
            self.unheard = False
            raise Cancelled

    def cancel(self) -> None:
        self.cancelled = self.unheard = True
        self.interrupt()

    def interrupt(self) -> None:
        """If a call is waited for, that is where the cancel is told."""
        if self._link.interrupt(self):
            self.unheard = False
        elif self.left_open is not None:
            self.left_open.set()
