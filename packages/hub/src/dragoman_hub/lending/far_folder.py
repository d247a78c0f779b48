"""A session's folder on another machine or in a container, whose snapshots are taken over there.

That side keeps one look for each session and tells what is different since (`workspace.remote_changes`);
what it told at the end of a turn is kept here. So the two stand around a turn as two snapshots of a folder of
this machine would, and are asked the same questions. What is told is as true as the other side is.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from dragoman_local.workspace.remote_changes import CallMethod, RemoteChanges, RemoteSnapshot, look_there
from dragoman_local.workspace.snapshots import FileChange


class FarSide(Struct, frozen=True, kw_only=True):
    """The remote location of a session's folders, and how to send requests about them."""

    place: str
    """As the configuration has it: `ssh:HOST`, `docker:NAME`."""
    session_id: str
    """What the session is called there."""
    call: CallMethod

    async def look(self) -> FarLook:
        """Before a turn."""
        return FarLook(await look_there(self.call, self.session_id))


class FarChanges:
    """`TurnChangeSet` of another machine: the changes that it reported, and those that it can still
    put back.
    """

    def __init__(self, there: RemoteChanges, files: Sequence[FileChange]) -> None:
        self.files = files
        self.notes = there.notes
        self.revert = there.revert
        self.revert_hunks = there.revert_hunks


class FarLook:
    """One snapshot, or, if it was retaken, its differences. Nothing of it is on this machine's disk."""

    growth = 0
    is_closed = False
    file_count = 0

    def __init__(self, there: RemoteSnapshot, found: RemoteChanges | None = None) -> None:
        self._there = there
        self._found = found
        self._files = {} if found is None else {change.path: change for change in found.files}

    async def retake(self) -> FarLook:
        """After a turn."""
        return FarLook(self._there, await self._there.compare())

    def share(self) -> FarLook:
        """The same look for another turn; each session has its own there, so that nobody needs it."""
        return FarLook(self._there, self._found)

    async def compare(self, later: FarLook | None = None) -> FarChanges:
        """The changes since then, until now or until a repeated look."""
        later = later or await self.retake()
        assert later._found is not None
        return FarChanges(later._found, list(later._files.values()))

    def adopt(self, path: str, later: FarLook) -> None:
        """From now on one file counts as it was when `later` was taken."""
        self._files.pop(path, None)
        if path in later._files:
            self._files[path] = later._files[path]

    async def aclose(self) -> None:
        """The other side keeps its look until the next one, or until the session ends."""
