"""Shows the changes of a run on disk at its end, and reverts them on request."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman.text.sanitize import sanitize, sanitize_line
from dragoman_app.apps.console import write_stderr
from dragoman_app.apps.run import events
from dragoman_app.apps.run.disk_changes import ChangesReport, DecidedEffects, mode_that_asks
from dragoman_app.apps.run.narrate import now
from dragoman_app.apps.run.plan import ChangeHandling, RunPlan
from dragoman_app.apps.run.reporter import RunReporter
from dragoman_local.journal.history import history_path
from dragoman_local.workspace.change_set import in_revert_order
from dragoman_local.workspace.file_records import FileRecord, RecordsIncomplete, take_records, touched_paths
from dragoman_local.workspace.policy.policy_paths import policy_paths
from dragoman_local.workspace.remote_changes import CallMethod, DiskChanges, DiskSnapshot, look_there
from dragoman_local.workspace.snapshot_entries import SnapshotSettings, TurnStart
from dragoman_local.workspace.snapshots import FileChange, RevertRefused, Snapshot, take_snapshot
from dragoman_local.workspace.tree_store import TreeStore

SETTINGS = SnapshotSettings(seconds=8.0)
"""Limits for a look at a folder: above them the look is skipped, with a note."""


BESIDE_AFTER = 1.0
"""The seconds that a prompt waits for the look at a folder without git. A longer look continues during the
turn, if no decision depends on it.
"""


class WholeSnapshot:
    """A `DiskSnapshot` without gaps: for files that the snapshot does not keep, it uses
    the system's records.
    """

    def __init__(self, snapshot: Snapshot, records: dict[str, FileRecord]) -> None:
        self._snapshot = snapshot
        self._records = records

    @classmethod
    async def take(cls, roots: Sequence[str], store: TreeStore | None) -> WholeSnapshot:
        snapshot = await take_snapshot(roots, settings=SETTINGS, store=store)
        try:
            return cls(snapshot, await asyncio.to_thread(_take_records, snapshot))
        except BaseException:
            await snapshot.aclose()
            raise

    async def begin_turn(self, turn: int) -> None:
        await self._snapshot.begin_turn(turn)

    async def compare(self) -> DiskChanges:
        changes = await self._snapshot.compare()
        now = await asyncio.to_thread(_take_records, self._snapshot)
        told = {change.path for change in changes.files}
        touched = [path for path in touched_paths(self._records, now) if path not in told]
        return WholeChanges(changes, [path for path in touched if not is_our_file(path)])

    async def aclose(self) -> None:
        await self._snapshot.aclose()


class WholeChanges:
    """`DiskChanges`, with touched files that a snapshot does not cover."""

    def __init__(self, changes: DiskChanges, touched: list[str]) -> None:
        self.files, self.notes, self.touched = changes.files, changes.notes, touched
        self.revert = changes.revert


def _take_records(snapshot: Snapshot) -> dict[str, FileRecord]:
    roots = [os.path.realpath(root) for root in snapshot.roots]
    try:
        return take_records(roots, is_kept=snapshot.keeps)
    except RecordsIncomplete as error:
        raise LocalMistake(str(error)) from None


async def look_before(
    roots: Sequence[str],
    reporter: RunReporter,
    start: TurnStart | None = None,
    *,
    is_strict: bool = False,
    store: TreeStore | None = None,
) -> DiskSnapshot | None:
    """Take a snapshot of the folders; None if that is impossible, or they are not on this machine. With
    `start`, the turn may begin before it is complete.
    """
    if not roots:
        return None
    try:
        if is_strict:
            return await WholeSnapshot.take(roots, store)
        return await take_snapshot(roots, settings=SETTINGS, start=start, store=store)
    except (LocalMistake, OSError) as error:
        reporter.note(f"can't tell what will change on disk: {error}", level="warning")
        return None


def turn_start(plan: RunPlan) -> TurnStart | None:
    """Return the start time of the turn for a look; None if the turn must wait for the look. A file that
    changes before it is read is then only named: that is not enough to revert it, or for `--strict`. Of
    several folders, the last may not have been read by then.
    """
    is_for_information = plan.changes == "keep" and not plan.is_strict
    return TurnStart() if is_for_information and len(plan.roots) == 1 else None


async def wait_for_look(looking: asyncio.Task[DiskSnapshot | None], start: TurnStart | None) -> None:
    """Wait until the turn may begin."""
    if start is not None:
        await asyncio.wait((looking,), timeout=BESIDE_AFTER)
    if start is None or not start.is_heeded:
        await asyncio.wait((looking,))
    if start is not None:
        start.begin()


async def look_before_there(call: CallMethod, session_id: str, reporter: RunReporter) -> DiskSnapshot | None:
    """Take a snapshot of a session's folders on another machine; None if that is impossible."""
    try:
        return await look_there(call, session_id)
    except LocalMistake as error:
        reporter.note(f"can't tell what will change on the other machine's disk: {error}", level="warning")
        return None


