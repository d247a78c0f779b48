"""Restores the files of a session to their state before a turn, and undoes that.

The turn is named by the key of its prompt. What is shown first is what is done, or nothing is: an identity
names the plan. Files that a person changed since, or nobody knows who, stay unless they are named. While
files are put back, no look before a turn is taken of their folder; a turn that runs there refuses it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from typing import Any

from msgspec import Struct

from dragoman.wire.codes import invalid_params, invalid_request
from dragoman_hub.lending.turn_changes import TurnChanges
from dragoman_local.workspace.rewind import RewindFailure, RewindPlan, last_rewind, plan_rewind, turn_places
from dragoman_local.workspace.tree_store import TreeStore

UNKNOWN = "Dragoman has no record of the files before this turn"

Places = Sequence[tuple[str, int]]
"""Folders without links, each with the look that it is put back to."""


class RewindDone(Struct, frozen=True, kw_only=True):
    """The files that were restored."""

    turn: int
    """The turn before which the files are now; 0 if a rewind was undone."""
    paths: list[str]
    failures: list[RewindFailure]


class FolderRewind:
    """Restores files in the folders of one hub."""

    def __init__(self, changes: TurnChanges) -> None:
        self._changes = changes
        self._lock = asyncio.Lock()

    async def places(self, session_id: str, key: str) -> tuple[int, Places]:
        """The number of a turn, and its folders. Raises the answer to a turn that is not remembered."""
        return await asyncio.to_thread(_places, self._store(), session_id, key)

    async def last(self, folders: Sequence[str]) -> Places:
        """Where the last rewind of these folders began. Raises the answer to there being none."""
        return await asyncio.to_thread(_last, self._store(), folders)

    async def preview(self, cwd: str, turn: int, places: Places) -> dict[str, Any]:
        """What would change, and whose work that is."""
        async with AsyncExitStack() as stack:
            plans = await self._plans(stack, cwd, places)
            return {
                "turn": turn,
                "isBusy": await self._is_busy(places),
                "files": _describe(plans),
                "left": [os.path.join(plan.root, path) for plan in plans for path in plan.left],
                "identity": _identity(plans),
            }

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
        """Put files back; of those that a person changed since, only those of `also`. Without an `identity`
        it is the way forth, and a person's change refuses all of it.
        """
        async with AsyncExitStack() as stack:
            plans = await self._plans(stack, cwd, places)
            if await self._is_busy(places):
                raise invalid_request("a turn runs in this folder: let it end first")
            if identity is not None and identity != _identity(plans):
                raise invalid_request("files changed since you looked: look again")
            persons = {
                os.path.join(plan.root, step.path) for plan in plans for step in plan.steps if step.is_persons
            }
            if identity is None and persons:
                names = ", ".join(sorted(os.path.basename(path) for path in persons)[:3])
                raise invalid_request(f"files were changed since by a person: {names}")
            done: list[str] = []
            failures: list[RewindFailure] = []
            for plan in plans:
                spare = {
                    step.path
                    for step in plan.steps
                    if step.is_persons and os.path.join(plan.root, step.path) not in also
                }
                own = await plan.carry_out(
                    session_id,
                    is_undo=identity is None,
                    title=f"before turn {turn} of {session_id}",
                    stream=session_id,
                    spare=spare,
                )
                failures += own
                failed = spare | {failure.path for failure in own}
                done += [os.path.join(plan.root, step.path) for step in plan.steps if step.path not in failed]
            self._changes.forget_ended({cwd, *(root for root, _ in places)})
        return RewindDone(turn=turn if identity is not None else 0, paths=sorted(done), failures=failures)

    async def _plans(self, stack: AsyncExitStack, cwd: str, places: Places) -> list[RewindPlan]:
        """Held until the stack is left: by then nothing else may have happened in these folders."""
        await self._changes.looks_done(cwd, [root for root, _ in places])
        await stack.enter_async_context(self._lock)
        await stack.enter_async_context(self._changes.folder_lock(cwd))
        plans: list[RewindPlan] = []
        for root, look in places:
            if not await asyncio.to_thread(os.path.isdir, root):
                raise invalid_request(f"{root} is not there any more")
            plans.append(await plan_rewind(self._store(), root, look))
            stack.push_async_callback(plans[-1].aclose)
        return plans

    async def _is_busy(self, places: Places) -> bool:
        store = self._store()
        return await asyncio.to_thread(lambda: any(store.is_busy(root) for root, _ in places))

    def _store(self) -> TreeStore:
        store = self._changes.store
        if store is None:
            raise invalid_request("this hub does not remember files")
        return store


def _places(store: TreeStore, session_id: str, key: str) -> tuple[int, Places]:
    turns = [turn for turn in store.turns(session=session_id) if turn.key == key and turn.kind == "turn"]
    places = turn_places(store, turns)
    if not places:
        raise invalid_params(UNKNOWN)
    return turns[0].number, places


def _last(store: TreeStore, folders: Sequence[str]) -> Places:
    roots = dict.fromkeys(map(os.path.realpath, folders))
    found = [(root, turn) for root in roots if (turn := last_rewind(store, root)) is not None]
    if not found:
        raise invalid_request("there is nothing to undo in this folder")
    latest = max(turn.id for _, turn in found)
    return [(root, turn.first) for root, turn in found if turn.id == latest and turn.first is not None]


def _identity(plans: Sequence[RewindPlan]) -> str:
    return ".".join(plan.identity for plan in plans)


def _describe(plans: Sequence[RewindPlan]) -> list[dict[str, Any]]:
    """Each file as putting it back would change it: what was added to it since goes."""
    return [
        {
            "path": change.path,
            "act": step.act,
            "isPersons": step.is_persons,
            "added": change.lines_removed,
            "removed": change.lines_added,
        }
        for plan in plans
        for step, change in zip(plan.steps, plan.files, strict=True)
    ]
