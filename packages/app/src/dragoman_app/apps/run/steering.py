"""`--steer`: sends lines of standard input to the agent while its turn runs.

Each line is a message. A thread reads, so that a terminal, a pipe and a file are read alike; it waits for
nothing but its line, and ends with the process. It reads for the whole run, also if another agent goes on.
Lines are said one after the other, and a line that comes when no turn runs any more was not sent: the run
says so.
"""

from __future__ import annotations

import asyncio
import os
import threading

from dragoman.errors import DragomanError
from dragoman.schema.steering import OUTCOME_TEXTS, SteerFallback
from dragoman.sdk.client.agent_handle import Session
from dragoman_app.apps.run import events
from dragoman_app.apps.run.narrate import now
from dragoman_app.apps.run.reporter import RunReporter

STDIN = 0

LARGEST_LINE = 1024 * 1024
"""The most bytes of a message; a longer line is cut into several."""

WAITING_LINES = 64
"""The most lines to read ahead of the agent; then the reader waits."""


TURN_OVER = "the turn was over"


class InputLines:
    """Lines of standard input for the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(WAITING_LINES)
        threading.Thread(target=self._read, name="standard input", daemon=True).start()

    async def next(self) -> str | None:
        """Return the next line with text; None at the end of the input."""
        line = await self._lines.get()
        self._room.release()
        return line

    def take_rest(self) -> list[str]:
        """Return the unread lines."""
        rest = [self._lines.get_nowait() for _ in range(self._lines.qsize())]
        return [line for line in rest if line is not None]

    def _read(self) -> None:
        with os.fdopen(os.dup(STDIN), "rb") as source:
            while data := source.readline(LARGEST_LINE):
                line = data.decode(errors="replace").strip()
                if line and not self._put(line):
                    return
        self._put(None)

    def _put(self, line: str | None) -> bool:
        self._room.acquire()
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:  # the run is over, and its loop is closed
            return False
        return True


class LineSteering:
    """Sends lines of standard input to the sessions of a run, from its first turn on."""

    def __init__(self, reporter: RunReporter, fallback: SteerFallback) -> None:
        self._reporter = reporter
        self._fallback: SteerFallback = fallback
        self._input: InputLines | None = None  # before the first turn, a login may read a terminal

    async def run(self, session: Session) -> None:
        """Send each line while the turn runs; cancelled when it has ended."""
        self._input = lines = self._input or InputLines()
        while (line := await lines.next()) is not None:
            try:
                outcome = await session.steer(line, otherwise=self._fallback)
            except asyncio.CancelledError:
                self._tell_failure(line, TURN_OVER)
                raise
            except DragomanError as error:
                self._tell_failure(line, str(error))
            else:
                self._reporter.emit(events.SteerEvent(time=now(), text=line, outcome=outcome))
                self._reporter.tell(f"{OUTCOME_TEXTS[outcome]}: {line!r}")

    async def finish(self) -> None:
        """At the end of the run, report the lines that came too late."""
        if self._input is None:
            return
        await asyncio.sleep(0)  # lines that the thread has read are in the queue then
        rest = self._input.take_rest()
        for line in rest:
            self._tell_failure(line, TURN_OVER)
        if len(rest) >= WAITING_LINES:
            self._reporter.tell(f"more lines of standard input were not sent: {TURN_OVER}")

    def _tell_failure(self, line: str, why: str) -> None:
        self._reporter.emit(events.SteerEvent(time=now(), text=line, outcome="failed", message=why))
        self._reporter.tell(f"not sent: {line!r}: {why}")
