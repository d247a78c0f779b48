"""The steps of a turn: the file changes of each tool call, and the files before it.

The store of trees has a folder before and after a turn. Between them, the journal has what the agent told:
diffs of its tool calls, and writes through us. These are done again on the contents from before the turn. A
file counts only if it then is as the turn left it: what a command changed, or nobody told, is in no step.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, field

from dragoman.decoders import decode_json
from dragoman_local.workspace.snapshot_entries import SnapshotEntry
from dragoman_local.workspace.tree_store import TreeStore, Turn
from dragoman_local.workspace.turn_facts import OpenJournal

SLACK = 1.0
"""The seconds after the snapshot at the end of a turn in which its last frames may come."""


class TurnStep(Struct, frozen=True, kw_only=True):
    """The file changes of one tool call."""

    number: int
    title: str
    paths: list[str]


class _Told(NamedTuple):
    """A change of one file, as the agent told it."""

    step: str
    path: str
    old: str | None
    """What was replaced; None if the text is all of the file."""
    new: str


class _Call(Struct):
    title: str = ""
    diffs: list[_Told] = []
    paths: set[str] = field(default_factory=set)
    """The files that it names."""
    written: set[str] = field(default_factory=set)
    """Those that it wrote through us: their diffs tell the same again."""

    def changes(self) -> list[_Told]:
        return [diff for diff in self.diffs if diff.path not in self.written]


class StepLog:
    """Changes in the order of their reports. Feed it the frames of a turn."""

    def __init__(self) -> None:
        self.titles: dict[str, str] = {}
        self._told: list[_Told] = []
        self._open: dict[str, _Call] = {}  # tool calls that nobody said are over
        self._writes: dict[str, tuple[str, str]] = {}  # by request: path and content

    @property
    def told(self) -> list[_Told]:
        """The reported changes. A call without a reported end ends with the turn."""
        return self._told + [diff for call in self._open.values() for diff in call.changes()]

    def feed(self, frame: Mapping[str, Any]) -> None:
        match frame:
            case {"method": "session/update", "params": {"update": {"toolCallId": str(call)} as update}}:
                self._see_call(call, update)
            case {"method": "fs/write_text_file", "params": {"path": str(path), "content": str(content)}}:
                self._writes[str(frame.get("id"))] = (path, content)
            case {"id": request, "error": _}:
                self._writes.pop(str(request), None)
            case {"id": request, "result": _} if write := self._writes.pop(str(request), None):
                self._see_write(*write, request=str(request))

    def _see_call(self, name: str, update: Mapping[str, Any]) -> None:
        call = self._open.setdefault(name, _Call())
        call.title = str(update.get("title") or call.title or name)
        self.titles[name] = call.title
        if isinstance(content := update.get("content"), list):
            call.diffs = list(_diffs(name, content))
        places = update.get("locations")
        named = {str(place.get("path")) for place in places or () if isinstance(place, dict)}
        call.paths |= named | {diff.path for diff in call.diffs}
        if update.get("status") in ("completed", "failed"):
            self._told += self._open.pop(name).changes() if update["status"] == "completed" else ()

    def _see_write(self, path: str, content: str, *, request: str) -> None:
        step = next((name for name, call in self._open.items() if path in call.paths), f"write {request}")
        if step in self._open:
            self._open[step].written.add(path)
        self.titles.setdefault(step, f"Write {os.path.basename(path)}")
        self._told.append(_Told(step, path, None, content))


def _diffs(call: str, content: list[Any]) -> Iterator[_Told]:
    for part in content:
        match part:
            case {"type": "diff", "path": str(path), "newText": str(new)}:
                old = part.get("oldText")
                yield _Told(call, path, old if isinstance(old, str) and old else None, new)


class StepFiles:
    """The steps of a turn in one folder, and its files between them."""

    def __init__(self, store: TreeStore, root: str, first: int, last: int, log: StepLog) -> None:
        self._store = store
        self.root, self.last = root, last
        self._before, self._after = store.tree(root, first), store.tree(root, last)
        self._contents: dict[str, list[bytes | None]] = {}
        """By path, the content from before the turn, and then that after each change."""
        changes = [(place, self._inside(told)) for place, told in enumerate(log.told)]
        changes = [(place, change) for place, change in changes if change.path]
        for _, change in changes:
            contents = self._contents.setdefault(
                change.path, [_content(store, self._before.get(change.path))]
            )
            contents.append(_changed(contents[-1], change))
        self.unexplained = sorted(path for path in self._contents if not self._is_explained(path))
        """Files that the reported changes do not lead to: a secret in a report is masked in the journal, or
        something else changed the file, too.
        """
        self._changes = [(place, change) for place, change in changes if change.path not in self.unexplained]

    def _inside(self, told: _Told) -> _Told:
        """The same with the path in the folder; empty if it is elsewhere."""
        whole = os.path.normpath(os.path.join(self.root, told.path))
        whole = os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
        return told._replace(path=whole[len(self.root) + 1 :] if whole.startswith(f"{self.root}/") else "")

    def _is_explained(self, path: str) -> bool:
        """Whether what was told makes of the file before the turn the file after it."""
        entries = [entry for tree in (self._before, self._after) if (entry := tree.get(path)) is not None]
        are_files = all(entry.is_kept and entry.kind != "link" for entry in entries)
        is_known = are_files and not self._store.missing(entry.digest for entry in entries)
        return is_known and self._contents[path][-1] == _content(self._store, self._after.get(path))

    def paths(self, step: str) -> list[str]:
        return sorted({change.path for _, change in self._changes if change.step == step})

    def contents_at(self, place: int) -> dict[str, bytes | None]:
        """Return the contents of the changed files before this many changes; None for a missing file."""
        done = [change.path for at, change in self._changes if at < place]
        return {
            change.path: self._contents[change.path][done.count(change.path)] for _, change in self._changes
        }


def _content(store: TreeStore, entry: SnapshotEntry | None) -> bytes | None:
    if entry is None or not entry.is_kept or store.missing([entry.digest]):
        return None
    return store.content(entry.digest)


def _changed(content: bytes | None, told: _Told) -> bytes:
    """The content after a change, which may be of the whole file or of a part of it."""
    if content is None or told.old is None:
        return told.new.encode(errors="replace")
    old, new = told.old.encode(errors="replace"), told.new.encode(errors="replace")
    return content.replace(old, new, 1) if old in content else content


class TurnSteps:
    """All steps of a turn, counted from 1, and the files of its folders between them."""

    def __init__(self, store: TreeStore, turn: Turn, log: StepLog) -> None:
        self._folders = [
            StepFiles(store, root, first, last, log)
            for root, first, last in store.folders_of(turn.id)
            if first is not None and last is not None
        ]
        self.unexplained = [
            os.path.join(each.root, path) for each in self._folders for path in each.unexplained
        ]
        self.places = [(folder.root, folder.last) for folder in self._folders]
        """The folders, each with the look after the turn."""
        self._places: dict[str, int] = {}
        for place, told in enumerate(log.told):
            if any(folder.paths(told.step) for folder in self._folders):
                self._places.setdefault(told.step, place)
        self.steps = [
            TurnStep(
                number=number,
                title=log.titles[name],
                paths=[os.path.join(each.root, path) for each in self._folders for path in each.paths(name)],
            )
            for number, name in enumerate(self._places, 1)
        ]

    def contents_before(self, number: int) -> dict[str, dict[str, bytes | None]]:
        """Return, by folder, the changed files with their contents before this step."""
        place = list(self._places.values())[number - 1]
        return {folder.root: folder.contents_at(place) for folder in self._folders}


async def read_steps(turn: Turn, end: float, open_journal: OpenJournal) -> StepLog:
    """Read a turn from the journal, up to the snapshot after it. A journal without the
    turn gives no steps.
    """
    log = StepLog()
    async with open_journal(turn.journal) as journal:
        if await journal.info(turn.stream) is not None:
            async for page in journal.replay(turn.stream):
                for entry in page:
                    if entry.direction != "note" and turn.time <= entry.time <= end + SLACK:
                        try:
                            log.feed(decode_json(entry.frame, dict[str, Any]))
                        except msgspec.MsgspecError:  # what is not a frame tells nothing
                            continue
    return log
