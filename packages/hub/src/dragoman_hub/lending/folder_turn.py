"""The files of one turn: its folder before and after, and the files that its agent named.

Whoever attributes a change to a turn asks which files its agent named, and which files were named by the
agents of the turns that ran at the same time (`turn_overlap`). Nothing here looks into a folder.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from dragoman_hub.gate.real_paths import real_paths
from dragoman_hub.lending.named_files import NamedFiles

if TYPE_CHECKING:
    from typing import Self

    from dragoman_hub.lending.far_folder import FarSide
    from dragoman_hub.lending.turn_overlap import TurnStay
    from dragoman_local.workspace.snapshots import FileChange


class FolderChanges(Protocol):
    """The differences between two snapshots of a folder."""

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


class FolderTurn:
    """One turn of one session: its folder, the files that its agent named, and the turns at the same time."""

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
        self.is_known = False
        """Whether the store knows of the turn, as far as it can."""
        self.folders: Sequence[str] = [cwd]
        """The session's, without links; the store knows it by the first."""
        self.agent, self.params = "", b""
        """What the store is to know of it: who works there, its prompt."""
        self.reminder = ""
        """What the agent must be told with its prompt: that files were put back since its last turn."""
        self.number: int | None = None
        """Its number in the store."""
        self.timer: asyncio.TimerHandle | None = None

    @property
    def folder(self) -> str:
        """Its folder for people and logs."""
        return f"{self.place}:{self.cwd}" if self.place else self.cwd

    async def looks_done(self) -> None:
        """Wait until all its snapshots are complete."""
        for look in (self.opening, self.finishing):
            if look is not None and not look.done():
                await asyncio.wait([look])

    async def aclose(self) -> None:
        """Forget this turn. Turns that ran at the same time may still need its named files; it keeps no other
        turn, or each would keep all earlier ones.
        """
        if self.timer is not None:
            self.timer.cancel()
        if self.stay is not None:
            self.stay.forget_others()
        for snapshot in (self.before, self.after):
            if snapshot is not None:
                await snapshot.aclose()


async def real_folders(place: str, folders: Sequence[str]) -> list[str]:
    """Resolve links. Links on another machine can't be resolved here. Turns that begin at the same time in
    one folder share a snapshot.
    """
    folders = list(filter(os.path.isabs, folders))
    if not place:
        await real_paths.look(folders)
    known_folders = ((None if place else real_paths.get(folder), folder) for folder in folders)
    return [known or os.path.normpath(folder) for known, folder in known_folders]  # noqa: ASYNC240  # no disk
