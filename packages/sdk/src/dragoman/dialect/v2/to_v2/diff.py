"""Translates a file change: v1 has the text before and after, v2 has the operation on each path and a patch.

The patch is computed here, in Git's format with v2's rules for paths: absolute, without `a/` and `b/`,
`/dev/null` for a side that is not there, unusual names quoted as Git quotes them. A deletion cannot be told
from v1: a file that became empty is a modified file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import TypeAlias

from dragoman.dialect.message import Object
from dragoman.dialect.v2.to_v2.ledger_notes import AS_PATCH, WRONG
from dragoman.dialect.v2.to_v2.writer import V2Writer, is_object, is_text

CONTEXT = 3
TOO_MUCH = 4_000_000
"""Comparing takes time by the product of both lengths; beyond this many pairs of lines, the changed part is
shown as taken out and put in whole.
"""

_CHECKS = {**dict.fromkeys(("type", "path", "oldText", "newText"), is_text), "_meta": is_object}


def diff(value: Object, writer: V2Writer) -> Object | None:
    fields = writer.clean(value, _CHECKS)
    if "path" not in fields or "newText" not in fields:
        writer.note(WRONG)
        return None
    writer.note(AS_PATCH)
    path, old, new = writer.absolute(fields["path"]), fields.get("oldText"), fields["newText"]
    operation = "add" if old is None else "modify"
    v2_diff: Object = {
        "type": "diff",
        "changes": [{"operation": operation, "path": path, "fileType": "text"}],
    }
    text = git_patch(path, old, new)
    if text:
        v2_diff["patch"] = {"format": "git_patch", "text": text}
    if "_meta" in fields:
        v2_diff["_meta"] = fields["_meta"]
    return v2_diff


def git_patch(path: str, old: str | None, new: str) -> str:
    """From `old`, or from no file, to `new`; empty if nothing changed."""
    if old == new:
        return ""
    name = quote(path)
    head = f"diff --git {name} {name}\n"
    if old is None:
        head += "new file mode 100644\n"
        if not new:
            return head
    tail = "\t" if " " in path and name == path else ""  # so that a name with a space has an end
    before = "/dev/null\n" if old is None else f"{name}{tail}\n"
    body = "".join(_hunks(_lines(old or ""), _lines(new)))
    return f"{head}--- {before}+++ {name}{tail}\n{body}"


def quote(path: str) -> str:
    """A name as Git prints it: in quotes, if it holds anything except printable ASCII."""
    if all(" " <= char <= "~" and char not in '"\\' for char in path):
        return path
    escapes = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
    out = []
    for byte in path.encode("utf-8", "replace"):
        if byte in escapes:
            out.append("\\" + escapes[byte])
        else:
            out.append(chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


def _lines(text: str) -> list[str]:
    """Each with its line feed, and no other kind of line end: that is what a line is to Git."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    start, old, new = _changed_part(old, new)
    for group in _groups(old, new):
        first, last = group[0], group[-1]
        before = _range(start + first[1], last[2] - first[1])
        after = _range(start + first[3], last[4] - first[3])
        yield f"@@ -{before} +{after} @@\n"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (_patch_line(" ", line) for line in old[i1:i2])
            else:
                yield from (_patch_line("-", line) for line in old[i1:i2])
                yield from (_patch_line("+", line) for line in new[j1:j2])


def _changed_part(old: list[str], new: list[str]) -> tuple[int, list[str], list[str]]:
    """Both without what they begin and end with in common, but for the context; and where that begins."""
    shorter = min(len(old), len(new))
    head = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    tail = next((n for n in range(shorter - head) if old[-1 - n] != new[-1 - n]), shorter - head)
    start, cut = max(head - CONTEXT, 0), max(tail - CONTEXT, 0)
    return start, old[start : len(old) - cut], new[start : len(new) - cut]


Change: TypeAlias = tuple[str, int, int, int, int]


def _groups(old: list[str], new: list[str]) -> Iterable[list[Change]]:
    if len(old) * len(new) <= TOO_MUCH:
        return SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT)
    return [[("replace", 0, len(old), 0, len(new))]]


def _range(start: int, length: int) -> str:
    """Lines count from 1; of an empty range, the line before it is named."""
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _patch_line(mark: str, line: str) -> str:
    return mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
