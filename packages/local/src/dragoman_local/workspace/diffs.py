"""Makes unified diffs from bytes, for people and `patch`.

Bounded: texts that differ in very many lines are shown as replaced. A name that could be mistaken for
something else is quoted, so that no file name can make up lines of a diff. Bytes that are not UTF-8 are shown
as escapes: such a diff is for reading, not for applying.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from dragoman_local.workspace.merge import CommonRun, common_runs
from dragoman_local.workspace.text import lines_of

CONTEXT = 3

MOST_EDITS = 500
"""The most different lines before a text is shown as replaced; the work grows with the square."""

_LOOKED_AT = 8192
"""Bytes in which NUL makes a file binary, as many as git looks at."""


class Diff(NamedTuple):
    """The changes of one file."""

    text: str | None
    """None if the file is not text."""
    added_lines: int = 0
    removed_lines: int = 0
    is_binary: bool = False


class _LineEdit(NamedTuple):
    """Lines of the old text, and the lines in their place in the new one."""

    old: int
    old_end: int
    new: int
    new_end: int


def unified_diff(name: str, before: bytes | None, after: bytes | None) -> Diff:
    """Return the diff between two contents; None means that the file does not exist."""
    if _is_binary(before) or _is_binary(after):
        return Diff(None, is_binary=True)
    old, new = _lines(before), _lines(after)
    edits = list(_edits(old, new))
    heads = [
        f"--- {'/dev/null' if before is None else quote_name('a/' + name)}\n",
        f"+++ {'/dev/null' if after is None else quote_name('b/' + name)}\n",
    ]
    body = [line for group in _groups(edits) for line in _hunk(group, old, new)]
    return Diff(
        "".join(heads + body) if body else "",
        added_lines=sum(edit.new_end - edit.new for edit in edits),
        removed_lines=sum(edit.old_end - edit.old for edit in edits),
    )


def without_hunks(before: bytes, after: bytes, hunks: Collection[int]) -> bytes:
    """Return the later content with these hunks reverted, by their positions in the diff."""
    old = lines_of(before.decode("utf-8", "surrogateescape"))  # what is written back must be exact
    new = lines_of(after.decode("utf-8", "surrogateescape"))
    result_lines: list[str] = []
    place = 0
    for number, group in enumerate(_groups(list(_edits(old, new)))):
        for edit in group:
            result_lines += new[place : edit.new]
            result_lines += old[edit.old : edit.old_end] if number in hunks else new[edit.new : edit.new_end]
            place = edit.new_end
    return "".join(result_lines + new[place:]).encode("utf-8", "surrogateescape")


def quote_name(name: str) -> str:
    """Return a name as git writes it: in quotes if a part could be misread."""
    if name.isprintable() and not set(name) & {'"', "\\"}:
        return name
    inner = "".join(
        f"\\{character}"
        if character in '"\\'
        else character
        if character.isprintable()
        else "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
        for character in name
    )
    return f'"{inner}"'


def _is_binary(data: bytes | None) -> bool:
    return data is not None and b"\0" in data[:_LOOKED_AT]


def _lines(data: bytes | None) -> list[str]:
    return lines_of((data or b"").decode("utf-8", "backslashreplace"))


def _edits(old: Sequence[str], new: Sequence[str]) -> Iterator[_LineEdit]:
    at = _LineEdit(0, 0, 0, 0)
    # Of two texts, one empty, there is nothing to search for; and a long search brings no shorter diff.
    runs = common_runs(old, new, most=MOST_EDITS) if old and new else []
    for run in (*(_ends(old, new) if runs is None else runs), CommonRun(len(old), len(new), 0)):
        if run.left > at.old_end or run.right > at.new_end:
            yield _LineEdit(at.old_end, run.left, at.new_end, run.right)
        at = _LineEdit(run.left, run.left + run.length, run.right, run.right + run.length)


def _ends(old: Sequence[str], new: Sequence[str]) -> list[CommonRun]:
    """The lines that two texts begin and end with."""
    most = min(len(old), len(new))
    first = next((at for at in range(most) if old[at] != new[at]), most)
    last = next((at for at in range(most - first) if old[-1 - at] != new[-1 - at]), most - first)
    return [CommonRun(0, 0, first), CommonRun(len(old) - last, len(new) - last, last)]


def _groups(edits: Sequence[_LineEdit]) -> Iterator[list[_LineEdit]]:
    """Edits whose surroundings touch."""
    group: list[_LineEdit] = []
    for edit in edits:
        if group and edit.old - group[-1].old_end > 2 * CONTEXT:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _hunk(edits: Sequence[_LineEdit], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    first, last = edits[0], edits[-1]
    before = min(CONTEXT, first.old)
    after = min(CONTEXT, len(old) - last.old_end)
    old_span = _span(first.old - before, last.old_end + after)
    new_span = _span(first.new - before, last.new_end + after)
    yield f"@@ -{old_span} +{new_span} @@\n"
    at = first.old - before
    for edit in edits:
        yield from _mark_lines(" ", old[at : edit.old])
        yield from _mark_lines("-", old[edit.old : edit.old_end])
        yield from _mark_lines("+", new[edit.new : edit.new_end])
        at = edit.old_end
    yield from _mark_lines(" ", old[at : last.old_end + after])


def _span(begin: int, end: int) -> str:
    # An empty span is named by the line before it.
    length = end - begin
    start = begin + 1 if length else begin
    return str(start) if length == 1 else f"{start},{length}"


def _mark_lines(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
