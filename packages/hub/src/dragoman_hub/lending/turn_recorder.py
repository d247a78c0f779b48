"""Puts the turns of a hub into the store of trees, each between the looks before and after it.

A store that cannot be used costs the memory of a turn, and not the turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Literal

from dragoman.errors import DragomanError
from dragoman_hub.lending.folder_turn import FolderLook, FolderTurn
from dragoman_hub.session.frames import object_of, value_of
from dragoman_local.workspace.snapshots import Snapshot
from dragoman_local.workspace.tree_store import TreeStore

log = logging.getLogger(__name__)


class TurnRecorder:
    """All turns of one hub."""

    def __init__(self, store: TreeStore | None) -> None:
        self.store = store
        """None if nothing is kept."""

    async def open(self) -> None:
        """A store that cannot be read is left alone: turns are looked at without it."""
        try:
            if self.store is not None:
                await asyncio.to_thread(self.store.roots)
        except (DragomanError, OSError) as error:
            log.warning("turns are not remembered: %s", error)
            self.store = None

    async def aclose(self) -> None:
        if self.store is not None:
            await asyncio.to_thread(self.store.close)

    async def erase(self, sessions: Sequence[str]) -> None:
        if self.store is not None:
            await asyncio.to_thread(self.store.forget, sessions)

    async def begin(self, turn: FolderTurn, agent: str, params: bytes) -> None:
        """The store knows of the turn before the agent does: if we are killed, its changes are nobody's."""

        store = self.store
        if store is None or turn.far_side is not None:
            return

        def begin() -> int:
            prompt, folders = _prompt_text(params), [turn.cwd]
            return store.begin_turn(turn.session, folders, stream=turn.session, agent=agent, prompt=prompt)

        try:
            turn.number = await asyncio.to_thread(begin)
        except (DragomanError, OSError) as error:
            log.warning("a turn in %s is not remembered: %s", turn.folder, error)

    async def record(self, turn: FolderTurn, look: FolderLook | None, at: Literal["begin", "end"]) -> None:
        """Put a look into the store; at its end, the turn runs no more, even if nobody has looked."""
        if turn.remembering is not None:
            await asyncio.wait([turn.remembering])
        if turn.number is None or self.store is None:
            return
        try:
            if isinstance(look, Snapshot):
                await look.record(turn.number, at)
            elif at == "end":
                await asyncio.to_thread(self.store.end_turn, turn.number)
        except (DragomanError, OSError) as error:
            log.warning("a turn in %s is not remembered: %s", turn.folder, error)


def _prompt_text(params: bytes) -> str:
    """What a prompt says, as far as it is text."""
    parts = value_of(object_of(params).get("prompt"))
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "\n".join(text for text in texts if isinstance(text, str))
