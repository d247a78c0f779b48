"""Records the turns of a hub in the store of snapshots, each with the snapshots before and after it.

A look is recorded in the thread that took it, for all turns that share it. What is to be written while a
transaction lasts shares the next one. A store that cannot be used costs the memory of a turn, and not the
turn.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from dragoman.errors import DragomanError
from dragoman_hub.lending.folder_turn import FolderTurn
from dragoman_hub.lending.shared_look import SharedLook
from dragoman_hub.session.frames import prompt_texts
from dragoman_local.workspace.rewind import rewind_note
from dragoman_local.workspace.snapshots import Snapshot
from dragoman_local.workspace.tree_store import StaleLook, TreeStore

LONGEST_PROMPT = 65_536
"""The most characters of a prompt's text for the store, which searches them for secrets and keeps a few."""

log = logging.getLogger(__name__)


class _Work(Struct):
    """Something to write about a turn, and why it could not be written."""

    turn: FolderTurn
    write: Callable[[TreeStore], None]
    error: Any = None


class TurnRecorder:
    """Records all turns of one hub."""

    def __init__(self, store: TreeStore | None) -> None:
        self.store = store
        """None if nothing is kept."""
        self._works: list[_Work] = []
        self._queueing = threading.Lock()
        self._writing = threading.Lock()

    async def open(self) -> None:
        """Open the store. An unreadable one is left unchanged: snapshots are taken without it."""
        try:
            if self.store is not None:
                await asyncio.to_thread(self.store.roots)
        except (DragomanError, OSError) as error:
            log.warning("turns are not remembered: %s", error)
            self.store = None

    async def aclose(self) -> None:
        if self.store is not None:
            await asyncio.to_thread(self._close, self.store)

    def _close(self, store: TreeStore) -> None:
        with self._writing:
            store.close()

    async def erase(self, sessions: Sequence[str]) -> None:
        if self.store is not None:
            await asyncio.to_thread(self.store.forget, sessions)

    async def begin(self, turn: FolderTurn) -> None:
        """Store the turn before the agent gets it: after a kill, its changes have an unknown author."""
        if self.store is not None and turn.far_side is None and not turn.is_known:
            await asyncio.to_thread(self._write, [turn], None, "begin")
        turn.params = b""

    async def end(self, turn: FolderTurn) -> None:
        """Note the end of the turn, without a snapshot after it."""
        if self.store is not None and turn.far_side is None:
            await asyncio.to_thread(self._write, [turn], None, "end")

    def record(self, look: SharedLook, snapshot: Snapshot) -> None:
        """Store a snapshot: waiting turns begin with it, or end. Called in the thread of the snapshot."""
        look.is_taken = True
        if self.store is not None:
            self._write(list(look.turns), snapshot, "end" if look.bases else "begin")

    def _write(self, turns: Sequence[FolderTurn], look: Snapshot | None, at: str) -> None:
        """Returns when this is in the store, or cannot be. Whoever comes first writes for all who wait."""
        assert self.store is not None
        with self._queueing:
            works = [work for turn in turns for work in _works_of(turn, look, at)]
            self._works += works
        with self._writing:
            with self._queueing:
                queued_works, self._works = self._works, []
            if queued_works:
                self._write_together(self.store, queued_works)
        for work in works:
            if isinstance(work.error, StaleLook) and look is not None:
                try:
                    look.record_here(work.turn.number, at)
                except (DragomanError, OSError) as error:
                    log.warning("a turn in %s is not remembered: %s", work.turn.folder, error)
        if at == "end":  # once a turn
            try:
                self.store.keep_within_budget()
            except (DragomanError, OSError) as error:
                log.warning("the memory of turns could not be made smaller: %s", error)

    def _write_together(self, store: TreeStore, works: Sequence[_Work]) -> None:
        errors = store.together([partial(work.write, store) for work in works])
        for work, error in zip(works, errors, strict=True):
            work.error = error
            if work.error is not None and not isinstance(work.error, StaleLook):
                log.warning("a turn in %s is not remembered: %s", work.turn.folder, work.error)
                work.turn.number = None
            work.turn.is_known = True


def _works_of(turn: FolderTurn, look: Snapshot | None, at: str) -> Iterator[_Work]:
    """The first that is written of a turn is that it begins."""
    if not turn.is_claimed:
        turn.is_claimed = True
        yield _Work(turn, partial(_begin, turn))
    if look is not None or at == "end":
        yield _Work(turn, partial(_record, turn, look, at))


def _begin(turn: FolderTurn, store: TreeStore) -> None:
    turn.reminder = rewind_note(store, turn.session, turn.folders)
    turn.number = store.begin_turn(
        turn.session,
        turn.folders[:1],
        stream=turn.session,
        agent=turn.agent,
        prompt="\n".join(prompt_texts(turn.params, LONGEST_PROMPT)),
        key=turn.key,
    )


def _record(turn: FolderTurn, look: Snapshot | None, at: str, store: TreeStore) -> None:
    if turn.number is not None and look is not None:
        look.write_turn(turn.number, at)
    elif turn.number is not None and at == "end":
        store.end_turn(turn.number)
