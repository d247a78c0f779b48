"""The diff of a tool call, from its two texts."""

from __future__ import annotations

import difflib
from typing import Any

from dragoman.cli.run.paint import Paint
from dragoman.text.sanitize import sanitize, sanitize_line

LINES = 200
"""Lines of a diff that are shown here; the change set at the end of the run has all of it."""

COMPARED = 3000
"""Lines of both texts together that are compared: it takes time that grows with their square."""


def show_diff(item: dict[str, Any], paint: Paint) -> str:
    """The diff as text, with its path above it."""
    path, old, new = item.get("path"), item.get("oldText"), item.get("newText")
    name = sanitize_line(path) if isinstance(path, str) else "a file"
    before, after = _lines(old), _lines(new)
    if len(before) + len(after) > COMPARED:
        return f"  {name}: {len(before)} lines become {len(after)}\n"
    from_name = name if isinstance(old, str) else "/dev/null"
    lines = list(difflib.unified_diff(before, after, from_name, name, lineterm=""))
    if len(lines) > LINES:
        lines = [*lines[:LINES], f"… {len(lines) - LINES} more lines"]
    return paint.diff("".join(f"{line}\n" for line in lines))


def _lines(text: Any) -> list[str]:
    """The last line is ended or not; a diff for people does not tell."""
    return sanitize(text.removesuffix("\n")).split("\n") if isinstance(text, str) and text else []
