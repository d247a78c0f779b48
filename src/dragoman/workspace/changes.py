"""How folders were before a turn, to tell afterwards what has changed, whichever way it was done.

    snapshot = await take_snapshot(["/project"])
    ...  # the turn
    changes = await snapshot.compare()
    await changes.revert("/project/file.py")
    await snapshot.aclose()

In a git work tree git does the looking (`git_ground`), elsewhere we do (`plain_ground`). Both are bounded in
time and size, and what they did not cover is in the notes. Nothing in the folders is written, not even in
`.git`; what is kept lies in a private store that is gone with the snapshot, or with the next one if we are
killed.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from dragoman.errors import LocalMistake
from dragoman.workspace.change_set import Change, Changes, Found, RevertRefused, described
from dragoman.workspace.entries import DEFAULT_SNAPSHOT, Capture, Entry, OutOfTime, SnapshotSettings
from dragoman.workspace.git_ground import GitFailed, GitGround, find_repository
from dragoman.workspace.plain_ground import PlainGround
from dragoman.workspace.store import Store

__all__ = ["Change", "Changes", "RevertRefused", "Snapshot", "take_snapshot"]


class Ground(Protocol):
    """One root, however it is looked at."""

    root: str
    algorithm: str

    def capture(self) -> Capture: ...
    def content(self, entry: Entry) -> bytes: ...


async def take_snapshot(
    roots: Sequence[str], *, settings: SnapshotSettings = DEFAULT_SNAPSHOT, store: str | None = None
) -> Snapshot:
    """Look at these folders. `store` is where to keep things, if not in the folder for temporary files."""
    snapshot = Snapshot(roots, settings, store)
    try:
        await asyncio.to_thread(snapshot.take)
    except BaseException:
        await snapshot.aclose()
        raise
    return snapshot


class Snapshot:
    """What was there. Made by `take_snapshot`; also an `async with`."""

    def __init__(self, roots: Sequence[str], settings: SnapshotSettings, store: str | None) -> None:
        self.roots = tuple(dict.fromkeys(os.path.realpath(root) for root in roots))
        self.notes: list[str] = []
        """What it does not cover."""
        self._settings = settings
        self._store = Store(store)
        self._stop = threading.Event()
        self._working = threading.Lock()  # a thread goes on although nobody waits for it any more
        self._before: list[tuple[Ground, Capture]] = []

    def take(self) -> None:
        with self._working:
            self._take()

    def _take(self) -> None:
        for number, root in enumerate(self.roots):
            if not os.path.isdir(root):
                raise LocalMistake(f"{root!r} is no folder")
            folder = self._store.path / str(number)
            folder.mkdir()
            ground = _ground(root, folder, self._settings, self._stop)
            capture = ground.capture()
            self.notes += capture.notes
            self._before.append((ground, capture))

    async def compare(self) -> Changes:
        """What has changed since. May be asked again."""
        return await asyncio.to_thread(self._compare)

    async def aclose(self) -> None:
        """Forget everything. Closing twice is fine."""
        self._stop.set()
        await asyncio.to_thread(self._close)

    async def __aenter__(self) -> Snapshot:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _close(self) -> None:
        with self._working:
            self._store.close()

    def _compare(self) -> Changes:
        with self._working:
            if self._stop.is_set():
                raise LocalMistake("this snapshot is closed")
            return self._compared()

    def _compared(self) -> Changes:
        notes = list(self.notes)
        found: dict[str, Found] = {}
        files: list[Change] = []
        room = self._settings.diff_bytes
        for ground, before in self._before:
            after = ground.capture()
            notes += [note for note in after.notes if note not in notes]
            for path, old, new in _differences(before, after):
                one = Found(ground, path, old, new)
                if one.full_path in found:  # a root within a root
                    continue
                found[one.full_path] = one
                files.append(described(one, room=room))
                room -= len(files[-1].diff or "")
        if room <= 0:
            notes.append("too many changes to show: some are named without a diff")
        return Changes(sorted(files, key=lambda change: change.path), notes, found)


def _ground(root: str, folder: Path, settings: SnapshotSettings, stop: threading.Event) -> Ground:
    try:
        return GitGround(root, find_repository(root, settings.seconds), folder, settings, stop)
    except (GitFailed, OutOfTime):
        plain = folder / "plain"
        plain.mkdir()
        return PlainGround(root, plain, settings, stop)


def _differences(before: Capture, after: Capture) -> list[tuple[str, Entry | None, Entry | None]]:
    """What one look found and the other did not. A look that was cut short proves nothing by not finding."""
    different: list[tuple[str, Entry | None, Entry | None]] = []
    for path, old in before.entries.items():
        new = after.entries.get(path)
        if new is None and not after.is_complete:
            continue
        if new is None or _differ(old, new):
            different.append((path, old, new))
    if before.is_complete:
        different += [(path, None, new) for path, new in after.entries.items() if path not in before.entries]
    return different


def _differ(old: Entry, new: Entry) -> bool:
    return (old.kind, old.digest) != (new.kind, new.digest)
