"""Finds what a turn changed on a remote machine: snapshots are taken there, decisions are made here.

Whoever lends files on the other side answers three extension methods about a session's folders: look at them,
tell what is different since, put a file back. docs/workspace.md describes them. `DiskLooks` is that side's
end; `look_there` is this side's, and stands where a snapshot of a folder of this machine would. What is told
of the other side's disk is as true as the other side is.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from dragoman.decoders import convert
from dragoman.errors import CallFailed, DragomanError, ErrorAnswer, LocalMistake
from dragoman_local.workspace.change_set import FileChange, RevertRefused, TurnChangeSet
from dragoman_local.workspace.refusals import CONFLICT, INTERNAL_ERROR, INVALID_PARAMS
from dragoman_local.workspace.snapshot_entries import MEBIBYTE, SnapshotSettings
from dragoman_local.workspace.snapshots import Snapshot, take_snapshot

LOOK_METHOD = "_dragoman/disk/look"
CHANGES_METHOD = "_dragoman/disk/changes"
REVERT_METHOD = "_dragoman/disk/revert"
DISK_METHODS = frozenset({LOOK_METHOD, CHANGES_METHOD, REVERT_METHOD})

SETTINGS = SnapshotSettings(seconds=8.0, diff_bytes=4 * MEBIBYTE)
"""Limits of snapshots for which a turn waits, and whose diffs go in one message."""

GROWTH = 64 * MEBIBYTE
"""The bytes that the snapshots of a session may add to those of the first, before a fresh one is taken."""

CallMethod: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Calls the other side: method and params in, plain values out."""


class DiskChanges(Protocol):
    """The changes of a turn, on any machine."""

    @property
    def files(self) -> Sequence[FileChange]: ...
    @property
    def notes(self) -> Sequence[str]: ...
    async def revert(self, path: str) -> None: ...


class DiskSnapshot(Protocol):
    """Folders before a turn, on any disk."""

    async def compare(self) -> DiskChanges: ...
    async def aclose(self) -> None: ...


# Here.


class RemoteSnapshot:
    """The last snapshot of a session's folders, kept on the remote machine until the next one or the end
    of the session.
    """

    def __init__(self, call: CallMethod, session_id: str) -> None:
        self._call = call
        self._session_id = session_id

    async def compare(self) -> RemoteChanges:
        """Return the changes since then. Raises `LocalMistake` if they are unknown."""
        answer = await _ask(self._call, CHANGES_METHOD, {"sessionId": self._session_id})
        try:
            changes = convert(answer, ChangesAnswer)
        except msgspec.ValidationError as error:
            raise LocalMistake(f"the other side's answer cannot be read: {error}") from None
        return RemoteChanges(self._call, self._session_id, changes)

    async def aclose(self) -> None:
        """Do nothing: the snapshot is on the other machine."""


class ChangesAnswer(Struct, frozen=True, kw_only=True):
    """The remote machine's answer."""

    files: list[FileChange] = []
    notes: list[str] = []


class RemoteChanges:
    """The remote machine's answer."""

    def __init__(self, call: CallMethod, session_id: str, changes: ChangesAnswer) -> None:
        self.files = changes.files
        self.notes = changes.notes
        self._call = call
        self._session_id = session_id

    async def revert(self, path: str) -> None:
        """Revert one file. `RevertRefused` if that would lose other work, or is impossible."""
        await self._revert({"path": path})

    async def revert_hunks(self, path: str, hunks: Collection[int]) -> None:
        """Revert some hunks of a file's diff, by their positions, and keep the others."""
        await self._revert({"path": path, "hunks": list(hunks)})

    async def _revert(self, what: dict[str, Any]) -> None:
        try:
            await _ask(self._call, REVERT_METHOD, {"sessionId": self._session_id, **what})
        except LocalMistake as error:
            raise RevertRefused(str(error)) from None


async def look_there(call: CallMethod, session_id: str) -> RemoteSnapshot:
    """Take a snapshot of a session's folders on the remote machine. Raises `LocalMistake` if it fails."""
    await _ask(call, LOOK_METHOD, {"sessionId": session_id})
    return RemoteSnapshot(call, session_id)


async def _ask(call: CallMethod, method: str, params: dict[str, Any]) -> Any:
    """The answer. That there is none is not a reason to end a run: the turn's own failure says more."""
    try:
        return await call(method, params)
    except CallFailed as error:
        raise LocalMistake(error.message) from None
    except DragomanError as error:
        raise LocalMistake(str(error)) from None


# There.


class DiskLooks:
    """The last snapshot of each session's folders, which `folders_of` names."""

    def __init__(self, folders_of: Callable[[str], Sequence[str]]) -> None:
        self._folders_of = folders_of
        self._snapshots: dict[str, Snapshot] = {}
        self._changes: dict[str, TurnChangeSet] = {}

    async def answer(self, method: str, params: dict[str, Any]) -> bytes:
        """Return the result of a request. Raises `ErrorAnswer`."""
        session_id, path = params.get("sessionId"), params.get("path")
        if not isinstance(session_id, str) or (method == REVERT_METHOD and not isinstance(path, str)):
            raise ErrorAnswer(INVALID_PARAMS, "Invalid params: a session and, to put back, a path are needed")
        try:
            if method == LOOK_METHOD:
                await self._look(session_id)
            elif method == CHANGES_METHOD:
                return msgspec.json.encode(await self._compare(session_id))
            else:
                await self._revert(session_id, str(path), _read_hunks(params))
        except RevertRefused as error:
            raise ErrorAnswer(CONFLICT, str(error)) from None
        except (LocalMistake, OSError) as error:
            raise ErrorAnswer(INTERNAL_ERROR, str(error)) from None
        return b"{}"

    async def forget(self, session_id: str) -> None:
        """Forget a session."""
        self._changes.pop(session_id, None)
        snapshot = self._snapshots.pop(session_id, None)
        if snapshot is not None:
            await snapshot.aclose()

    async def aclose(self) -> None:
        for session_id in list(self._snapshots):
            await self.forget(session_id)

    async def _look(self, session_id: str) -> None:
        folders = self._folders_of(session_id)
        last = self._snapshots.pop(session_id, None)
        self._changes.pop(session_id, None)
        try:
            self._snapshots[session_id] = (
                await last.retake()  # what is as it was is not read again
                if last is not None
                and last.roots == tuple(dict.fromkeys(map(os.path.realpath, folders)))
                and last.growth <= GROWTH
                else await take_snapshot(folders, settings=SETTINGS)
            )
        finally:
            if last is not None:
                await last.aclose()

    async def _compare(self, session_id: str) -> ChangesAnswer:
        snapshot = self._snapshots.get(session_id)
        if snapshot is None:
            raise LocalMistake("Dragoman has not looked at the folders of this session")
        changes = self._changes[session_id] = await snapshot.compare()
        return ChangesAnswer(files=list(changes.files), notes=list(changes.notes))

    async def _revert(self, session_id: str, path: str, hunks: list[int] | None) -> None:
        changes = self._changes.get(session_id)
        if changes is None:
            raise RevertRefused(f"{path!r} is not among the changes")
        await (changes.revert(path) if hunks is None else changes.revert_hunks(path, hunks))


def _read_hunks(params: dict[str, Any]) -> list[int] | None:
    """Which hunks are meant; None is the whole file."""
    try:
        return convert(params.get("hunks"), list[int] | None)
    except msgspec.ValidationError:
        raise ErrorAnswer(INVALID_PARAMS, "Invalid params: hunks are numbers") from None
