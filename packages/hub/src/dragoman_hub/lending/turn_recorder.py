"""Records the turns of a hub in the store of snapshots, each with the snapshots before and after it.

A store that cannot be used costs the memory of a turn, and not the turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

from dragoman.errors import DragomanError
from dragoman_hub.lending.folder_turn import FolderLook, FolderTurn
from dragoman_hub.session.frames import prompt_texts
from dragoman_local.workspace.rewind import rewind_note
from dragoman_local.workspace.snapshots import Snapshot
from dragoman_local.workspace.tree_store import StaleLook, TreeStore

LONGEST_PROMPT = 65_536
"""Characters of a prompt's text that the store gets: it looks for secrets in them, and keeps a few."""

log = logging.getLogger(__name__)

_Work: TypeAlias = tuple[FolderTurn, Callable[[], None], asyncio.Future[Any]]


class TurnRecorder:
    """All turns of one hub. What is to be written while a transaction lasts shares the next one."""

    def __init__(self, store: TreeStore | None) -> None:
        self.store = store
        """None if nothing is kept."""
        self._works: list[_Work] = []
        self._thread: asyncio.Future[list[Any]] | None = None

    async def open(self) -> None:
        """A store that cannot be read is left alone: turns are looked at without it."""
        try:
            if self.store is not None:
                await asyncio.to_thread(self.store.roots)
        except (DragomanError, OSError) as error:
            log.warning("turns are not remembered: %s", error)
            self.store = None

    async def aclose(self) -> None:
        while self._thread is not None:
            await asyncio.wait([self._thread])
        if self.store is not None:
            await asyncio.to_thread(self.store.close)

    async def erase(self, sessions: Sequence[str]) -> None:
        if self.store is not None:
            await asyncio.to_thread(self.store.forget, sessions)

    async def begin(self, turn: FolderTurn) -> None:
        """The store knows of the turn before the agent does: if we are killed, its changes are nobody's."""
        if self.store is not None and turn.far_side is None:
            if turn.remembering is None:
                turn.remembering = self._write(turn, partial(_begin, self.store, turn, None))
            await asyncio.wait([turn.remembering])
        turn.params = b""

    async def record(self, turn: FolderTurn, look: FolderLook | None, at: Literal["begin", "end"]) -> None:
        """Put a look into the store; at its end, the turn runs no more, even if nobody has looked. A turn
        that the store does not know yet begins with its look.
        """
        if self.store is None or turn.far_side is not None:
            return
        if turn.remembering is None and at == "begin":
            writing = turn.remembering = self._write(turn, partial(_begin, self.store, turn, look))
        else:
            await self.begin(turn)
            writing = self._write(turn, partial(_record, self.store, turn.number, look, at))
        await asyncio.wait([writing])
        if isinstance(writing.result(), StaleLook) and isinstance(look, Snapshot):
            try:
                await look.record(turn.number, at)
            except (DragomanError, OSError) as error:
                log.warning("a turn in %s is not remembered: %s", turn.folder, error)

    def _write(self, turn: FolderTurn, work: Callable[[], None]) -> asyncio.Future[Any]:
        """Done when this is in the store, or cannot be: its result is why."""
        loop = asyncio.get_running_loop()
        writing: asyncio.Future[Any] = loop.create_future()
        self._works.append((turn, work, writing))
        if len(self._works) == 1 and self._thread is None:
            loop.call_soon(self._write_some)
        return writing

    def _write_some(self) -> None:
        works, self._works = self._works, []
        loop = asyncio.get_running_loop()
        self._thread = loop.run_in_executor(None, self._write_together, [work for _, work, _ in works])
        self._thread.add_done_callback(partial(self._on_written, works))

    def _write_together(self, works: Sequence[Callable[[], None]]) -> list[Any]:
        assert self.store is not None
        errors = self.store.together(works)
        try:
            self.store.keep_within_budget()
        except (DragomanError, OSError) as error:
            log.warning("the memory of turns could not be made smaller: %s", error)
        return errors

    def _on_written(self, works: Sequence[_Work], thread: asyncio.Future[list[Any]]) -> None:
        self._thread = None
        for (turn, _, writing), error in zip(works, thread.result(), strict=True):
            if error is not None and not isinstance(error, StaleLook):
                log.warning("a turn in %s is not remembered: %s", turn.folder, error)
                turn.number = None
            writing.set_result(error)
        if self._works:
            self._write_some()


def _begin(store: TreeStore, turn: FolderTurn, look: FolderLook | None) -> None:
    turn.reminder = rewind_note(store, turn.session, turn.folders)
    turn.number = store.begin_turn(
        turn.session,
        turn.folders[:1],
        stream=turn.session,
        agent=turn.agent,
        prompt="\n".join(prompt_texts(turn.params, LONGEST_PROMPT)),
        key=turn.key,
    )
    _record(store, turn.number, look, "begin")


def _record(store: TreeStore, number: int | None, look: FolderLook | None, at: str) -> None:
    if number is not None and isinstance(look, Snapshot):
        look.write_turn(number, at)
    elif number is not None and at == "end":
        store.end_turn(number)
