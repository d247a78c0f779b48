"""Takes the snapshots before and after the turns of a hub, and records the turns with them in the store.

One thread takes all looks that are asked for at the same time, one after the other, and then records them in
one transaction: threads that look side by side hand the interpreter to each other at each system call. If it
makes no progress, as with a large folder or a disk that hangs, another thread goes on with the rest.
A store that cannot be used costs the memory of a turn, and not the turn.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct

from dragoman.errors import DragomanError
from dragoman_hub.lending.folder_turn import FolderTurn
from dragoman_hub.lending.shared_look import SharedLook
from dragoman_hub.session.frames import prompt_texts
from dragoman_local.workspace.rewind import rewind_note
from dragoman_local.workspace.snapshot_entries import TurnStart
from dragoman_local.workspace.snapshots import Snapshot
from dragoman_local.workspace.tree_store import StaleLook, TreeStore

LONGEST_PROMPT = 65_536
"""The most characters of a prompt's text for the store, which searches them for secrets and keeps a few."""

TOGETHER = 64
"""The most looks to record in one transaction: the first of them waits for the last."""

STUCK_SECONDS = 0.005
"""The seconds without progress after which another thread goes on: small folders take much less."""

log = logging.getLogger(__name__)


class _Work(Struct):
    """Something to write about a turn, and why it could not be written."""

    turn: FolderTurn
    look: Snapshot | None
    at: str
    write: Callable[[TreeStore], None]
    error: Any = None


class TurnRecorder:
    """Records all turns of one hub."""

    def __init__(self, store: TreeStore | None) -> None:
        self.store = store
        """None if nothing is kept."""
        self._writing = threading.Lock()
        self._taking = threading.Lock()
        self._waiting: deque[tuple[SharedLook, Snapshot, TurnStart | None, _Done]] = deque()
        self._taken: list[tuple[SharedLook, Snapshot, _Done, Exception | None]] = []
        """To be recorded."""
        self._threads = self._steps = 0
        """How many threads look, and how often they went on."""
        self._watch: asyncio.TimerHandle | None = None

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
            await asyncio.to_thread(self._write, [(turn, None, "begin")])
        turn.params = b""

    async def end(self, turn: FolderTurn) -> None:
        """Note the end of the turn, without a snapshot after it."""
        if self.store is not None and turn.far_side is None:
            await asyncio.to_thread(self._write, [(turn, None, "end")])

    async def take(self, look: SharedLook, snapshot: Snapshot, start: TurnStart | None) -> None:
        """Take a snapshot in a thread and store it: waiting turns begin with it, or end."""
        loop = asyncio.get_running_loop()
        done: _Done = loop.create_future()
        with self._taking:
            self._waiting.append((look, snapshot, start, done))
            is_busy = self._threads > 0
        if not is_busy:
            self._start_thread(loop)
        elif self._watch is None:
            self._watch = loop.call_later(STUCK_SECONDS, self._look_after, loop, self._steps)
        error = await done
        if error is not None:
            raise error

    def _start_thread(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._taking:
            self._threads += 1
        loop.run_in_executor(None, self._take_all, loop)

    def _look_after(self, loop: asyncio.AbstractEventLoop, steps: int) -> None:
        """Another thread goes on if those that look have got nowhere."""
        self._watch = None
        if self._waiting or self._taken:
            if self._steps == steps:
                self._start_thread(loop)
            self._watch = loop.call_later(STUCK_SECONDS, self._look_after, loop, self._steps)

    def _take_all(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            with self._taking:
                self._steps += 1
                if self._waiting and len(self._taken) < TOGETHER:
                    taking, taken = self._waiting.popleft(), []
                else:
                    taking, taken, self._taken = None, self._taken, []
                    if not taken:
                        self._threads -= 1
                        return
            if taking is None:
                self.record([(look, snapshot) for look, snapshot, _, error in taken if error is None])
                loop.call_soon_threadsafe(_tell, taken)
                continue
            look, snapshot, start, done = taking
            if done.cancelled():
                continue  # it is closed already
            error = None
            try:
                snapshot.take(start)
                look.is_taken = True
            except Exception as failure:  # noqa: BLE001  # whoever waits is told
                error = failure
            with self._taking:
                self._taken.append((look, snapshot, done, error))

    def record(self, looks: Sequence[tuple[SharedLook, Snapshot]]) -> None:
        """Store snapshots: waiting turns begin with them, or end."""
        if self.store is not None:
            ends = [(look.turns, snapshot, "end" if look.bases else "begin") for look, snapshot in looks]
            self._write([(turn, snapshot, at) for turns, snapshot, at in ends for turn in list(turns)])

    def _write(self, ends: Sequence[tuple[FolderTurn, Snapshot | None, str]]) -> None:
        """Returns when this is in the store, or cannot be."""
        assert self.store is not None
        with self._writing:
            works = [work for turn, look, at in ends for work in _works_of(turn, look, at)]
            errors = self.store.together([partial(work.write, self.store) for work in works])
            for work, error in zip(works, errors, strict=True):
                work.error = error
                if work.error is not None and not isinstance(work.error, StaleLook):
                    log.warning("a turn in %s is not remembered: %s", work.turn.folder, work.error)
                    work.turn.number = None
                work.turn.is_known = True
        for work in works:
            if isinstance(work.error, StaleLook) and work.look is not None:
                try:
                    work.look.record_here(work.turn.number, work.at)
                except (DragomanError, OSError) as error:
                    log.warning("a turn in %s is not remembered: %s", work.turn.folder, error)
        if any(work.at == "end" for work in works):  # once a turn
            try:
                self.store.keep_within_budget()
            except (DragomanError, OSError) as error:
                log.warning("the memory of turns could not be made smaller: %s", error)


_Done: TypeAlias = "asyncio.Future[Exception | None]"


def _tell(taken: Sequence[tuple[SharedLook, Snapshot, _Done, Exception | None]]) -> None:
    for _, _, done, error in taken:
        if not done.done():  # else nobody waits any more
            done.set_result(error)


def _works_of(turn: FolderTurn, look: Snapshot | None, at: str) -> Iterator[_Work]:
    """The first that is written of a turn is that it begins."""
    if not turn.is_known:
        yield _Work(turn, None, "begin", partial(_begin, turn))
    if look is not None or at == "end":
        yield _Work(turn, look, at, partial(_record, turn, look, at))


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
