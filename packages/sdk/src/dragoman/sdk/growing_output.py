"""Recognises tool output that is sent again and again, each time complete and a little longer.

Agents report a running command by resending all of its output with every line. Kept as they came, 35,000
lines would be 35,000 texts, half of them longer than 17,500 lines. An update that repeats and extends another
one replaces it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from dragoman.schema import v1


def text_of(content: Sequence[v1.ToolCallContent]) -> str:
    """Return the text of a tool call's content, one block per line."""
    return "\n".join(
        [
            part.content.text
            for part in content
            if isinstance(part, v1.Content) and isinstance(part.content, v1.TextContent)
        ]
    )


_FIELDS = ("title", "kind", "status", "name", "locations", "raw_input", "raw_output")


def supersedes(newer: v1.SessionUpdate, older: v1.SessionUpdate) -> bool:
    """Whether the newer update of the same tool call contains everything in the older one, which can then
    be dropped.
    """
    if not (isinstance(newer, v1.ToolCallProgress) and isinstance(older, v1.ToolCallProgress)):
        return False
    # The content first: where something else is reported, it nearly always shows there.
    if older.content and not _extends(newer.content or (), older.content):
        return False
    if newer.tool_call_id != older.tool_call_id or newer.meta != older.meta:
        return False
    for name in _FIELDS:
        value = getattr(older, name)
        if value is not UNSET and value is not None and value != getattr(newer, name):
            return False
    return True


def _extends(newer: Sequence[v1.ToolCallContent], older: Sequence[v1.ToolCallContent]) -> bool:
    """The same blocks and more, the last of the old ones perhaps longer."""
    if len(newer) < len(older):
        return False
    last, now = older[-1], newer[len(older) - 1]
    if type(last) is not type(now) or list(newer[: len(older) - 1]) != list(older[:-1]):
        return False
    if last == now:
        return True
    texts = [
        part.content.text
        for part in (last, now)
        if isinstance(part, v1.Content) and isinstance(part.content, v1.TextContent)
    ]
    return len(texts) == 2 and texts[1].startswith(texts[0])
