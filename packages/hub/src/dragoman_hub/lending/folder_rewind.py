"""Restores the files of a session to their state before a turn, and undoes that, or forks them.

The turn is named by the key of its prompt, or by its number. What is shown first is what is done, or nothing
is: an identity names the plan. Files that a person changed since, or nobody knows who, stay unless they are
named. While files are put back, no look before a turn is taken of their folder; a turn that runs there
refuses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

from dragoman.errors import LocalMistake
from dragoman.wire.codes import invalid_params, invalid_request
from dragoman_hub.lending.line_authors import opened_journal
from dragoman_hub.lending.turn_changes import TurnChanges
from dragoman_local.journal import Journal
from dragoman_local.workspace.fork_folder import ForkPlan, fork_folder, fork_name, plan_fork
from dragoman_local.workspace.rewind import (
    NOTHING_TO_UNDO,
    UNKNOWN,
    FolderRewind,
    Places,
    RewindDone,
    RewindRefused,
    planned_rewind,
    session_places,
    undo_places,
)
from dragoman_local.workspace.tree_store import TreeStore


class HubRewind:
    """Rewinds in the folders of one hub."""

    def __init__(self, changes: TurnChanges, journal: Journal) -> None:
        self._changes = changes
        self._journal = journal
        self._lock = asyncio.Lock()

    async def places(self, session_id: str, *, key: str, number: int | None) -> tuple[int, Places]:
        """Return the number of a turn, and its folders. Raises the error for a turn that is not stored."""
        await self._changes.turn_done(session_id)
        turn, places = await asyncio.to_thread(
            session_places, self._store(), session_id, key=key, number=number
        )
        if not places:
            raise invalid_params(UNKNOWN)
        return turn, places

    async def last(self, folders: Sequence[str]) -> Places:
        """Return where the last rewind of these folders began. Raises the error if there is none."""
        places = await asyncio.to_thread(undo_places, self._store(), folders)
        if not places:
            raise invalid_request(NOTHING_TO_UNDO)
        return places

    async def preview(self, cwd: str, turn: int, places: Places) -> dict[str, Any]:
        """Return the changes of a rewind, and their authors."""
        async with self._planned(cwd, places, has_diffs=True) as rewind:
            return await rewind.preview(turn)

    async def carry_out(
        self,
        session_id: str,
        cwd: str,
        *,
        turn: int,
        places: Places,
        identity: str | None = None,
        also: Collection[str] = (),
    ) -> RewindDone:
        """Restore files, or undo that without an `identity`: see `FolderRewind.carry_out`."""
        async with self._planned(cwd, places) as rewind:
            done = await rewind.carry_out(
                session_id, turn=turn, stream=session_id, identity=identity, also=also
            )
            self._changes.forget_ended({cwd, *(root for root, _ in places)})
        return done

    async def fork_plan(self, session_id: str, turn: int, places: Places) -> ForkPlan:
        """Return a plan for a folder with the files before a turn. Raises the error with the reason if that
        is impossible.
        """
        root, look = places[0]
        name = fork_name(session_id, turn - 1)
        with _refusing():
            return await asyncio.to_thread(plan_fork, self._store(), root, look, name=name)

    async def fork(self, plan: ForkPlan) -> None:
        """Create the folder. Raises the error with the reason if that is impossible."""
        with _refusing():
            await fork_folder(self._store(), plan)

    @asynccontextmanager
    async def _planned(
        self, cwd: str, places: Places, *, has_diffs: bool = False
    ) -> AsyncIterator[FolderRewind]:
        """Until it is left, nothing else may happen in these folders. Raises the answer to a refusal."""
        await self._changes.looks_done(cwd, [root for root, _ in places])
        async with self._lock, self._changes.folder_lock(cwd):
            with _refusing(RewindRefused):
                open_journal = partial(opened_journal, self._store(), self._journal)
                async with planned_rewind(self._store(), places, open_journal, has_diffs=has_diffs) as rewind:
                    yield rewind

    def _store(self) -> TreeStore:
        store = self._changes.store
        if store is None:
            raise invalid_request("this hub does not remember files")
        return store


@contextmanager
def _refusing(kind: type[LocalMistake] = LocalMistake) -> Iterator[None]:
    """What is refused here is the answer to a client."""
    try:
        yield
    except kind as error:
        raise invalid_request(str(error)) from error
