"""What files would hold after a tool call, as far as the call says so.

Pure. An agent shows a change in one or more ways: as a diff, as the whole new text, as old and new strings,
as a unified diff. Each way is a source. A person who says yes agrees to one result: `result_of` gives the
text on which all sources agree, applied to the file as it is. Where they differ, or one cannot be applied,
there is no such text, and the write is asked again. `_meta` is never looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from dragoman.schema import v1

FILE_KEYS: Final = ("path", "file_path", "filePath", "filepath", "filename", "file", "target_file")
PLACE_KEYS: Final = (*FILE_KEYS, "abs_path", "absolute_path", "notebook_path")
WHOLE_KEYS: Final = ("content", "newText", "new_text", "file_text", "new_source")
OLD_KEYS: Final = ("old_string", "oldString", "old_str", "oldText", "old_text")
NEW_KEYS: Final = ("new_string", "newString", "new_str", "newText", "new_text")
PATCH_KEYS: Final = ("diff", "patch", "unified_diff")
EVERYWHERE_KEYS: Final = ("replace_all", "replaceAll")
CHANGE_KEYS: Final = (*WHOLE_KEYS, *OLD_KEYS, *NEW_KEYS, *PATCH_KEYS, *EVERYWHERE_KEYS, "edits")

_HUNK: Final = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


class FileChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change of one file, as one source shows it. Without a new text and a patch, nobody knows it."""

    path: str
    source: str = ""
    new: str | None = None
    old: str | None = None
    """The text that `new` replaces: a part of the file, or all of it. None: `new` is the whole file."""
    patch: str | None = None
    everywhere: bool = False
    """Whether every place with the old text is changed."""


def changes_in(call: v1.ToolCallUpdate) -> tuple[FileChange, ...]:
    """Every change that a call shows."""
    content: Sequence[Any] = call.content if isinstance(call.content, list) else ()
    shown = [
        FileChange(
            path=item.path,
            source="diff",
            new=item.new_text,
            old=item.old_text if isinstance(item.old_text, str) and item.old_text else None,
        )
        for item in content
        if isinstance(item, v1.Diff)
    ]
    return (*shown, *_in_input(call.raw_input))


def texts_of(changes: Sequence[FileChange], remarks: Iterable[str] = ()) -> tuple[v1.Diff, ...]:
    """Every text, with what was there before if that is told; a remark belongs to no file."""
    whole = [change for change in changes if change.source in ("diff", "write")]
    shown = [
        v1.Diff(path=change.path, new_text=change.new, old_text=UNSET if change.old is None else change.old)
        for change in whole or [replace(change, old=None) for change in changes]
        if change.new is not None
    ]
    return (*shown, *(v1.Diff(path="", new_text=text) for text in remarks))


def result_of(changes: Sequence[FileChange], before: str | None) -> str | None:
    """The text that a file holds after changes of it; None if they do not agree on one. `before` is the file
    as it is, None if there is none or nobody knows it.
    """
    results = set()
    for source in dict.fromkeys(change.source for change in changes):
        text = before
        for change in (change for change in changes if change.source == source):
            text = _apply(change, text)
            if text is None:
                return None
        results.add(text)
    return results.pop() if len(results) == 1 else None


def _apply(change: FileChange, text: str | None) -> str | None:
    if change.patch is not None:
        return apply_patch(change.patch, text or "")
    if change.old is None or change.old == text:
        return change.new
    if text is None:
        return change.new if change.source == "diff" else None
    found = text.count(change.old)
    if found == 0 or (found > 1 and not change.everywhere):
        return None
    return text.replace(change.old, change.new or "")


def apply_patch(patch: str, text: str) -> str | None:
    """A text after a unified diff of it; None if the diff does not fit."""
    lines = text.splitlines(keepends=True)
    result: list[str] = []
    at = 0
    hunks = list(_hunks(patch))
    for first, removed, added in hunks:
        start = first - 1 if removed else first
        if start < at or lines[start : start + len(removed)] != removed:
            return None
        result += [*lines[at:start], *added]
        at = start + len(removed)
    return "".join([*result, *lines[at:]]) if hunks else None


def _hunks(patch: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """The line at which each hunk begins, what it removes there, and what it puts in its place."""
    hunk: tuple[int, list[str], list[str]] | None = None
    last: tuple[list[str], ...] = ()
    for line in patch.splitlines(keepends=True):
        if match := _HUNK.match(line):
            if hunk is not None:
                yield hunk
            hunk, last = (int(match[1]), [], []), ()
        elif hunk is None:
            continue
        elif line.startswith("\\"):  # "\ No newline at end of file"
            for side in last:
                side[-1] = side[-1].removesuffix("\n")
        else:
            sides = {"-": (hunk[1],), "+": (hunk[2],)}.get(line[:1], (hunk[1], hunk[2]))
            body = line[1:] if line[:1] in "-+ " and line.strip("\n") else line
            for side in sides:
                side.append(body if body.endswith("\n") else f"{body}\n")
            last = sides
    if hunk is not None:
        yield hunk


def _in_input(raw: object) -> list[FileChange]:
    if not isinstance(raw, Mapping):
        return []
    path = _text(raw, PLACE_KEYS)
    if path is None:
        return []
    edits = raw.get("edits")
    parts = [raw, *(edits if isinstance(edits, list) else ())]
    return [change for part in parts if isinstance(part, Mapping) for change in _in_part(path, part)]


def _in_part(path: str, part: Mapping[Any, Any]) -> Iterator[FileChange]:
    old, new = _text(part, OLD_KEYS), _text(part, NEW_KEYS)
    if old is not None and new is not None:
        everywhere = any(part.get(key) is True for key in EVERYWHERE_KEYS)
        yield FileChange(path=path, source="strings", old=old or None, new=new, everywhere=everywhere)
    elif (whole := _text(part, (*WHOLE_KEYS, *NEW_KEYS))) is not None:
        yield FileChange(path=path, source="text", new=whole)
    if (patch := _text(part, PATCH_KEYS)) is not None:
        yield FileChange(path=path, source="patch", patch=patch)


def _text(fields: Mapping[Any, Any], keys: Sequence[str]) -> str | None:
    return next((fields[key] for key in keys if isinstance(fields.get(key), str)), None)


def remarks_in(call: v1.ToolCallUpdate) -> list[str]:
    """What an agent says beside a call, as plain text."""
    return [
        item.content.text
        for item in (call.content if isinstance(call.content, list) else ())
        if isinstance(item, v1.Content) and isinstance(item.content, v1.TextContent)
    ]
