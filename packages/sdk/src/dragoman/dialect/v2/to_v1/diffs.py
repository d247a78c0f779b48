"""Diffs of v2 in v1.

v1 wants a file's text before and after. v2 says which files changed and may add a patch, which tells both
texts only of a file that is new. Of all others v1 gets the patch to read, as text.
"""

from __future__ import annotations

import re
from itertools import pairwise

from dragoman.dialect.message import Object, as_list, as_object, as_text
from dragoman.dialect.shown_terminal import as_code_block
from dragoman.dialect.v2.to_v1.fields import LossReporter, with_originals

_FILE = re.compile(r"(?m)^diff --git ")
_HUNK = re.compile(r"@@ -0,0 \+1(?:,\d+)? @@")
_NO_NEWLINE = "\\ No newline at end of file"


def diff(fields: Object, report: LossReporter) -> list[Object]:
    """Return the v1 tool call content with the same changes."""
    changes = [change for change in as_list(fields.get("changes")) if as_object(change)]
    patch = as_object(fields.get("patch"))
    parts = _parts(as_text(patch.get("text"))) if patch.get("format") == "git_patch" else []
    new = [_new_file(change, parts) for change in changes]
    if changes and len(new) == len(parts) and all(new_file is not None for new_file in new):
        whole = [new_file for new_file in new if new_file is not None]
        return [_with_meta(whole[0], fields), *whole[1:]]
    report.note_loss(
        "a diff without both texts of its files", "shown as text: the patch, or what happened to the files"
    )
    text = {"type": "content", "content": {"type": "text", "text": _description(changes, patch)}}
    return [with_originals(_with_meta(text, fields), fields)]


def paths(fields: Object) -> list[str]:
    """Return the files in a diff."""
    names = [as_text(as_object(change).get("path")) for change in as_list(fields.get("changes"))]
    return [path for path in dict.fromkeys(names) if path]


def _with_meta(item: Object, fields: Object) -> Object:
    meta = as_object(fields.get("_meta"))
    return {**item, "_meta": meta} if meta else item


def _parts(patch: str) -> list[str]:
    starts = [match.start() for match in _FILE.finditer(patch)]
    return [patch[start:end] for start, end in pairwise([*starts, len(patch)])]


def _new_file(change: Object, parts: list[str]) -> Object | None:
    path = as_text(change.get("path"))
    if change.get("operation") != "add" or not path or change.get("fileType", "text") not in ("text", None):
        return None
    # One file needs no finding; of several, one whose name is written in Git's quotes is not found.
    about = parts if len(parts) == 1 else [part for part in parts if _names(part, path)]
    text = _added_text(about[0]) if len(about) == 1 else None
    return None if text is None else {"type": "diff", "path": path, "oldText": None, "newText": text}


def _names(part: str, path: str) -> bool:
    return f"\n+++ {path}\n" in part or f"\n+++ {path}\t\n" in part


def _added_text(part: str) -> str | None:
    """The text of a file that a patch makes; None if the patch is not that plain."""
    head, separator, body = part.partition("\n@@ ")
    lines = ("@@ " + body).split("\n")
    if not separator or "\n--- /dev/null" not in head or not _HUNK.match(lines[0]):
        return None
    last_newline = True
    added_lines: list[str] = []
    for line in lines[1:]:
        if line.startswith("+"):
            added_lines.append(line[1:])
        elif line == _NO_NEWLINE:
            last_newline = False
        elif line:
            return None
    return "\n".join(added_lines) + ("\n" if last_newline and added_lines else "")


def _description(changes: list[Object], patch: Object) -> str:
    text = as_text(patch.get("text"))
    if text:
        return as_code_block(text, "diff")
    return "\n".join(_in_words(change) for change in changes) or "Changes that nothing is said about."


def _in_words(change: Object) -> str:
    operation = as_text(change.get("operation")) or "change"
    path, old = as_text(change.get("path")), as_text(change.get("oldPath"))
    return f"{operation} {old} → {path}" if old else f"{operation} {path}"
