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
    """The place in the configuration: `ssh:HOST`, `docker:NAME`."""
    session_id: str
    """The session's id there."""
    call: CallMethod

    async def look(self) -> FarLook:
        """Take a snapshot before a turn."""
        return FarLook(await look_there(self.call, self.session_id))


class FarChanges:
    """`TurnChangeSet` of another machine: its reported changes, and those that it can still revert."""

    def __init__(self, there: RemoteChanges, files: Sequence[FileChange]) -> None:
        self.files = files
        self.notes = there.notes
        self.revert = there.revert
        self.revert_hunks = there.revert_hunks


class FarLook:
    """One snapshot, or, if it was retaken, its differences. None of it is on this machine's disk."""

    growth = 0
    is_closed = False
    file_count = 0

    def __init__(self, there: RemoteSnapshot, found: RemoteChanges | None = None) -> None:
        self._there = there
        self._found = found
        self._files = {} if found is None else {change.path: change for change in found.files}

    async def retake(self) -> FarLook:
        """Take a snapshot after a turn."""
        return FarLook(self._there, await self._there.compare())

    def share(self) -> FarLook:
        """Return the same snapshot for another turn; not needed here, because each session
        has its own there.
        """
        return FarLook(self._there, self._found)

    async def compare(self, later: FarLook | None = None) -> FarChanges:
        """Return the changes since then, until now or until a repeated snapshot."""
        later = later or await self.retake()
        assert later._found is not None
        return FarChanges(later._found, list(later._files.values()))

    def adopt(self, path: str, later: FarLook) -> None:
        """Use a file's state in `later` as the new base."""
        self._files.pop(path, None)
        if path in later._files:
            self._files[path] = later._files[path]

    async def aclose(self) -> None:
        """Do nothing: the other side keeps its snapshot until the next one, or until the session ends."""
