"""Adds a command's turns to the store of trees, each between the looks before and after it.

A store that cannot be used is told and not waited for: a turn is worth more than the memory of it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from dragoman.errors import LocalMistake
from dragoman_local.journal.history import history_path
from dragoman_local.workspace.rewind import rewind_note
from dragoman_local.workspace.tree_store import TreeStore, store_beside

Looked = TypeVar("Looked")


class TurnMemory:
    """The turns of one conversation that is recorded as a stream; without a stream, nothing is stored."""

    def __init__(self, tell: Callable[[str], None], *, roots: Sequence[str], stream: str) -> None:
        self._tell = tell
        self.roots = roots
        self.stream = stream
        self._turn: int | None = None
        self._beginning: asyncio.Task[None] | None = None
        self.store: TreeStore | None = None
        if stream and roots:
            store = store_beside(history_path())
            try:
                store.roots()
                self.store = store
            except (LocalMistake, OSError) as error:
                tell(f"{NOT_REMEMBERED}: {error}")

    async def begin(self, session_id: str, look: asyncio.Future[Looked], *, agent: str, prompt: str) -> None:
        """Note the start of a prompt; the look before it may still run."""
        await self.end()
        if self.store is None:
            return
        try:
            self._turn = self.store.begin_turn(
                session_id,
                map(os.path.realpath, self.roots),
                stream=self.stream,
                agent=agent,
                prompt=prompt,
            )
        except (LocalMistake, OSError) as error:
            self._tell(f"{NOT_REMEMBERED}: {error}")
        else:
            self._beginning = asyncio.create_task(_begin(self._turn, look), name="remember")

    async def note(self, session_id: str) -> str:
        """Return the note for the next prompt: files that were reverted since the last turn."""
        if self.store is None:
            return ""
        try:
            return await asyncio.to_thread(rewind_note, self.store, session_id, self.roots)
        except (LocalMistake, OSError) as error:
            self._tell(f"can't tell whether files were put back: {error}")
            return ""

    async def begun(self) -> None:
        """Wait until the look before the turn is stored, so that the look after it can end the turn."""
        beginning, self._beginning = self._beginning, None
        if beginning is not None:
            try:
                await beginning
            except (LocalMistake, OSError) as error:
                self._tell(f"{NOT_REMEMBERED}: {error}")

    async def end(self) -> None:
        """Note the end of the turn, even without a look after it."""
        turn, self._turn = self._turn, None
        if self._beginning is not None:
            self._beginning.cancel()
            await asyncio.wait((self._beginning,))
            self._beginning = None
        if turn is not None and self.store is not None:
            try:
                self.store.end_turn(turn)
            except (LocalMistake, OSError) as error:
                self._tell(f"{NOT_REMEMBERED}: {error}")

    async def aclose(self) -> None:
        await self.end()
        if self.store is not None:
            await asyncio.to_thread(self.store.close)


NOT_REMEMBERED = "Dragoman will not know who changed which lines in this turn"


async def _begin(turn: int, look: asyncio.Future[Looked]) -> None:
    snapshot = await asyncio.shield(look)
    begin_turn = getattr(snapshot, "begin_turn", None)
    if begin_turn is not None:
        await begin_turn(turn)
