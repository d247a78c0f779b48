"""A session that has a stream and nothing else, for tests of its `EntryLog`."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.errors import JournalError
from dragoman_hub.engine.bounds import HubBounds
from dragoman_hub.engine.log import EntryLog
from dragoman_hub.session.state import new_state
from dragoman_local.journal.entry_runs import FrameRun


class StreamSession:
    stream = "s"
    state = new_state("s")

    def __init__(self, *, tries_again: bool = False) -> None:
        self.bounds = HubBounds().session("agent")
        self.stored: list[int] = []
        """Numbers of entries that are stored."""
        self.listed_state = ""
        self.log: EntryLog | None = None
        self._tries_again = tries_again

    def state_to_list(self, *, is_last: bool) -> str:
        is_known = self.log is not None and self.log.state == self.listed_state
        return "" if is_known or not is_last else self.listed_state

    def on_stored(self, first: int, runs: Sequence[FrameRun]) -> None:
        self.stored += range(first, first + sum(len(run.frames) for run in runs))

    def on_failure(self, error: JournalError, certain: bool) -> bool:
        return self._tries_again
