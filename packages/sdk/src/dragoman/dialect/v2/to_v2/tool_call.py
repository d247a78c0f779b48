"""Translates tool calls: v1 creates and updates them, v2 has one upsert for both. Null means "unchanged"
in v1 and "clear" in v2, so null is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import TypeAlias

from dragoman.dialect.message import Json, Object, as_list, as_object
from dragoman.dialect.v2.to_v2 import originals
from dragoman.dialect.v2.to_v2.content import block
from dragoman.dialect.v2.to_v2.ledger_notes import AS_PATCH, OUT_OF_BOUNDS, TERMINAL, WRONG
from dragoman.dialect.v2.to_v2.writer import V2Writer, anything, is_list, is_object, is_text

_CALL = {
    **dict.fromkeys(("toolCallId", "title", "name", "kind", "status"), is_text),
    **dict.fromkeys(("content", "locations"), is_list),
    **dict.fromkeys(("rawInput", "rawOutput"), anything),
    "_meta": is_object,
}
_CONTENT = {"type": is_text, "content": is_object, "_meta": is_object}
_TERMINAL = {"type": is_text, "terminalId": is_text, "_meta": is_object}
_LOCATION = {"path": is_text, "line": anything, "_meta": is_object}


def tool_call(fields: Object, writer: V2Writer) -> Object | None:
    """Return the call of an update or a permission request."""
    if originals.is_kept(fields):
        fields = originals.call(fields)
    call = writer.clean({name: value for name, value in fields.items() if name != "sessionUpdate"}, _CALL)
    if "toolCallId" not in call:
        writer.note(WRONG)
        return None
    if "content" in call:
        items = (content(item, writer) for item in call["content"])
        call["content"] = [item for item in items if item is not None]
    if "locations" in call:
        places = (_location(item, writer) for item in call["locations"])
        call["locations"] = [place for place in places if place is not None]
    return call


def content(value: Json, writer: V2Writer) -> Object | None:
    """Translate one item of a call's content."""
    item = as_object(value)
    if originals.is_kept(item):
        item = originals.item(item)
        if item.get("type") == "diff" and "changes" in item:
            return item
    kind = item.get("type")
    if kind == "diff":
        return diff(item, writer)
    if kind == "content":
        item = writer.clean(item, _CONTENT)
        inner = block(item.get("content"), writer)
        return None if inner is None else {**item, "content": inner}
    if kind == "terminal":
        item = writer.clean(item, _TERMINAL)
        if "terminalId" in item:
            return item
    elif type(kind) is str:
        return item  # v2 leaves the list of types open
    writer.note(WRONG)
    return None


def terminals(fields: Object, writer: V2Writer) -> list[Object]:
    """Return updates about the terminals in a call, to send before the call.

    No v2 client runs a v1 terminal, so these are the agent's own.
    """
    updates: list[Object] = []
    for item in as_list(fields.get("content")):
        entry = as_object(item)
        if entry.get("type") == "terminal" and type(entry.get("terminalId")) is str:
            writer.note(TERMINAL)
            updates.append({"sessionUpdate": "terminal_update", "terminalId": entry["terminalId"]})
    return updates


def _location(value: Json, writer: V2Writer) -> Object | None:
    place = writer.clean(as_object(value), _LOCATION)
    if "path" not in place:
        writer.note(WRONG)
        return None
    line = place.get("line")
    if line is not None and not (type(line) is int and 1 <= line < 2**32):
        writer.note(OUT_OF_BOUNDS)
        del place["line"]
    return {**place, "path": writer.absolute(place["path"])}


# Translates a file change: v1 has the text before and after, v2 has the operation on each path and a patch.
#
# The patch is computed here, in Git's format with v2's rules for paths: absolute, without `a/` and `b/`,
# `/dev/null` for a side that is not there, unusual names quoted as Git quotes them. A deletion cannot be
# told from v1: a file that became empty is a modified file.

CONTEXT = 3
TOO_MUCH = 4_000_000
"""The most pairs of lines to compare. Beyond this limit, the changed part is shown as removed and added in
whole.
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
    """Return the patch from `old`, or from no file, to `new`; empty if nothing changed."""
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
    """Return a name in Git's notation: in quotes unless it is all printable ASCII."""
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
