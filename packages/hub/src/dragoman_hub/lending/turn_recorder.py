"""Puts the turns of a hub into the store of trees, each between the looks before and after it.

A store that cannot be used costs the memory of a turn, and not the turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from dragoman.errors import DragomanError
from dragoman_hub.lending.folder_turn import FolderLook, FolderTurn
from dragoman_hub.session.frames import object_of, value_of
from dragoman_local.workspace.snapshots import Snapshot
from dragoman_local.workspace.tree_store import StaleLook, TreeStore

log = logging.getLogger(__name__)


class TurnRecorder:
    """All turns of one hub. What is to be written while a transaction lasts shares the next one."""

    def __init__(self, store: TreeStore | None) -> None:
        self.store = store
        """None if nothing is kept."""
        self._works: list[tuple[Callable[[], None], asyncio.Future[Any]]] = []
        self._writing: asyncio.Future[list[Any]] | None = None

    async def open(self) -> None:
        """A store that cannot be read is left alone: turns are looked at without it."""
        try:
            if self.store is not None:
                await asyncio.to_thread(self.store.roots)
        except (DragomanError, OSError) as error:
            log.warning("turns are not remembered: %s", error)
            self.store = None

    async def aclose(self) -> None:
        if self._writing is not None:
            await asyncio.wait([self._writing])
        if self.store is not None:
            await asyncio.to_thread(self.store.close)

    async def erase(self, sessions: Sequence[str]) -> None:
        if self.store is not None:
            await asyncio.to_thread(self.store.forget, sessions)

    async def begin(self, turn: FolderTurn) -> None:
        """The store knows of the turn before the agent does: if we are killed, its changes are nobody's."""
        if turn.remembering is None and self.store is not None and turn.far_side is None:
            turn.remembering = self._write(partial(_begin, self.store, turn))
        if turn.remembering is not None:
            await asyncio.wait([turn.remembering])
            if error := turn.remembering.result():
                turn.number = None
                log.warning("a turn in %s is not remembered: %s", turn.folder, error)
        turn.params = b""

    async def record(self, turn: FolderTurn, look: FolderLook | None, at: Literal["begin", "end"]) -> None:
        """Put a look into the store; at its end, the turn runs no more, even if nobody has looked. A turn
        whose look comes first begins with it.
        """
        if self.store is None or turn.far_side is not None:
            return
        if turn.remembering is None and at == "begin":
            turn.remembering = self._write(partial(_begin, self.store, turn))
        writing = self._write(partial(_record, self.store, turn, look, at))
        await asyncio.wait([writing])
        try:
            if (error := writing.result()) is None:
                return
            if not isinstance(error, StaleLook) or not isinstance(look, Snapshot):
                raise error
            await look.record(turn.number, at)
        except (DragomanError, OSError) as error:
            log.warning("a turn in %s is not remembered: %s", turn.folder, error)

    def _write(self, work: Callable[[], None]) -> asyncio.Future[Any]:
        """Done when this is in the store, or cannot be: its result is why."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()
        self._works.append((work, done))
        if len(self._works) == 1 and self._writing is None:
            loop.call_soon(self._write_some)
        return done

    def _write_some(self) -> None:
        works, self._works = self._works, []
        loop = asyncio.get_running_loop()
        self._writing = loop.run_in_executor(None, self._write_together, [work for work, _ in works])
        self._writing.add_done_callback(partial(self._on_written, [done for _, done in works]))

    def _write_together(self, works: Sequence[Callable[[], None]]) -> list[Any]:
        assert self.store is not None
        errors = self.store.together(works)
        try:
            self.store.keep_within_budget()
        except (DragomanError, OSError) as error:
            log.warning("the memory of turns could not be made smaller: %s", error)
        return errors

    def _on_written(self, dones: Sequence[asyncio.Future[Any]], writing: asyncio.Future[list[Any]]) -> None:
        self._writing = None
        for done, error in zip(dones, writing.result(), strict=True):
            done.set_result(error)
        if self._works:
            self._write_some()


def _begin(store: TreeStore, turn: FolderTurn) -> None:
    turn.number = store.begin_turn(
        turn.session,
        [turn.root],
        stream=turn.session,
        agent=turn.agent,
        prompt=_prompt_text(turn.params),
    )


def _record(store: TreeStore, turn: FolderTurn, look: FolderLook | None, at: Literal["begin", "end"]) -> None:
    if turn.number is not None:
        if isinstance(look, Snapshot):
            look.write_turn(turn.number, at)
        elif at == "end":
            store.end_turn(turn.number)


def _prompt_text(params: bytes) -> str:
    """What a prompt says, as far as it is text."""
    parts = value_of(object_of(params).get("prompt"))
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "\n".join(text for text in texts if isinstance(text, str))
