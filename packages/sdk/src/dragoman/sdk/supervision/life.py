"""One process of a supervised agent, from its start until it and its children are gone.

It notices the end at once, whoever is talking then or not, and reports it once. Ending it can be asked for
without waiting; the waiting is done by whoever closes the supervisor.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping

from dragoman.errors import DragomanError, SpawnTimeout
from dragoman.sdk.client.agent_handle import AgentHandle
from dragoman.sdk.connect import ConnectContext


class AgentLife:
    """One process of a supervised agent."""

    __slots__ = (
        "_close_task",
        "_closing",
        "_connecting",
        "_watch",
        "handle",
        "is_mourned",
        "number",
        "verdict",
    )

    def __init__(self, number: int, connecting: ConnectContext, handle: AgentHandle) -> None:
        self.number = number
        self.handle = handle
        self.verdict: DragomanError | None = None
        """Why it ended, if that is not what the link says."""
        self.is_mourned = False
        """Whether its death was told."""
        self._connecting = connecting
        self._closing = False
        self._watch: asyncio.Task[None] | None = None
        self._close_task: asyncio.Task[None] | None = None

    @property
    def is_alive(self) -> bool:
        return not self._closing and self.verdict is None and self.handle.link.close_reason is None

    @property
    def is_over(self) -> bool:
        """Whether the process has ended and no caller waits for it."""
        return (
            self._watch is not None
            and self._watch.done()
            and (self._close_task is None or self._close_task.done())
        )

    @property
    def pid(self) -> int | None:
        """The process id, if there is a process."""
        tree = getattr(self.handle.link.transport, "tree", None)
        pid = getattr(tree, "pid", None)
        return pid if isinstance(pid, int) else None

    def watch(self, died: Callable[[AgentLife, DragomanError], None]) -> None:
        """Call `died` from now on when the process ends unexpectedly."""
        self._watch = asyncio.create_task(self._watching(died), name=f"watch over life {self.number}")

    async def _watching(self, died: Callable[[AgentLife, DragomanError], None]) -> None:
        await self.handle.link.wait_ended()
        if not self._closing:
            died(self, self.why_gone())
        await self._connecting.__aexit__()

    def why_gone(self) -> DragomanError:
        reason = self.verdict or self.handle.link.close_reason
        assert reason is not None
        return reason

    def condemn(self, why: DragomanError) -> None:
        """End a process that lives but can't be used any more."""
        if self.verdict is None:
            self.verdict = why
            self._close_task = asyncio.create_task(
                self._connecting.__aexit__(), name=f"end of life {self.number}"
            )

    async def aclose(self) -> None:
        self._closing = True
        await self._connecting.__aexit__()
        tasks = [task for task in (self._watch, self._close_task) if task is not None]
        if tasks:
            await asyncio.wait(tasks)


async def together(ends: Iterable[Coroutine[object, None, None]]) -> None:
    """Close several objects at once, each of which may take seconds; an error in one does not stop the
    others.
    """
    tasks = [asyncio.ensure_future(end) for end in ends]
    if tasks:
        await asyncio.wait(tasks)
        for task in tasks:
            task.result()


async def reachable(
    command: str,
    *,
    cwd: str | os.PathLike[str] | None,
    env: Mapping[str, str] | None,
    seconds: float | None,
    look: Callable[[str], object] = os.stat,
) -> None:
    """Look up the program and its folder as starting would: a file system that hangs must not block the event
    loop. A missing file is ignored here; the start reports it better.
    """
    path = (os.environ if env is None else env).get("PATH", os.defpath)

    def touch() -> None:
        program = shutil.which(command, path=path)
        for place in (program, None if cwd is None else os.fspath(cwd)):
            try:
                if place is not None:
                    look(place)
            except OSError:
                continue

    loop = asyncio.get_running_loop()
    end_event, touched_event = asyncio.Event(), threading.Event()

    def run() -> None:
        touch()
        touched_event.set()
        try:
            loop.call_soon_threadsafe(end_event.set)
        except RuntimeError:  # the loop is closed: nobody waited so long
            return

    # Not in the loop's own threads: the end of the program would wait for one that hangs.
    threading.Thread(target=run, name=f"look for {command}", daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            await end_event.wait()
    except TimeoutError:
        assert seconds is not None
        if touched_event.is_set():
            return  # it is we who were busy, with starting others perhaps
        raise SpawnTimeout(f"looking for {command!r}", seconds) from None
