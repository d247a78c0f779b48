"""The files that the last turn of each session changed, and who changed them.

A folder is looked at before a turn and after it; what differs was changed while the turn ran. A change is the
session's own if no other turn ran in the same folder meanwhile, or if its agent named the file (a diff, the
location of an edit, a write through a client or the hub) and no other agent did. What cannot be attributed is
told apart from that and never counted as the session's own.

A store that lasts keeps each turn between its looks. Sessions of one folder share snapshots; they are given
back when their session is closed or nobody has asked for `KEPT_SECONDS`; of turns that have ended, the last
`MOST` have them. A look that takes too long is not repeated for a while, and then tried again.

A look can go on beside the turn: a file that was not seen before it changed is named in a note. Turns that
begin or end at the same time in one folder share a look. A prompt waits until the look is done or has met
`MANY_FILES`, at most `LOOK_SECONDS`. A folder on another machine is looked at there (`far_folder`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from msgspec import Raw

from dragoman.errors import DragomanError, ErrorAnswer
from dragoman.runtime.owner import TaskOwner
from dragoman.wire.codes import INTERNAL_ERROR, invalid_params
from dragoman_hub.lending.change_owner import attribute, count_lines, describe_change
from dragoman_hub.lending.far_folder import FarSide
from dragoman_hub.lending.folder_turn import FolderLook, FolderTurn, real_folders
from dragoman_hub.lending.shared_look import LookFailed, LookPause, SharedLook, close_result
from dragoman_hub.lending.turn_overlap import TurnOverlap
from dragoman_hub.lending.turn_recorder import TurnRecorder
from dragoman_hub.session.frames import object_of, value_of
from dragoman_local.workspace.snapshot_entries import TurnStart
from dragoman_local.workspace.snapshots import Snapshot, take_snapshot
from dragoman_local.workspace.tree_store import TreeStore

if TYPE_CHECKING:
    from dragoman_local.workspace.snapshots import FileChange

log = logging.getLogger(__name__)

LOOK_SECONDS = 3.0
"""The seconds that a turn waits for a snapshot of its folder."""

PROMPT_SECONDS = 0.025
"""The seconds between two checks of the folder's size while a prompt waits for a snapshot."""

MANY_FILES = 500
"""The number of files from which on the prompt does not wait for the snapshot. Fewer take no time."""

CLOSE_SECONDS = 1.0
"""The seconds for snapshots and removals when the hub ends; the next hub removes the rest."""

KEPT_SECONDS = 1800.0
"""The seconds without a question after which the snapshots of an ended turn are freed."""

MOST = 256
"""The most sessions whose last turn is known; above it, the oldest ended turns are forgotten."""

GROWTH = 64 * 1024 * 1024
"""The bytes by which shared contents may grow before a fresh snapshot without unneeded files is taken."""

PAUSES = 1000
"""The most folders with paused snapshots; above it, all are forgotten."""