async def tell_changes(
    snapshot: DiskSnapshot,
    reporter: RunReporter,
    plan: RunPlan,
    *,
    effects: DecidedEffects,
    modes: v1.SessionModeState | None = None,
) -> ChangesReport:
    """Compare, revert unwanted changes, and report."""
    what = plan.changes
    try:
        changes = await snapshot.compare()
    except (LocalMistake, OSError) as error:
        reporter.note(f"can't tell what changed on disk: {error}", level="warning")
        return ChangesReport(unasked=None)
    files = [change for change in changes.files if not is_our_file(change.path)]
    if what == "ask" and files and not plan.is_attended:
        reporter.note("this is not a terminal, so the changes are kept without asking", level="warning")
        what = "keep"
    unwanted_changes = in_revert_order(await _ask_unwanted(files, what))
    reverted_paths = [change.path for change in unwanted_changes if await _revert(changes, change, reporter)]
    entries = [
        events.ChangedFileEntry(
            path=change.path,
            kind=change.kind,
            lines_added=change.lines_added,
            lines_removed=change.lines_removed,
            binary=change.binary,
            diff=change.diff,
            reverted=change.path in reverted_paths,
            decision=effects.decision_about(change.path),
        )
        for change in files
    ]
    unasked = [entry.path for entry in entries if entry.decision in ("none", "denied")]
    touched = changes.touched if isinstance(changes, WholeChanges) else []
    unasked += [path for path in touched if effects.decision_about(path) in ("none", "denied")]
    reporter.emit(
        events.ChangesEvent(
            time=now(),
            files=entries,
            notes=list(changes.notes),
            unasked=unasked,
            asking_mode=mode_that_asks(modes) if unasked else None,
        )
    )
    is_blind = plan.is_strict and not isinstance(changes, WholeChanges) and bool(changes.notes)
    return ChangesReport(
        unasked=None if is_blind and not unasked else unasked,
        stuck=len(unwanted_changes) - len(reverted_paths),
    )


async def _ask_unwanted(files: Sequence[FileChange], what: ChangeHandling) -> Sequence[FileChange]:
    if what != "ask":
        return files if what == "revert" else ()
    from dragoman_local.workspace.policy.terminal import TerminalLines  # it loads the whole policy

    lines, unwanted_changes = TerminalLines(0), []
    for change in files:
        write_stderr(f"\n{sanitize(change.diff or '')}{change.kind} {sanitize_line(change.path)}\n")
        while True:
            write_stderr("Keep it, or put it back? k or r: ")
            answer = await lines.read()
            if answer is None or answer.strip().casefold() in ("k", "keep"):
                break  # whoever is gone has put nothing back
            if answer.strip().casefold() in ("r", "revert"):
                unwanted_changes.append(change)
                break
    return unwanted_changes


async def _revert(changes: DiskChanges, change: FileChange, reporter: RunReporter) -> bool:
    try:
        await changes.revert(change.path)
    except (RevertRefused, OSError) as error:
        reporter.note(f"{change.path} was not put back: {error}", level="warning")
        return False
    return True


def is_our_file(path: str) -> bool:
    """Whether the file is our own history or log, which change with every turn and may be in the folder."""
    ours = (policy_paths().config, policy_paths().state, str(history_path().parent))
    return any(path.startswith(os.path.realpath(folder) + os.sep) for folder in ours)
