"""What the last turn of each session changed on disk, and by whom.

A folder is looked at before a turn and after it; what differs was changed while the turn ran. A change is the
session's own if no other turn ran in the same folder meanwhile, or if its agent named the file (a diff, the
location of an edit, a write through a client or the hub) and no other agent did. What cannot be attributed is
told apart from that and never counted as the session's own.

Snapshots cost disk space and a descriptor. Sessions of one folder share them; they are given back when their
session is closed or nobody has asked for `KEPT_SECONDS`; of turns that have ended, the last `MOST` have them.
A look that takes too long costs its turn `LOOK_SECONDS`, is not repeated for a while, and then tried again.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from dragoman.decoders import decode_json
from dragoman.errors import DragomanError, ErrorAnswer
from dragoman.hub.session.frames import object_of, value_of
from dragoman.runtime.owner import TaskOwner
from dragoman.wire.codes import INTERNAL_ERROR, invalid_params
from dragoman.workspace.store import remove_abandoned

if TYPE_CHECKING:
    from dragoman.workspace.snapshots import FileChange, Snapshot

log = logging.getLogger(__name__)

LOOK_SECONDS = 3.0
"""A turn waits so long for a look at its folder."""

CLOSE_SECONDS = 1.0
"""How long looks and removals that are under way may take when the hub ends; the next one removes the
rest.
"""

FIRST_PAUSE = 30.0
LONGEST_PAUSE = 3600.0
"""Seconds without a look after one that took too long; each further one doubles them."""

KEPT_SECONDS = 1800.0
"""Seconds without a question after which the snapshots of a turn that has ended are given back."""

MOST = 256
"""Sessions whose last turn is known; above that, the oldest turns that have ended are forgotten."""

OTHERS = 100
"""Turns beside one turn that are held on to, ended ones included."""

PATHS = 10_000
"""Files that one turn names; more than that are not told apart."""

GROWTH = 64 * 1024 * 1024
"""Bytes that shared contents may grow by before a fresh snapshot is taken without what nobody needs."""

PAUSES = 1000
"""Folders whose looks are paused; more than that, and all are forgotten."""

WRITING = frozenset({"edit", "delete", "move"})
"""Kinds of tool calls whose locations are files that they change."""


class _Part(Struct):
    """As much of a location, or of the content of a tool call, as is needed here: diffs can be large."""

    type: str = ""
    path: str = ""


class LookFailed(DragomanError):
    """Nothing is known about a folder now, and why."""


class FolderTurn:
    """One turn of one session: the folder around it, what its agent named, and whose turns ran meanwhile."""

    def __init__(self, session_id: str, key: str, folders: Sequence[str]) -> None:
        self.session = session_id
        self.key = key
        self.cwd = folders[0]
        self.folders = tuple(os.path.realpath(folder) for folder in folders if os.path.isabs(folder))
        self.is_running = True
        self.before: Snapshot | None = None
        self.after: Snapshot | None = None
        self.note = ""
        """Why its changes are not known."""
        self.was_alone = True
        """Whether no other turn has run in its folders at the same time."""
        self.finishing: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self._others: list[FolderTurn] = []
        self._others_paths: set[str] = set()
        self._named: dict[str, set[str]] = {}  # by tool call
        self._kinds: dict[str, str] = {}
        self._count = 0

    def is_near(self, other: FolderTurn) -> bool:
        """Whether one of its folders is the other's folder, in it or around it."""
        return any(
            _is_below(folder, two) or _is_below(two, folder)
            for folder in self.folders
            for two in other.folders
        )

    def meet(self, other: FolderTurn) -> None:
        """Both run at the same time. Of many that have ended, only the files are kept."""
        if len(self._others) >= OTHERS:
            ended = [other for other in self._others if not other.is_running]
            self._others = [other for other in self._others if other.is_running]
            self._others_paths |= {path for one in ended for path in one.paths()}
        self._others.append(other)
        self.was_alone = False

    def others_paths(self) -> set[str]:
        """The files that others named which ran at the same time. Looks at the disk."""
        return self._others_paths.union(*(other.paths() for other in self._others))

    def see_tool_call(self, update: dict[str, Raw]) -> None:
        """Note the files that a tool call changes. One that failed has changed none."""
        call = value_of(update.get("toolCallId"))
        if not isinstance(call, str) or self._count >= PATHS:
            return
        kind = value_of(update.get("kind"))
        if isinstance(kind, str):
            self._kinds[call] = kind
        if value_of(update.get("status")) == "failed":
            self._named.pop(call, None)
            return
        named = [part.path for part in _parts(update.get("content")) if part.type == "diff"]
        if self._kinds.get(call) in WRITING:
            named += [part.path for part in _parts(update.get("locations"))]
        for path in named:
            self.name(path, call=call)

    def name(self, path: str, *, call: str = "") -> None:
        """The turn's agent writes to this file."""
        if path and "\0" not in path:
            self._count += 1
            self._named.setdefault(call, set()).add(path)

    def paths(self) -> set[str]:
        """The files it names, as they are found on disk. Looks at the disk."""
        return {_located(self.cwd, path) for paths in self._named.values() for path in paths}

    async def aclose(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        for snapshot in (self.before, self.after):
            if snapshot is not None:
                await snapshot.aclose()


class _Pause:
    """No look at a folder until a moment."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.until = 0.0

    def extend(self, now: float) -> None:
        self.seconds = min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * self.seconds))
        self.until = now + self.seconds


class TurnChanges:
    """Everything here is lost with the hub, without harm. `kept` is `KEPT_SECONDS` but for tests."""

    def __init__(
        self,
        *,
        enabled: bool,
        kept: float = KEPT_SECONDS,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._enabled = enabled
        self._kept = kept
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._turns: dict[str, FolderTurn] = {}  # by session, the last turn of each
        self._pauses: dict[str, _Pause] = {}
        self._looks: Counter[str] = Counter()  # by folder, those that somebody waits for
        self._owner: TaskOwner | None = None

    async def open(self) -> None:
        """Remove what a hub that was killed has left."""
        self._owner = TaskOwner("turn changes")
        if self._enabled:
            await asyncio.to_thread(remove_abandoned)

    async def aclose(self) -> None:
        turns, self._turns = list(self._turns.values()), {}
        if self._owner is not None:
            await self._owner.finish(CLOSE_SECONDS)
            await self._owner.aclose()
        for turn in turns:
            await turn.aclose()

    # Turns begin and end.

    async def begin(self, session_id: str, key: str, folders: Sequence[str]) -> None:
        """Look at the first of the session's folders before the agent touches it."""
        if not self._enabled:
            return
        turn = FolderTurn(session_id, key, folders)
        # Turns that have ended are looked at first: what this one writes is not theirs.
        ended = [other.finishing for other in self._turns.values() if other.finishing and other.is_near(turn)]
        if ended:
            await asyncio.wait(ended)
        before = self._turns.get(session_id)
        if before is not None:
            await self._finished(before)
        for other in self._turns.values():
            if other is not before and other.is_running and turn.is_near(other):
                turn.meet(other)
                other.meet(turn)
        self._turns[session_id] = turn  # others that begin from here on meet it
        try:
            turn.before = await self._look(turn.cwd, before)
        except LookFailed as error:
            turn.note = str(error)
        finally:
            if before is not None:
                await before.aclose()
        if self._turns.get(session_id) is not turn:  # the session was closed meanwhile
            await turn.aclose()
            return
        self._turns[session_id] = self._turns.pop(session_id)  # the latest is the last
        self._make_room()

    def end(self, session_id: str, key: str) -> None:
        """The turn has ended: look again, while others may still write."""
        turn = self._turns.get(session_id)
        if turn is not None and turn.key == key and turn.is_running and turn.finishing is None:
            assert self._owner is not None
            turn.finishing = self._owner.start(self._finish(turn))

    async def _finish(self, turn: FolderTurn) -> None:
        try:
            if turn.before is not None:
                turn.after = await self._look(turn.cwd, turn)
        except LookFailed as error:
            turn.note = str(error)
        finally:
            turn.is_running = False
            self._touch(turn)
        if self._turns.get(turn.session) is not turn:
            await turn.aclose()

    async def _finished(self, turn: FolderTurn) -> None:
        if turn.finishing is not None:
            await asyncio.wait([turn.finishing])
        turn.is_running = False

    def forget(self, session_id: str) -> None:
        """The session is closed, deleted, or another node's."""
        turn = self._turns.pop(session_id, None)
        if turn is not None and self._owner is not None:
            turn.is_running = False
            self._owner.start(self._close(turn))

    async def _close(self, turn: FolderTurn) -> None:
        await self._finished(turn)
        await turn.aclose()

    def _touch(self, turn: FolderTurn) -> None:
        """Somebody needs it: give it back later."""
        if turn.timer is not None:
            turn.timer.cancel()
        if not turn.is_running and self._turns.get(turn.session) is turn:
            turn.timer = asyncio.get_running_loop().call_later(self._kept, self._expire, turn)

    def _expire(self, turn: FolderTurn) -> None:
        if self._turns.get(turn.session) is turn:
            self.forget(turn.session)

    def _make_room(self) -> None:
        idle = [name for name, turn in self._turns.items() if not turn.is_running]
        for name in idle[: max(0, len(self._turns) - MOST)]:
            self.forget(name)

    # Looks.

    async def _look(self, folder: str, turn: FolderTurn | None) -> Snapshot:
        """A snapshot of a folder, from an earlier one if there is one. Raises `LookFailed`."""
        pause = self._pauses.get(folder)
        if pause is not None and self._clock() < pause.until:
            left = pause.until - self._clock()
            raise LookFailed(f"changes in {folder} are not known: looks are paused for {left:.0f} s")
        assert self._owner is not None
        base = self._base(folder, turn)
        looking = asyncio.ensure_future(_snapshot(folder, base))
        # Looks at one folder wait for each other: how long they take then says nothing of the folder.
        was_alone = folder not in self._looks
        self._looks[folder] += 1
        try:
            done, _ = await asyncio.wait([looking], timeout=LOOK_SECONDS)
            was_alone = was_alone and self._looks[folder] == 1
        except asyncio.CancelledError:
            self._owner.start(_abandon(looking))
            raise
        finally:
            self._looks = self._looks - Counter({folder: 1})
        if not done:
            self._owner.start(_abandon(looking))
            if not was_alone:
                raise LookFailed(f"changes in {folder} are not known: too many turns began or ended at once")
            raise self._too_slow(folder)
        try:
            snapshot = looking.result()
        except (DragomanError, OSError) as error:
            log.info("changes in %s are not known: %s", folder, error)
            raise LookFailed(f"changes in {folder} are not known: {error}") from None
        if self._pauses.pop(folder, None) is not None:
            log.info("changes in %s are known again", folder)
        return snapshot

    def _base(self, folder: str, turn: FolderTurn | None) -> Snapshot | None:
        """A snapshot of the same folder that shares its contents; of the turn itself, if it has one."""
        if turn is not None and turn.is_running and turn.before is not None:
            return turn.before  # both must share their contents to be compared
        for other in ([] if turn is None else [turn]) + list(self._turns.values()):
            if other.cwd == folder and other.before is not None and other.before.growth <= GROWTH:
                return other.after or other.before
        return None

    def _too_slow(self, folder: str) -> LookFailed:
        if len(self._pauses) >= PAUSES:
            self._pauses.clear()
        pause = self._pauses.setdefault(folder, _Pause())
        pause.extend(self._clock())
        why = (
            f"changes in {folder} are not known: a look at it took longer than {LOOK_SECONDS:g} s; "
            f"the first turn after {pause.seconds:.0f} s tries again"
        )
        log.warning("%s", why)
        return LookFailed(why)

    # What agents name.

    def on_updates(self, session_id: str, frames: Iterable[bytes]) -> None:
        turn = self._turns.get(session_id)
        if turn is None or not turn.is_running:
            return
        for frame in frames:
            if b'"tool_call' in frame:
                update = object_of(object_of(object_of(frame).get("params")).get("update"))
                if value_of(update.get("sessionUpdate")) in ("tool_call", "tool_call_update"):
                    turn.see_tool_call(update)

    def on_write(self, session_id: str, params: Raw) -> None:
        """A client or the hub has written a file for the session's agent."""
        turn = self._turns.get(session_id)
        if turn is not None and turn.is_running:
            path = value_of(object_of(params).get("path"))
            turn.name(path if isinstance(path, str) else "")

    # Questions.

    async def changes(self, session_id: str) -> dict[str, Any]:
        """Its own files, those of others or of nobody known, and what could not be found out."""
        turn = self._turns.get(session_id)
        if turn is None:
            return {"files": [], "others": [], "notes": []}
        files, notes = await self._compared(turn)
        own, others = await asyncio.to_thread(_attributed, turn, files)
        return {
            "files": [_shown(change) for change in own],
            "others": [{**_shown(change), "by": by} for change, by in others],
            "notes": notes,
        }

    async def revert(self, session_id: str, path: str, hunks: Sequence[int] | None) -> None:
        turn = self._turns.get(session_id)
        if turn is None or turn.before is None:
            raise invalid_params("nothing is known to have changed there")
        await self._settled(turn)
        changes = await turn.before.compare(turn.after)
        own, others = await asyncio.to_thread(_attributed, turn, changes.files)
        if path in {change.path for change, _ in others}:
            raise invalid_params("the file was changed by another session, or nobody knows by whom")
        if path not in {change.path for change in own}:
            raise invalid_params("nothing is known to have changed there")
        try:
            await (changes.revert(path) if hunks is None else changes.revert_hunks(path, hunks))
            if turn.after is not None:  # the turn has changed from here on what is left of it
                async with await turn.before.retake() as now:
                    turn.after.adopt(path, now)
        except DragomanError as error:
            raise ErrorAnswer(INTERNAL_ERROR, f"Internal error: {error}") from None

    async def _compared(self, turn: FolderTurn) -> tuple[Sequence[FileChange], list[str]]:
        await self._settled(turn)
        if turn.before is None or (turn.after is None and not turn.is_running):
            return [], [turn.note] if turn.note else []
        changes = await turn.before.compare(turn.after)
        return changes.files, list(changes.notes)

    async def _settled(self, turn: FolderTurn) -> None:
        """Until the look after the turn is done; then it is needed for a while."""
        if turn.finishing is not None:
            await asyncio.wait([turn.finishing])
        self._touch(turn)


def _attributed(
    turn: FolderTurn, files: Sequence[FileChange]
) -> tuple[list[FileChange], list[tuple[FileChange, str]]]:
    if turn.was_alone:
        return list(files), []
    ours, theirs = turn.paths(), turn.others_paths()
    own = [change for change in files if change.path in ours and change.path not in theirs]
    rest = [
        (change, "others" if change.path in theirs and change.path not in ours else "unknown")
        for change in files
        if change not in own
    ]
    return own, rest


def _parts(raw: Raw | None) -> list[_Part]:
    try:
        return [] if raw is None else decode_json(raw, list[_Part] | None) or []
    except msgspec.MsgspecError:  # an agent that does not follow the schema names nothing
        return []


async def _snapshot(folder: str, base: Snapshot | None) -> Snapshot:
    from dragoman.workspace.snapshots import take_snapshot

    return await (take_snapshot([folder]) if base is None or base.is_closed else base.retake())


async def _abandon(looking: asyncio.Future[Snapshot]) -> None:
    """A look that nobody waits for any more: close what comes of it."""
    try:
        await (await looking).aclose()
    except (DragomanError, OSError):
        pass  # whoever waited for it has been told that nothing is known


def _shown(change: FileChange) -> dict[str, Any]:
    diff = change.diff or ""
    return {"path": change.path, "kind": change.kind, "diff": diff, "hunks": _hunks(diff)}


def _hunks(diff: str) -> list[dict[str, Any]]:
    """The hunks of a unified diff, numbered."""
    found: list[list[str]] = []
    for line in diff.splitlines():
        if line.startswith("@@"):
            found.append([line])
        elif found:
            found[-1].append(line)
    return [{"id": number, "text": "\n".join(lines)} for number, lines in enumerate(found)]


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _located(cwd: str, path: str) -> str:
    """A path as a look finds it: links on the way are followed, a link at its end is not."""
    whole = os.path.normpath(os.path.join(cwd, path))
    return os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
