"""The way back to before a turn, for the dialog on the screen: in a folder of this machine, or at a hub."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from msgspec import ValidationError, to_builtins

from dragoman.decoders import convert
from dragoman.errors import LocalMistake
from dragoman_app.apps.turn_memory import TurnMemory
from dragoman_app.tui.ports import RewindPreview, RewindResult
from dragoman_local.workspace.rewind import (
    NOTHING_TO_UNDO,
    UNKNOWN,
    Places,
    RewindDone,
    planned_rewind,
    session_places,
    undo_places,
)
from dragoman_local.workspace.tree_store import TreeStore

Answer = TypeVar("Answer")


class LocalRewinds:
    """A `ChatRewinds` of a session whose turns are kept here. `tell` hears of what was done."""

    def __init__(self, memory: TurnMemory | None, session: str, tell: Callable[[RewindDone], None]) -> None:
        if memory is None or memory.store is None:
            raise LocalMistake("Dragoman keeps no files of this session, so it can't put any back")
        self._store: TreeStore = memory.store
        self._folders, self._stream = memory.roots, memory.stream
        self._session = session
        self._tell = tell

    async def preview(self, turn: int | None) -> RewindPreview:
        number, places = await self._places(turn)
        async with planned_rewind(self._store, places) as rewind:
            return convert(await rewind.preview(number), RewindPreview)

    async def carry_out(self, preview: RewindPreview, also: Sequence[str]) -> RewindResult:
        number, places = await self._places(preview.turn)
        return await self._carry_out(places, number, preview.identity, also)

    async def undo(self) -> RewindResult:
        places = await asyncio.to_thread(undo_places, self._store, self._folders)
        if not places:
            raise LocalMistake(NOTHING_TO_UNDO)
        return await self._carry_out(places, 0, None, ())

    async def _places(self, turn: int | None) -> tuple[int, Places]:
        number, places = await asyncio.to_thread(session_places, self._store, self._session, number=turn)
        if not places:
            raise LocalMistake(UNKNOWN)
        return number, places

    async def _carry_out(
        self, places: Places, turn: int, identity: str | None, also: Sequence[str]
    ) -> RewindResult:
        async with planned_rewind(self._store, places) as rewind:
            done = await rewind.carry_out(
                self._session, turn=turn, stream=self._stream, identity=identity, also=also
            )
        if done.paths:
            self._tell(done)
        return convert(to_builtins(done), RewindResult)


class HubRewinds:
    """A `ChatRewinds` of a session at a hub, which `call` asks by the names of its methods."""

    def __init__(self, call: Callable[[str, dict[str, object]], Awaitable[object]], session: str) -> None:
        self._call = call
        self._session: dict[str, object] = {"sessionId": session}

    async def preview(self, turn: int | None) -> RewindPreview:
        named: dict[str, object] = {} if turn is None else {"turn": turn}
        return _read(await self._call("rewind/preview", self._session | named), RewindPreview)

    async def carry_out(self, preview: RewindPreview, also: Sequence[str]) -> RewindResult:
        named = {"turn": preview.turn, "identity": preview.identity, "also": list(also)}
        return _read(await self._call("rewind", self._session | named), RewindResult)

    async def undo(self) -> RewindResult:
        return _read(await self._call("rewind/undo", self._session), RewindResult)


def _read(answer: Any, kind: type[Answer]) -> Answer:
    try:
        return convert(answer, kind)
    except ValidationError as error:
        raise LocalMistake(f"the hub's answer is invalid: {error}") from error
