"""What files would hold after a tool call, as far as the call says so.

Pure. Agents show a change as a diff, or only in the input of their tool: a path, and beside it the new text.
Text that is shown without a path belongs to no file. `_meta` is never looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dragoman.schema import v1

_PATH_KEYS: Final = ("path", "file_path", "filePath", "filepath", "abs_path", "notebook_path", "target_file")
_TEXT_KEYS: Final = ("content", "new_string", "new_str", "newText", "new_text", "file_text", "new_source")


def texts_in(call: v1.ToolCallUpdate) -> tuple[v1.Diff, ...]:
    """Every text, with what was there before if that is told."""
    content: Sequence[Any] = call.content if isinstance(call.content, list) else ()
    diffs = [item for item in content if isinstance(item, v1.Diff)]
    if not diffs:
        diffs += _in_input(call.raw_input)
    return (*diffs, *(v1.Diff(path="", new_text=text) for text in _texts(content)))


def _in_input(raw: object) -> list[v1.Diff]:
    if not isinstance(raw, Mapping):
        return []
    path = next((raw[key] for key in _PATH_KEYS if isinstance(raw.get(key), str)), None)
    if path is None:
        return []
    edits = raw.get("edits")
    parts = [raw, *(edits if isinstance(edits, list) else ())]
    return [
        v1.Diff(path=path, new_text=part[key])
        for part in parts
        if isinstance(part, Mapping)
        for key in _TEXT_KEYS
        if isinstance(part.get(key), str)
    ]


def _texts(content: Sequence[object]) -> list[str]:
    return [
        item.content.text
        for item in content
        if isinstance(item, v1.Content) and isinstance(item.content, v1.TextContent)
    ]
