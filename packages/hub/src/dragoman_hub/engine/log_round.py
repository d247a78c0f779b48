"""A round of logs with entries to store: they give them to the journal together.

It knows when that is, and nothing of what they store.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

GATHER_SECONDS = 0.008
"""The seconds after a store in which updates of other sessions are collected: half a frame of a screen, for
one commit instead of many. Awaited entries are stored at once, with all collected ones.
"""


class RoundLog(Protocol):
    """A log with entries to store (`log.EntryLog`)."""

    def store(self) -> None: ...


class LogRound:
    """Logs with entries to store. They give them to the journal when the current event is over, so that
    related entries are stored together. A caller that knows when that is holds the round by `with`; otherwise
    it is the next step of the event loop.

    Updates, on which nothing waits, are stored at once if none were stored within `GATHER_SECONDS`, and
    together when that time is over if some were.
    """

    __slots__ = ("_gathered_at", "_held", "_is_planned", "_is_urgent", "_logs", "_timer")

    def __init__(self) -> None:
        self._logs: list[RoundLog] = []
        self._held = 0
        self._is_planned = False
        self._is_urgent = False  # whether somebody waits for what one of the logs has
        self._gathered_at = -GATHER_SECONDS  # when updates were stored last
        self._timer: asyncio.TimerHandle | None = None

    def add(self, log: RoundLog, *, is_urgent: bool) -> None:
        self._logs.append(log)
        self._is_urgent = self._is_urgent or is_urgent
        self._plan()

    def hurry(self) -> None:
        """Store at once, because a caller waits for one of the logs."""
        if self._logs:
            self._is_urgent = True
            self._plan()

    def _plan(self) -> None:
        if not self._held and not self._is_planned and (self._is_urgent or self._timer is None):
            self._is_planned = True
            asyncio.get_running_loop().call_soon(self._on_turn)

    def __enter__(self) -> None:
        self._held += 1

    def __exit__(self, *_: object) -> None:
        self._held -= 1
        if self._logs and not self._held:
            self._store()

    def _on_turn(self) -> None:
        self._is_planned = False
        self._store()

    def _store(self) -> None:
        """Now, or when the time is over in which updates gather."""
        if not self._is_urgent:
            if self._timer is not None:
                return
            loop, due = asyncio.get_running_loop(), self._gathered_at + GATHER_SECONDS
            if loop.time() < due:
                self._timer = loop.call_at(due, self._store_now)
                return
        self._store_now()

    def _store_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._is_urgent:
            self._gathered_at = asyncio.get_running_loop().time()
        self._is_urgent = False
        logs, self._logs = self._logs, []
        for log in logs:
            log.store()
