"""Entries that a session still has to act on, in their original form.

The journal redacts what it stores. Requests of the agent, prompts that wait, and frames for an agent that
outlives the hub are stored as pending: their originals are kept apart until they are settled. They are
dropped here: a request's when its end is stored, a prompt's when it is stored for the agent or has ended, a
frame's when the agent's host has it. What is never settled is dropped when it is too old.

After a crash, or at another node, what is acted upon comes from the originals (`session.state.restore`).
Where one is missing, nothing is done with what redaction left: the agent and the people concerned hear why.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from dragoman.errors import JournalBusy, JournalError, JournalFull, JournalGone
from dragoman.runtime.owner import TaskOwner
from dragoman.wire import ErrorObject, error_object
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman_hub.engine.ports import AgentPort, Session
from dragoman_hub.session.state import SessionState
from dragoman_local.journal import Journal

log = logging.getLogger(__name__)

GATHER_SECONDS = 0.1
"""The seconds for which settled entries are collected before they are dropped together: most have no
original, and searching costs time.
"""

REDACTED_REQUEST = (
    "the request was not carried out: the hub was stopped while it was open, and only its redacted form is "
    "stored; ask again"
)
REDACTED_ANSWER = (
    "the answer was lost: the hub was stopped before the agent had it, and only its redacted form is stored; "
    "ask again"
)


class PendingEntries:
    """The pending entries of one session: drops originals in the background, in batches."""

    __slots__ = ("_journal", "_on_idle", "_owner", "_settled_sequences", "_stream", "_task", "_to_agent")

    def __init__(
        self, journal: Journal, owner: TaskOwner, stream: str, *, on_idle: Callable[[], None]
    ) -> None:
        """`on_idle` is called when nothing is left to drop."""
        self._journal = journal
        self._owner = owner
        self._stream = stream
        self._to_agent: list[int] = []  # frames that the agent's keeper may not have yet
        self._settled_sequences: set[int] = set()
        self._task: asyncio.Task[None] | None = None
        self._on_idle = on_idle

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to drop, now or later."""
        return not (self._to_agent or self._settled_sequences or self._task)

    def settle(self, *sequences: int) -> None:
        """Note that these entries need no more action."""
        self._settled_sequences |= {sequence for sequence in sequences if sequence}
        if self._settled_sequences and self._task is None:
            self._task = self._owner.start(self._drop())

    def give(self, sequence: int) -> None:
        """Note that this frame is on its way to the agent."""
        self._to_agent.append(sequence)

    def confirm(self, upto: int) -> None:
        """Settle the frames that the agent's host has: those up to this entry."""
        if self._to_agent:
            self.settle(*(sequence for sequence in self._to_agent if sequence <= upto))
            self._to_agent = [sequence for sequence in self._to_agent if sequence > upto]

    def agent_gone(self) -> None:
        """Drop entries for an agent that is gone."""
        self.settle(*self._to_agent)
        self._to_agent.clear()

    def recall(
        self, state: SessionState, process: AgentPort[Session] | None, originals: Iterable[int]
    ) -> None:
        """Note the originals of an opened session: keep those that are needed."""
        open_sequences = {*state.requests, *(waiting.sequence for waiting in state.queue)}
        closed_sequences = [sequence for sequence in originals if sequence not in open_sequences]
        if process is None:
            self.settle(*closed_sequences)
        else:
            # Older notes among them are settled with the frames behind them.
            self._to_agent += closed_sequences
            self.confirm(process.last_taken(state))

    async def aclose(self) -> None:
        """Drop the settled entries, and end."""
        await self.flush()
        task = self._task
        if task is not None and task is not asyncio.current_task():
            task.cancel()
            await asyncio.wait((task,))

    async def flush(self) -> None:
        """Drop the settled entries at once."""
        sequences = set(self._settled_sequences)
        if not sequences:
            return
        try:
            await self._journal.drop_originals(self._stream, sequences)
        except JournalError as error:
            log.warning(
                "session %s: originals could not be dropped, and go when they are too old: %s",
                self._stream,
                error,
            )
        self._settled_sequences -= sequences

    async def _drop(self) -> None:
        try:
            while self._settled_sequences:
                await asyncio.sleep(GATHER_SECONDS)
                await self.flush()
        finally:
            self._task = None
            self._on_idle()


_STORE_FAILURES: dict[type[JournalError], str] = {
    JournalFull: "no room is left",
    JournalBusy: "another process is using the journal",
    JournalGone: "its file was deleted or replaced: restart the hub",
}


def unstored_error(error: JournalError) -> ErrorObject:
    """The error for a client when storing failed, without file names."""
    why = _STORE_FAILURES.get(type(error), "the journal refuses it")
    return error_object(INTERNAL_ERROR, f"Internal error: the session could not be stored ({why})")
