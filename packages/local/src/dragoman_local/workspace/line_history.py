"""Finds who wrote each line of a file, by following its lines through all snapshots of its folder.

What is new between two looks is of the turn that ran from the one to the other, or of a person if none did.
What was not seen is unknown: all that the first look found, what changed while a look was cut short, as a
turn began, after the death of its process, or while turns ran side by side of which none named the file. A
line that was only moved, formatted or put back is its author's (`line_match`). A line is a turn's only if no
equally good match of the texts makes it a person's.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from heapq import heappop, heappush
from itertools import count, groupby, pairwise
from math import inf
from typing import NamedTuple

from dragoman.errors import LocalMistake
from dragoman_local.workspace.change_set import is_temporary
from dragoman_local.workspace.folder_line import folder_line
from dragoman_local.workspace.line_match import (
    ISLAND,
    RemovedLines,
    Run,
    is_island,
    joined_runs,
    letters,
    make_run,
    same_lines,
    sure_pairs,
    unclear_lines,
)
from dragoman_local.workspace.merge import CommonRun
from dragoman_local.workspace.snapshot_entries import content_digest
from dragoman_local.workspace.text import lines_of
from dragoman_local.workspace.tree_store import Change, Look, TreeStore, Turn

MOST_EARLIER = 20_000
"""The most removed lines that may come back; above it, the search starts again."""


class Origin(NamedTuple):
    """The origin of a line."""

    turn: Turn | None
    """The turn that wrote the line; None if it was not a turn, or is unknown."""
    is_known: bool = True
    """False if its origin was not recorded."""
    path: str = ""
    """The file in which it was written."""
    changed_at: int | None = None
    """The last change of that file before the snapshot that found it, in nanoseconds since 1970."""
    text: str = ""
    """The text as the turn wrote it, before any formatter."""


PERSON = Origin(None)
UNKNOWN = Origin(None, is_known=False)

ChooseTurn = Callable[[Sequence[Turn], Change, str], Turn | None]
"""Chooses which of several simultaneous turns wrote a line of a file; None if unknown."""

MOST_VERSIONS = 30
"""The earlier texts of a file that may come back with changes, for example from another branch."""

LEAST_MOVED = 2
"""The least letters of a line that may have moved from elsewhere; shorter lines are everywhere."""

RETURNED_PART = 0.9
"""The part of an earlier text that must be back for the text to count as restored."""


class _File(NamedTuple):
    """A text at one look."""

    lines: list[str]
    origins: list[Origin]
    is_sure: bool = True
    """False if it changed since, at a moment that nobody knows."""


class _Edit(NamedTuple):
    """A file that one look found changed."""

    change: Change
    old: _File
    new: list[str]
    origins: list[Origin | None]
    """Of the new lines, as far as they are found."""
    added_runs: list[Run]
    owners: Sequence[Turn] | Origin
    """The turns that were at work, or who else was."""
    kept: Sequence[CommonRun]
    """What is there as it was."""
    lost: Sequence[tuple[str, Origin]]
    """Lines that are not there any more."""
    fresh: set[int]
    """The numbers of new lines that are neither of an earlier text, nor laid out anew."""


class LineHistory:
    """All snapshots of one folder."""

    def __init__(
        self,
        store: TreeStore,
        root: str,
        *,
        choose: ChooseTurn = lambda turns, change, line: None,
        since: int = 0,
        most_bytes: float = inf,
    ) -> None:
        """With `since`, only what changed after that look is asked for."""
        self._bytes_left = most_bytes
        self._store, self._choose, self._since = store, choose, since
        self.line = line = folder_line(store, root, since=since)
        self._looks, self._places = line.looks, {look.id: place for place, look in enumerate(line.looks)}
        self._others = [
            turn
            for other in store.roots()
            if other != root and (other.startswith(f"{root}/") or root.startswith(f"{other}/"))
            for turn in store.turns(other)
        ]
        self._between = _turns_by_look(line.looks, line.turns)

    def origins(self, path: str) -> list[tuple[str, Origin]] | None:
        """Return the lines of a file at the last snapshot with their origins; None if no text is stored."""
        file = self._follow({path})[0].get(path)
        return None if file is None else list(zip(file.lines, file.origins, strict=True))

    def origins_in(self, texts: Mapping[str, bytes]) -> dict[str, list[Origin]]:
        """Return the origins of the lines of these texts, which files of these paths have, or had at some
        time. An unknown text uses the known one with which it shares most lines; other lines are unknown.
        """
        _, earlier = self._follow(set(texts))
        found: dict[str, list[Origin]] = {}
        for path, data in texts.items():
            versions = earlier.get(path, {})
            lines = _plain_lines(data)
            known = versions.get(content_digest(data))
            origins: list[Origin] = [UNKNOWN] * len(lines)
            best = 0
            for version in [known] if known else list(versions.values())[: -MOST_VERSIONS - 1 : -1]:
                runs = same_lines(version.lines, lines)
                length = sum(run.length for run in runs)
                if length > best:
                    best, origins = length, [UNKNOWN] * len(lines)
                    for run in runs:
                        own = version.origins[run.left : run.left + run.length]
                        origins[run.right : run.right + run.length] = own
            found[path] = origins
        return found

    def has_found(self, path: str, digest: str) -> bool:
        """Whether a snapshot found this content at this path."""
        return digest in _digests(self.line.changes_of(path).values())

    def _follow(self, wanted: set[str]) -> tuple[dict[str, _File | None], dict[str, dict[str, _File]]]:
        """The files at the last look, and all texts by path and digest: what comes back is as it was."""
        found_changes = self._closure(wanted)
        files: dict[str, _File | None] = {}
        earlier: dict[str, dict[str, _File]] = {}
        removed: RemovedLines[Origin] = RemovedLines()
        removed_count = 0
        for number, changes in sorted(found_changes.items()):
            place = self._places[number]
            look, last = self._looks[place], self._looks[place - 1] if place else None
            gone = {
                path: file for path in changes if changes[path].entry is None and (file := files.get(path))
            }
            found = [
                self._edit(change, files, gone, earlier.get(path, {}), last, look, removed)
                for path, change in sorted(changes.items())
            ]
            edits = [edit for edit in found if edit is not None]
            for edit in edits:
                self._find_moved(edit, removed)
            _keep_moved(edits)
            for edit in edits:
                file = self._finish(edit)
                files[edit.change.path] = file
                if edit.change.entry is not None:
                    versions = earlier.setdefault(edit.change.path, {})
                    versions.pop(edit.change.entry.digest, None)
                    versions[edit.change.entry.digest] = file
                removed_count += len(edit.old.lines)
            removed.age()
            if removed_count > MOST_EARLIER:
                removed, removed_count = RemovedLines(), 0
        return files, earlier

    def side_by_side(self) -> list[Turn]:
        """Turns that ran at the same time as another one: their known work decides."""
        found = {turn.id: turn for turns in self._between.values() if len(turns) > 1 for turn in turns}
        return list(found.values())

    def changes_since(self) -> Iterator[tuple[Sequence[Turn], Change]]:
        """Return the changes after `since` with the turns that ran meanwhile; without a turn if somebody else
        made the change, or nobody knows who. Files that a rewind restored are left out.
        """
        first = max(bisect_right(self._looks, (self._since, inf)) - 1, 0)
        for last, look in pairwise(self._looks[first:]):
            turns = self._between.get(look.id, ())
            is_rewind = any(turn.kind != "turn" for turn in turns)
            if is_rewind and not any(turn.is_torn and turn.last == look.id for turn in turns):
                continue
            for change in self.line.changes_at(look.id).values():
                owners = self._owners(change, last, look)
                # One that was killed may have restored a file, and somebody may have worked after it.
                if not is_rewind or not self._may_be_restored(change, look):
                    yield (() if isinstance(owners, Origin) or not change.is_sure else owners), change

    def _may_be_restored(self, change: Change, look: Look) -> bool:
        if change.entry is None or is_temporary(change.path):
            return True
        return change.entry.digest in _digests(
            earlier for number, earlier in self.line.changes_of(change.path).items() if number < look.id
        )

    def _closure(self, wanted: set[str]) -> dict[int, dict[str, Change]]:
        """The changes of these files, and of those from which lines may have come to them, by look."""
        found: dict[int, dict[str, Change]] = {}
        needed: set[str] = set()
        looks: list[int] = []  # that changed one of them, negative: the last one comes first

        def follow(paths: Set[str], before: float) -> None:
            for path in paths - needed:
                needed.add(path)
                for look, change in self.line.changes_of(path).items():
                    if look < before and look not in found:
                        heappush(looks, -look)
                    found.setdefault(look, {})[path] = change

        follow(wanted, inf)
        first = self._looks[0].id if self._looks else 0
        while looks and len(needed) < MOST_FILES:
            look = -heappop(looks)
            if look > first:  # before the first look there was nothing to move
                follow(self.line.changes_at(look).keys(), look)
        if len(needed) < MOST_FILES:
            return found
        found.clear()
        needed.clear()
        follow(wanted, 0)
        return found

    def _edit(
        self,
        change: Change,
        files: dict[str, _File | None],
        gone: Mapping[str, _File],
        earlier: Mapping[str, _File],
        last: Look | None,
        look: Look,
        removed: RemovedLines[Origin],
    ) -> _Edit | None:
        """Keep the authors of unchanged lines in a changed file. Removed ones may have moved to others."""
        path, entry = change.path, change.entry
        old = files.get(path)
        is_sure = change.is_sure and (path not in files or (old is not None and old.is_sure))
        before = old or _File([], [])
        if entry is None and not change.is_sure and old is not None:
            files[path] = old._replace(is_sure=False)  # it is there, and will be seen at the next look
            return None
        owners = self._owners(change, last, look) if is_sure else UNKNOWN
        known = None if entry is None else earlier.get(entry.digest)
        is_turn = not isinstance(owners, Origin)
        new = [] if entry is None else self._lines(change)
        if new is None:
            files[path] = None
            return None
        if old is None and new:
            before = _renamed(gone.values(), new) or before
        runs = same_lines(before.lines, new)
        origins: list[Origin | None] = [None] * len(new)
        for run in runs:
            origins[run.right : run.right + run.length] = before.origins[run.left : run.left + run.length]
        versions = [known] if known else list(earlier.values())[: -MOST_VERSIONS - 1 : -1]
        _take_returned(versions, before, new, origins, is_turn=is_turn)
        added_runs: list[Run] = []
        lost: list[tuple[str, Origin]] = []
        at_left = at_right = 0
        for gap, run in enumerate((*runs, CommonRun(len(before.lines), len(new), 0))):
            if run.left > at_left:
                texts, own = before.lines[at_left : run.left], before.origins[at_left : run.left]
                removed.add(make_run(path, gap, at_left, texts), own)
                lost += zip(texts, own, strict=True)
            if run.right > at_right:
                added_runs.append(make_run(path, gap, at_right, new[at_right : run.right]))
                if is_turn and run.left > at_left:
                    _keep_indented(before, at_left, run.left, new, at_right, run.right, origins)
            at_left, at_right = run.left + run.length, run.right + run.length
        if known is not None and not is_turn:  # each line is known; what is gone may be elsewhere now
            return _Edit(change, _File([], []), new, list(known.origins), [], owners, (), lost, set())
        fresh = {number for number, origin in enumerate(origins) if origin is None}
        return _Edit(change, before, new, origins, added_runs, owners, runs, lost, fresh)

    def _lines(self, change: Change) -> list[str] | None:
        """None if the content is not text, or is not kept."""
        assert change.entry is not None
        if not change.entry.is_kept or change.entry.kind == "link":
            return None
        try:
            self._bytes_left -= change.entry.size
            if self._bytes_left < 0:
                raise LocalMistake("this file changed too often to read all of its history here")
            data = self._store.content(change.entry.digest)
        except FileNotFoundError:
            return None
        if b"\0" in data:
            return None
        return _plain_lines(data)

    def _find_moved(self, edit: _Edit, removed: RemovedLines[Origin]) -> None:
        is_turn = not isinstance(edit.owners, Origin)
        for run in edit.added_runs:
            for line, sources, is_earlier, is_here in removed.find(run):
                origin = _weakest(sources)
                place = run.first + line
                if is_here:
                    edit.fresh.discard(place)
                # What a turn writes once more, long after it was removed, is its own.
                if edit.origins[place] is None and not (is_turn and is_earlier and origin.turn):
                    edit.origins[place] = origin

    def _finish(self, edit: _Edit) -> _File:
        """Give the remaining lines to the author at work."""
        origins = [
            self._new_origin(edit, line) if origin is None else origin
            for origin, line in zip(edit.origins, edit.new, strict=True)
        ]
        texts = edit.old.lines, edit.new
        sure = dict(sure_pairs(edit.kept, *texts))
        if isinstance(edit.owners, Origin):  # else a person's stays one
            fresh = {
                run.gap
                for run in edit.added_runs
                if edit.fresh.intersection(range(run.first, run.first + len(run.starts) - 1))
            }
            ends = CommonRun(0, 0, 0), *edit.kept, CommonRun(len(edit.old.lines), len(edit.new), 0)
            for gap, (above, run, below) in enumerate(zip(ends, edit.kept, ends[2:], strict=False)):
                if fresh & {gap, gap + 1} and is_island(above, run, below, edit.new, sure):
                    own = slice(run.right, run.right + run.length)
                    origins[own] = [_weakest([PERSON, origin]) for origin in origins[own]]
        for lefts, rights in unclear_lines(edit.kept, *texts, sure.items()):
            possible = [edit.old.origins[left] for left in lefts] + [origins[right] for right in rights]
            if isinstance(edit.owners, Origin) and len(rights) >= len(lefts):
                possible.append(edit.owners)  # one of them may be new
            weak = _weakest(possible)
            if weak.turn is None:
                for right in rights:
                    origins[right] = weak
        return _File(edit.new, origins)

    def _new_origin(self, edit: _Edit, line: str) -> Origin:
        """Of a line that was written between two looks."""
        if isinstance(edit.owners, Origin):
            return edit.owners
        change, turns = edit.change, edit.owners
        turn = turns[0] if len(turns) == 1 else self._choose(turns, change, line)
        return UNKNOWN if turn is None else Origin(turn, True, change.path, change.changed_at, line)

    def _owners(self, change: Change, last: Look | None, look: Look) -> Sequence[Turn] | Origin:
        """The possible authors of a change between two looks."""
        if last is None:
            return UNKNOWN
        turns = self._between.get(look.id, ())
        if not turns:
            return UNKNOWN if any(self._is_beside(turn, last, look) for turn in self._others) else PERSON
        is_clear = all(
            turn.kind == "turn" and turn.first is not None and not (turn.is_torn and turn.last == look.id)
            for turn in turns
        )
        return turns if is_clear else UNKNOWN

    def _is_beside(self, turn: Turn, last: Look, look: Look) -> bool:
        """Whether a turn in a folder around this one, or within it, may have run between two looks."""
        return turn.time <= look.time and (turn.last is None or self._store.time_of(turn.last) >= last.time)


MOST_FILES = 3000
"""The most files to follow together; of more, each is followed alone, and moves between them are lost."""


def _plain_lines(data: bytes) -> list[str]:
    """The lines without their ends and a leading mark, which do not count as changes."""
    text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    return [line.removesuffix("\n").removesuffix("\r") for line in lines_of(text)]


def _turns_by_look(looks: Sequence[Look], turns: Iterable[Turn]) -> dict[int, list[Turn]]:
    """Turns that ran, or may have run, between each look and the one before it."""
    found: dict[int, list[Turn]] = {}
    for turn in turns:
        end = len(looks) if turn.last is None else bisect_right(looks, (turn.last, inf))
        if turn.first is not None:
            begin = bisect_left(looks, (turn.first,)) + 1
        elif turn.last is not None:
            begin = bisect_left(looks, (turn.last,))
        else:  # nobody knows when it began
            begin = bisect_left(looks, turn.time, key=lambda look: look.time)
        for look in looks[max(begin, 1) : end]:
            found.setdefault(look.id, []).append(turn)
    return found


def _digests(changes: Iterable[Change]) -> set[str]:
    return {change.entry.digest for change in changes if change.entry is not None}


def _take_returned(
    versions: Iterable[_File], old: _File, new: list[str], origins: list[Origin | None], *, is_turn: bool
) -> None:
    """If nearly all is there again that was gone of an earlier text, its lines are its authors'; but a turn's
    own are those that it writes once more.
    """
    missing = Counter(line for line, origin in zip(new, origins, strict=True) if origin is None and line)
    before = Counter(old.lines) if missing else missing
    for version in versions if missing else ():
        if missing.keys().isdisjoint(version.lines):
            continue
        if is_turn:
            _keep_merged(version, new, origins)
        gone = Counter(filter(None, version.lines)) - before
        back = gone & missing
        if not back.total() >= RETURNED_PART * gone.total() > 0:
            continue
        is_distinct = (
            letters("".join(back)) >= ISLAND
            if is_turn
            else any(version.lines.count(line) == 1 == new.count(line) for line in back)
        )
        if not is_distinct and version.lines != new:
            continue
        for run in same_lines(version.lines, new):
            for left, right in zip(count(run.left), range(run.right, run.right + run.length)):
                if origins[right] is None and not (is_turn and version.origins[left].turn):
                    origins[right] = version.origins[left]


def _keep_merged(version: _File, new: list[str], origins: list[Origin | None]) -> None:
    """Keep the authors of lines of another branch that a turn's command brought to their place between the
    same lines. What a turn wrote there is the turn's that wrote it once more.
    """
    ends = CommonRun(-1, -1, 1), CommonRun(len(version.lines), len(new), 1)
    for run in joined_runs([ends[0], *same_lines(version.lines, new), ends[1]]):
        places = range(max(run.right, 0), min(run.right + run.length, len(new)))
        for is_missing, group in groupby(places, key=lambda place: origins[place] is None):
            block = list(group)
            is_between = run.right < block[0] and block[-1] < run.right + run.length - 1
            if is_missing and is_between:
                for place in block:
                    origin = version.origins[run.left + place - run.right]
                    if origin.turn is None:
                        origins[place] = origin


def _renamed(gone: Iterable[_File], new: Sequence[str]) -> _File | None:
    """Of files that are gone, the one that a new file was: of their lines, half are the same at least."""
    known = Counter(line.strip() for line in new)

    def common(file: _File) -> int:
        return (known & Counter(line.strip() for line in file.lines)).total()

    best = max(gone, key=common, default=None)
    return best if best is not None and 2 * common(best) >= min(len(new), len(best.lines)) else None


def _keep_indented(
    old: _File,
    left: int,
    left_end: int,
    new: Sequence[str],
    right: int,
    end: int,
    origins: list[Origin | None],
) -> None:
    """Keep the author of a line that a turn only indented, however short it is."""
    texts = [line.split() for line in old.lines[left:left_end]], [line.split() for line in new[right:end]]
    for run in same_lines(*([" ".join(words) for words in text] for text in texts)):
        for step in range(run.length):
            if origins[right + run.right + step] is None and texts[1][run.right + step]:
                origins[right + run.right + step] = old.origins[left + run.left + step]


def _keep_moved(edits: Sequence[_Edit]) -> None:
    """A short line that is gone in one place and new in another, once each, was moved. Where that was done
    in a turn and the line was not a turn's, it still is not.
    """
    removed: dict[str, list[Origin]] = {}
    added: dict[str, list[tuple[_Edit, int]]] = {}
    for edit in edits:
        for line, origin in edit.lost:
            removed.setdefault(line.strip(), []).append(origin)
        if not isinstance(edit.owners, Origin):
            for number, line in enumerate(edit.new):
                if edit.origins[number] is None and letters(line) >= LEAST_MOVED:
                    added.setdefault(line.strip(), []).append((edit, number))
    for text, places in added.items():
        sources = removed.get(text, ())
        if len(sources) == len(places) == 1 and sources[0].turn is None:
            edit, number = places[0]
            edit.origins[number] = sources[0]


def _weakest(origins: Sequence[Origin]) -> Origin:
    """Of several, a person's before what is unknown, and that before a turn's; of turns, the one of most."""
    for weak in (PERSON, UNKNOWN):
        if weak in origins:
            return weak
    turns = [origin.turn for origin in origins]
    return max(origins, key=lambda origin: turns.count(origin.turn))