class TurnChanges:
    """The turns' changes, lost with the hub without harm. Only tests set `keep_seconds`."""

    def __init__(
        self,
        *,
        is_enabled: bool,
        keep_seconds: float = KEPT_SECONDS,
        store: TreeStore | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.far_side: Callable[[str], FarSide | None] = lambda _: None
        """Who looks at the folders of a session that are on another machine; the hub sets it."""
        self._is_enabled = is_enabled
        self._keep_seconds = keep_seconds
        self._recorder = TurnRecorder(store)
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._turns: dict[str, FolderTurn] = {}  # by session, the last turn of each
        self._ended_turns: dict[str, None] = {}  # sessions whose last turn has ended, the oldest first
        self._looked_turns: dict[str, dict[FolderTurn, None]] = {}  # by folder of this machine
        self._overlap = TurnOverlap()
        self._pending_looks: dict[tuple[str, object], SharedLook] = {}
        self._folder_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._pauses: dict[str, LookPause] = {}
        self._looks: Counter[str] = Counter()  # by folder, those that somebody waits for
        self._owner: TaskOwner | None = None

    @property
    def store(self) -> TreeStore | None:
        """The store of turns; None if turns are not stored."""
        return self._recorder.store

    @property
    def is_lasting(self) -> bool:
        """Whether turns are stored."""
        return self._is_enabled and self.store is not None

    async def open(self) -> None:
        self._owner = TaskOwner("turn changes")
        await self._recorder.open()

    async def aclose(self) -> None:
        turns, self._turns = list(self._turns.values()), {}
        if self._owner is not None:
            await self._owner.finish(CLOSE_SECONDS)
            await self._owner.aclose()
        for turn in turns:
            await turn.aclose()
        await self._recorder.aclose()

    # Turns begin and end.

    async def begin(
        self, session_id: str, key: str, folders: Sequence[str], *, agent: str = "", params: bytes = b""
    ) -> str:
        """Take a snapshot of the session's first folder before the agent uses it; `params` is its prompt.
        Returns the note for the agent: files that were restored since its last turn.
        """
        if not self._is_enabled:
            return ""
        turn = FolderTurn(session_id, key, folders[0], far_side=self.far_side(session_id))
        folders = await real_folders(turn.place, folders)
        # Turns that have ended are looked at first: what this one writes is not theirs.
        finishing_tasks = self._overlap.finishing_near(turn.place, folders)
        if finishing_tasks:
            await asyncio.wait(finishing_tasks)
        last = self._turns.get(session_id)
        if last is not None:
            await self._wait_for_end(last)
        turn.stay = self._overlap.enter(turn.place, folders, turn.named)
        self._turns[session_id] = turn
        self._ended_turns.pop(session_id, None)
        turn.folders, turn.agent, turn.params = folders or [turn.cwd], agent, params
        base, look = self._base(turn.cwd), self._ask_for_look(turn)
        look.start.file_count = max(look.start.file_count, 0 if base is None else base.file_count)
        if await self._is_done(turn, look, PROMPT_SECONDS):
            await self._open(turn, last, look)
        else:
            assert self._owner is not None
            turn.opening = self._owner.start(self._open(turn, last, look))
            await _wait_before_prompt(turn.opening, look.start)
        await self._recorder.begin(turn)
        look.start.begin()
        self._make_room()
        return turn.reminder

    async def _open(self, turn: FolderTurn, last: FolderTurn | None, look: SharedLook) -> None:
        try:
            turn.before = await self._wait_for_look(turn, look)
        except LookFailed as error:
            turn.note = str(error)
        finally:
            if last is not None:
                await self._give_back(last)
        if self._turns.get(turn.session) is not turn:  # the session was closed meanwhile
            await turn.aclose()
        elif turn.before is not None:
            self._looked_turns.setdefault(turn.cwd, {})[turn] = None

    def end(self, session_id: str, key: str) -> None:
        """Note the end of the turn: take another snapshot, while others may still write."""
        turn = self._turns.get(session_id)
        if turn is not None and turn.key == key and turn.is_running and turn.finishing is None:
            assert self._owner is not None
            turn.finishing = self._owner.start(self._finish(turn))
            if turn.stay is not None:
                self._overlap.finish(turn.stay, turn.finishing)

    async def _finish(self, turn: FolderTurn) -> None:
        if turn.opening is not None and not turn.opening.done():
            await asyncio.wait([turn.opening], timeout=LOOK_SECONDS)
            if not turn.opening.done():  # whoever prompts next would wait for it
                turn.opening.cancel()
                await asyncio.wait([turn.opening])
                turn.note = str(self._too_slow(turn.folder))
        try:
            if turn.before is not None:
                turn.after = await self._wait_for_look(turn, self._ask_for_look(turn))
        except LookFailed as error:
            turn.note = str(error)
        finally:
            if turn.after is None:
                await self._recorder.end(turn)
            self._leave(turn)
            self._touch(turn)
        if self._turns.get(turn.session) is not turn:
            await turn.aclose()

    def _leave(self, turn: FolderTurn) -> None:
        turn.is_running = False
        if turn.stay is not None:
            self._overlap.leave(turn.stay)
        if self._turns.get(turn.session) is turn:
            self._ended_turns[turn.session] = None

    async def _wait_for_end(self, turn: FolderTurn) -> None:
        await turn.looks_done()
        self._leave(turn)

    async def erase(self, sessions: Sequence[str]) -> None:
        """Erase everything about these sessions."""
        for session_id in sessions:
            self.forget(session_id)
        await self._recorder.erase(sessions)

    def forget(self, session_id: str) -> None:
        """Forget a session that is closed, deleted, or another node's."""
        turn = self._turns.pop(session_id, None)
        self._ended_turns.pop(session_id, None)
        if turn is not None and self._owner is not None:
            self._leave(turn)
            self._owner.start(self._close(turn))

    def forget_ended(self, folders: Set[str]) -> None:
        """Forget the ended turns' changes in these folders, because files were restored."""
        for turn in [turn for turn in self._turns.values() if not turn.is_running]:
            if not folders.isdisjoint({turn.cwd, turn.folders[0]}):
                self.forget(turn.session)

    async def turn_done(self, session_id: str) -> None:
        """Wait until the last turn of a session is stored, if it has ended."""
        turn = self._turns.get(session_id)
        if turn is not None and turn.finishing is not None:
            await asyncio.wait([turn.finishing])

    async def looks_done(self, cwd: str, folders: Sequence[str]) -> None:
        """Wait until the snapshots after ended turns in these folders are complete."""
        tasks = self._overlap.finishing_near("", [cwd, *folders])
        if tasks:
            await asyncio.wait(tasks)

    def folder_lock(self, cwd: str) -> asyncio.Lock:
        """Return a lock for snapshots of a folder before and after turns."""
        return self._folder_locks.setdefault(cwd, asyncio.Lock())

    async def _close(self, turn: FolderTurn) -> None:
        await self._wait_for_end(turn)
        await self._give_back(turn)

    async def _give_back(self, turn: FolderTurn) -> None:
        looked_turns = self._looked_turns.get(turn.cwd, {})
        looked_turns.pop(turn, None)
        if not looked_turns:
            self._looked_turns.pop(turn.cwd, None)
        await turn.aclose()

    def _touch(self, turn: FolderTurn) -> None:
        """Somebody needs it: give it back later."""
        if turn.timer is not None:
            turn.timer.cancel()
        if not turn.is_running and self._turns.get(turn.session) is turn:
            turn.timer = asyncio.get_running_loop().call_later(self._keep_seconds, self._expire, turn)

    def _expire(self, turn: FolderTurn) -> None:
        if self._turns.get(turn.session) is turn:
            self.forget(turn.session)

    def _make_room(self) -> None:
        while len(self._turns) > MOST and self._ended_turns:
            self.forget(next(iter(self._ended_turns)))

    # Looks.

    def _ask_for_look(self, turn: FolderTurn) -> SharedLook:
        """A look that begins from now on: at the folder before a turn, or, if that is known, after it. Turns
        that ask for the same one before it begins share it.
        """
        folder = turn.folder
        pause = self._pauses.get(folder)
        if pause is not None and self._clock() < pause.until:
            remaining = pause.until - self._clock()
            why = f"changes in {folder} are not known: looks are paused for {remaining:.0f} s"
            return SharedLook((turn.cwd, None), why)
        before = turn.before
        key = (turn.cwd, before.origin if isinstance(before, Snapshot) else None)
        look = None if turn.far_side is not None else self._pending_looks.get(key)
        if look is None:
            look = SharedLook(key)
            look.task = asyncio.ensure_future(self._look(turn, look))
            if turn.far_side is None:
                self._pending_looks[key] = look
        look.turns[turn] = None
        if before is not None:
            look.bases.append(before)
        return look

    async def _look(self, turn: FolderTurn, look: SharedLook) -> FolderLook:
        if turn.far_side is not None:
            return await (look.bases[0].retake() if look.bases else turn.far_side.look())
        async with self._folder_locks.setdefault(turn.cwd, asyncio.Lock()):
            if self._pending_looks.get(look.key) is look:
                del self._pending_looks[look.key]
            if look.bases:  # after turns
                base: FolderLook | None = next((b for b in look.bases if not b.is_closed), look.bases[0])
                start = None
            else:
                base, start = self._base(turn.cwd), look.start
            take = partial(self._recorder.take, look)
            if isinstance(base, Snapshot):
                return await base.retake(start=start, take=take)
            return await take_snapshot([turn.cwd], start=start, store=self._recorder.store, take=take)

    async def _wait_for_look(self, turn: FolderTurn, look: SharedLook) -> FolderLook:
        """The result of a look at a turn's folder. Raises `LookFailed`."""
        if look.task is None:
            raise LookFailed(look.why)
        folder = turn.folder
        # Looks at one folder wait for each other: how long they take then says nothing of the folder.
        was_alone = folder not in self._looks
        self._looks[folder] += 1
        try:
            is_done = await self._is_done(turn, look, LOOK_SECONDS)
            if not is_done and (look.start.is_heeded or look.is_taken):
                is_done = await self._is_done(turn, look, None)  # beside the turn; it has a bound of its own
            was_alone = was_alone and self._looks[folder] == 1
        finally:
            self._looks[folder] -= 1
            if not self._looks[folder]:
                del self._looks[folder]
        if not is_done:
            self._abandon(turn, look)
            if not was_alone:
                raise LookFailed(f"changes in {folder} are not known: too many turns began or ended at once")
            raise self._too_slow(folder)
        look.turns.pop(turn, None)
        try:
            snapshot = look.task.result()
        except (DragomanError, OSError) as error:
            log.info("changes in %s are not known: %s", folder, error)
            raise LookFailed(f"changes in {folder} are not known: {error}") from None
        if self._pauses.pop(folder, None) is not None:
            log.info("changes in %s are known again", folder)
        return snapshot.share() if look.turns else snapshot

    async def _is_done(self, turn: FolderTurn, look: SharedLook, within: float | None) -> bool:
        """Whether a look is done, now or in so many seconds. A turn that is cancelled needs it no more."""
        if look.task is None or look.task.done():
            return True
        try:
            return bool((await asyncio.wait([look.task], timeout=within))[0])
        except asyncio.CancelledError:
            self._abandon(turn, look)
            raise

    def _abandon(self, turn: FolderTurn, look: SharedLook) -> None:
        """A turn does not wait for a look any more. Without anybody who does, nobody waits behind it either,
        and what comes of it is closed.
        """
        look.turns.pop(turn, None)
        if look.turns or look.task is None:
            return
        if self._pending_looks.get(look.key) is look:
            del self._pending_looks[look.key]
        self._folder_locks.pop(turn.cwd, None)
        assert self._owner is not None
        self._owner.start(close_result(look.task))

    def _base(self, folder: str) -> FolderLook | None:
        """The last look at a folder of this machine, whose contents the next one can share."""
        turn = next(reversed(self._looked_turns.get(folder, {})), None)
        look = None if turn is None else turn.after or turn.before
        return None if look is None or look.is_closed or look.growth > GROWTH else look

    def _too_slow(self, folder: str) -> LookFailed:
        if len(self._pauses) >= PAUSES:
            self._pauses.clear()
        pause = self._pauses.setdefault(folder, LookPause())
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
                    turn.named.see_tool_call(update)

    def on_write(self, session_id: str, params: Raw) -> None:
        """Note that a client or the hub has written a file for the session's agent."""
        turn = self._turns.get(session_id)
        if turn is not None and turn.is_running:
            path = value_of(object_of(params).get("path"))
            turn.named.name(path if isinstance(path, str) else "")

    # Questions.

    async def changes(self, session_id: str) -> dict[str, Any]:
        """Return the turn's changes, those by others or unknown programs, and notes on unknown files."""
        turn = self._turns.get(session_id)
        if turn is None:
            return {"files": [], "others": [], "notes": []}
        files, notes = await self._compare(turn)
        own, foreign = await attribute(turn, files)
        return {
            "files": [describe_change(change) for change in own],
            "others": [{**describe_change(change), "by": by} for change, by in foreign],
            "notes": notes,
        }

    async def tally(self, session_id: str) -> dict[str, int] | None:
        """Return how many files and lines the last turn changed; None if unknown."""
        turn = self._turns.get(session_id)
        if turn is None or turn.is_running:
            return None
        return count_lines(await self._own_changes(turn))

    async def revert(self, session_id: str, path: str, hunks: Sequence[int] | None) -> None:
        turn = self._turns.get(session_id)
        if turn is None or turn.before is None:
            raise invalid_params("nothing is known to have changed there")
        await self._wait_for_looks(turn)
        changes = await turn.before.compare(turn.after)
        own, foreign = await attribute(turn, changes.files)
        if path in {change.path for change, _ in foreign}:
            raise invalid_params("another session or an unknown program changed the file")
        if path not in {change.path for change in own}:
            raise invalid_params("nothing is known to have changed there")
        try:
            await (changes.revert(path) if hunks is None else changes.revert_hunks(path, hunks))
            if turn.after is not None:  # the turn has changed from here on what is left of it
                now = await turn.before.retake()
                turn.after.adopt(path, now)
                await now.aclose()
        except DragomanError as error:
            raise ErrorAnswer(INTERNAL_ERROR, f"Internal error: {error}") from None

    async def own_paths(self, session_id: str) -> list[str]:
        """Return the files that the last turn surely changed; none if unknown."""
        turn = self._turns.get(session_id)
        return [] if turn is None else [change.path for change in await self._own_changes(turn)]

    async def _own_changes(self, turn: FolderTurn) -> Sequence[FileChange]:
        files, _ = await self._compare(turn)
        return (await attribute(turn, files))[0]

    async def accept(self, session_id: str, paths: Sequence[str]) -> None:
        """Note that these files are committed, so that they are no longer changes of a turn."""
        turn = self._turns.get(session_id)
        if turn is None or turn.before is None:
            return
        await self._wait_for_looks(turn)
        try:
            later = turn.after or await turn.before.retake()
            for path in paths:
                turn.before.adopt(path, later)
            if later is not turn.after:
                await later.aclose()
        except (DragomanError, OSError) as error:  # the commit is made: they are shown once more, and no harm
            log.info("changes in %s are reported again although they are committed: %s", turn.cwd, error)

    async def _compare(self, turn: FolderTurn) -> tuple[Sequence[FileChange], list[str]]:
        await self._wait_for_looks(turn)
        if turn.before is None or (turn.after is None and not turn.is_running):
            return [], [turn.note] if turn.note else []
        try:
            changes = await turn.before.compare(turn.after)
        except (DragomanError, OSError) as error:  # the other side cannot be asked now
            return [], [f"changes in {turn.folder} are not known: {error}"]
        return changes.files, list(changes.notes)

    async def _wait_for_looks(self, turn: FolderTurn) -> None:
        """Until the looks before and after the turn are done; then it is needed for a while."""
        await turn.looks_done()
        self._touch(turn)


async def _wait_before_prompt(opening: asyncio.Future[None], start: TurnStart) -> None:
    """Wait until the look is done; with many files it continues beside the turn. Asks ever less often."""
    clock, pause = asyncio.get_running_loop().time, PROMPT_SECONDS
    end = clock() + LOOK_SECONDS
    await asyncio.wait([opening], timeout=pause)
    while not opening.done() and start.file_count < MANY_FILES:
        if clock() >= end and start.is_heeded:
            return
        pause = min(2 * pause, LOOK_SECONDS)
        await asyncio.wait([opening], timeout=pause)  # a look that does not begin fails by itself
