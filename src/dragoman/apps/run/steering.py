"""`--steer`: lines of standard input are said to the agent while its turn runs.

Each line is a message. A thread reads, so that a terminal, a pipe and a file are read alike; it waits for
nothing but its line, and ends with the process. Lines are said one after the other, and a line that comes
when the turn is over was not sent: the run says so.
"""

from __future__ import annotations

import asyncio
import os
import threading

from dragoman.apps.run import events
from dragoman.apps.run.narrate import now
from dragoman.apps.run.reporter import RunReporter
from dragoman.errors import DragomanError
from dragoman.schema.steering import OUTCOME_TEXTS, SteerFallback
from dragoman.sdk.client.agent_handle import Session

STDIN = 0

LARGEST_LINE = 1024 * 1024
"""Bytes of a message; a longer line is cut into several."""

WAITING_LINES = 64
"""Lines that are read before the agent has taken those before them; the reader waits then."""


TURN_OVER = "the turn was over"


class InputLines:
    """Lines of standard input for the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(WAITING_LINES)
        threading.Thread(target=self._read, name="standard input", daemon=True).start()

    async def next(self) -> str | None:
        """The next line that says something; None at the end of the input."""
        line = await self._lines.get()
        self._room.release()
        return line

    def take_rest(self) -> list[str]:
        """Lines that nobody has waited for."""
        rest: list[str] = []
        while not self._lines.empty():
            line = self._lines.get_nowait()
            if line is not None:
                rest.append(line)
        return rest

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
    """Says lines of standard input to a session, from the run's first turn on."""

    def __init__(self, reporter: RunReporter, fallback: SteerFallback) -> None:
        self._reporter = reporter
        self._fallback: SteerFallback = fallback
        self._lines = InputLines()

    async def run(self, session: Session) -> None:
        """Say each line while the turn runs; cancelled when it has ended."""
        while (line := await self._lines.next()) is not None:
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

    def finish(self) -> None:
        """The run is over: tell which lines came too late."""
        for line in self._lines.take_rest():
            self._tell_failure(line, TURN_OVER)

    def _tell_failure(self, line: str, why: str) -> None:
        self._reporter.emit(events.SteerEvent(time=now(), text=line, outcome="failed", message=why))
        self._reporter.tell(f"not sent: {line!r}: {why}")
