"""What a pool is given and what it gives back: a task, its job, its outcome.

An outcome is a value, whatever happened: one task that fails is no reason for the others to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.errors import DragomanError
from dragoman.schema import v1
from dragoman.sdk.client.prompt import TurnResult

Content: TypeAlias = str | v1.ContentBlock
OutcomeKind: TypeAlias = Literal["done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One turn in a session of its own."""

    prompt: Content | Sequence[Content]
    cwd: str
    mcp_servers: Sequence[v1.McpServer] = ()
    additional_directories: Sequence[str] = ()
    label: str = ""
    """The caller's own name for it."""

    seconds: float | None = None
    """How long it may take from its start, which is not when it was given; then it is cancelled."""

    on_update: Callable[[v1.SessionUpdate], None] | None = None

    @property
    def content(self) -> Sequence[Content]:
        several = isinstance(self.prompt, Sequence) and not isinstance(self.prompt, str)
        return self.prompt if several else (self.prompt,)  # type: ignore[return-value]  # told apart above


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a task ended."""

    task: Task
    index: int
    """The place of the task among those it was given with."""

    kind: OutcomeKind
    result: TurnResult | None = None
    """Of a task that is `done`, with any stop reason."""

    error: Exception | None = None
    """Of one that `failed`: an error of ours, or what the caller's `on_update` raised."""

    session_id: str | None = None
    seconds: float = 0.0
    """From its start to its end; none if it never started."""

    def unwrap(self) -> TurnResult:
        """The result, or the error as an exception."""
        if self.result is not None:
            return self.result
        raise self.error or DragomanError("the task was cancelled")


class Job:
    """A task that was given to a pool. Await it for its outcome."""

    __slots__ = ("_outcome", "_stop", "group", "index", "running", "task")

    def __init__(self, task: Task, index: int, group: Hashable, stop: Callable[[Job], None]) -> None:
        self.task = task
        self.index = index
        self.group = group
        self.running: asyncio.Task[None] | None = None
        self._stop = stop
        self._outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    def __await__(self) -> Generator[object, None, Outcome]:
        # Shielded: whoever stops waiting does not stop the job.
        return asyncio.shield(self._outcome).__await__()

    @property
    def done(self) -> bool:
        return self._outcome.done()

    def cancel(self) -> None:
        """Whoever awaits it gets an outcome that says so."""
        self._stop(self)

    def settle(self, outcome: Outcome) -> None:
        if not self._outcome.done():
            self._outcome.set_result(outcome)

    def when_done(self, call: Callable[[Job], None]) -> None:
        self._outcome.add_done_callback(lambda _: call(self))
