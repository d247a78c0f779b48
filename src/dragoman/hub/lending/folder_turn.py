"""One turn of one session, as far as files go: its folder before and after it, and what its agent named.

Whoever attributes a change to a turn asks which files its agent named, and which files were named by the
agents of the turns that ran at the same time (`turn_overlap`). Nothing here looks into a folder.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import Raw, Struct

from dragoman.decoders import decode_json
from dragoman.hub.session.frames import value_of

if TYPE_CHECKING:
    from typing import Self

    from dragoman.hub.lending.far_folder import FarSide
    from dragoman.hub.lending.turn_overlap import TurnStay
    from dragoman.workspace.snapshots import FileChange

PATHS = 10_000
"""Files that one turn names; more than that are not told apart."""

WRITING = frozenset({"edit", "delete", "move"})
"""Kinds of tool calls whose locations are files that they change."""


class _Part(Struct):
    """As much of a location, or of the content of a tool call, as is needed here: diffs can be large."""

    type: str = ""
    path: str = ""


class FolderChanges(Protocol):
    """What is different between two looks at a folder."""

    @property
    def files(self) -> Sequence[FileChange]: ...
    @property
    def notes(self) -> Sequence[str]: ...
    async def revert(self, path: str) -> None: ...
    async def revert_hunks(self, path: str, hunks: Collection[int]) -> None: ...


class FolderLook(Protocol):
    """A folder before or after a turn, on this machine (`workspace.snapshots.Snapshot`) or on another
    (`FarLook`).
    """

    @property
    def growth(self) -> int: ...
    @property
    def is_closed(self) -> bool: ...
    @property
    def file_count(self) -> int: ...
    async def compare(self, later: Self | None = None) -> FolderChanges: ...
    async def retake(self) -> Self: ...
    def share(self) -> Self: ...
    def adopt(self, path: str, later: Self) -> None: ...
    async def aclose(self) -> None: ...


class NamedFiles:
    """The files that the agent of a turn names."""

    def __init__(self, cwd: str, *, place: str) -> None:
        self._cwd = cwd
        self._place = place
        self._paths: dict[str, set[str]] = {}  # by tool call
        self._kinds: dict[str, str] = {}
        self._count = 0

    def see_tool_call(self, update: dict[str, Raw]) -> None:
        """Note the files that a tool call changes. One that failed has changed none."""
        call = value_of(update.get("toolCallId"))
        if not isinstance(call, str) or self._count >= PATHS:
            return
        kind = value_of(update.get("kind"))
        if isinstance(kind, str):
            self._kinds[call] = kind
        if value_of(update.get("status")) == "failed":
            self._paths.pop(call, None)
            return
        paths = [part.path for part in _parts(update.get("content")) if part.type == "diff"]
        if self._kinds.get(call) in WRITING:
            paths += [part.path for part in _parts(update.get("locations"))]
        for path in paths:
            self.name(path, call=call)

    def name(self, path: str, *, call: str = "") -> None:
        """The turn's agent writes to this file."""
        if path and "\0" not in path:
            self._count += 1
            self._paths.setdefault(call, set()).add(path)

    def paths(self, names: Collection[str]) -> set[str]:
        """The files with these names, as they are found on disk. Looks at the disk, in any thread."""
        every_path = [path for paths in list(self._paths.values()) for path in list(paths)]
        return {
            self._locate(path) for path in every_path if os.path.basename(os.path.normpath(path)) in names
        }

    def _locate(self, path: str) -> str:
        """A path as a look finds it: links on the way are followed, a link at its end is not."""
        whole = os.path.normpath(os.path.join(self._cwd, path))
        return os.path.join(real_folder(self._place, os.path.dirname(whole)), os.path.basename(whole))


def real_folder(place: str, folder: str) -> str:
    """Without links. Where they lead on another machine, nobody here knows. Looks at the disk."""
    return os.path.normpath(folder) if place else os.path.realpath(folder)


class FolderTurn:
    """One turn of one session: the folder around it, what its agent named, and whose turns ran meanwhile."""

    def __init__(self, session_id: str, key: str, cwd: str, *, far_side: FarSide | None = None) -> None:
        self.session = session_id
        self.key = key
        self.cwd = cwd
        self.far_side = far_side
        self.place = "" if far_side is None else far_side.place
        self.named = NamedFiles(cwd, place=self.place)
        self.stay: TurnStay | None = None
        """From when it is known to others that run at the same time."""
        self.is_running = True
        self.before: FolderLook | None = None
        self.after: FolderLook | None = None
        self.note = ""
        """Why its changes are not known."""
        self.opening: asyncio.Task[None] | None = None
        """The look before it."""
        self.finishing: asyncio.Task[None] | None = None
        """The look after it."""
        self.timer: asyncio.TimerHandle | None = None

    @property
    def folder(self) -> str:
        """Its folder, as people and logs are told of it."""
        return f"{self.place}:{self.cwd}" if self.place else self.cwd

    async def looks_done(self) -> None:
        """Until no look for it is under way."""
        for look in (self.opening, self.finishing):
            if look is not None:
                await asyncio.wait([look])

    async def aclose(self) -> None:
        """Nobody asks about this turn any more. Those that ran beside it may still ask which files it named;
        it holds on to no other turn, or each would keep those before it, back to the first.
        """
        if self.timer is not None:
            self.timer.cancel()
        if self.stay is not None:
            self.stay.forget_others()
        for snapshot in (self.before, self.after):
            if snapshot is not None:
                await snapshot.aclose()


def _parts(raw: Raw | None) -> list[_Part]:
    try:
        return [] if raw is None else decode_json(raw, list[_Part] | None) or []
    except msgspec.MsgspecError:  # an agent that does not follow the schema names nothing
        return []
