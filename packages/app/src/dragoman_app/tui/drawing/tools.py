"""A tool call as lines: its title and state, its changes, its output, its terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Final

import msgspec
from textual.content import Content

from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.drawing.pictures import draw_picture
from dragoman_app.tui.model.entries import CommandOutput, ToolEntry
from dragoman_app.tui.model.faces import name_of, without_fence
from dragoman_app.tui.text.lines import (
    CountedChange,
    block,
    count_changes,
    diff_lines,
    hanging,
    line,
    output_lines,
    plain,
    wrap_content,
)

# Marks and words for states: they must be told apart without colours too.

GUTTER: Final = 2
"""The cells before every entry: a mark and a space."""

STATUS: Final = {
    "pending": ("○", "dim"),
    "in_progress": ("◐", "$text-warning"),
    "completed": ("✓", "$text-success"),
    "failed": ("✗", "$text-error"),
}
UNKNOWN: Final = ("·", "dim")

STEPS: Final = {"completed": ("☑", "dim"), "in_progress": ("◐", "bold"), "pending": ("☐", "")}

LEVELS: Final = {"info": ("·", "dim"), "warning": ("!", "$text-warning"), "error": ("✗", "$text-error bold")}

KINDS: Final = {
    "read": "read",
    "edit": "edit",
    "delete": "delete",
    "move": "move",
    "search": "search",
    "execute": "run",
    "think": "think",
    "fetch": "fetch",
    "switch_mode": "mode",
}

EXCERPT: Final = 8
"""The lines of an output or a change before the user unfolds it."""

OPEN_LINES: Final = 400
"""The lines of an unfolded one; its own screen shows all."""

_BAR: Final = plain(" " * GUTTER + "│ ", "dim")

Terminals = Callable[[str], CommandOutput | None]

LONGEST = 1_000_000
"""The most characters of one text to show, even in full."""


def draw_tool(
    entry: ToolEntry,
    width: int,
    terminals: Terminals,
    *,
    cwd: str = "",
    whole: bool = False,
    coloured: bool = True,
) -> list[Content]:
    """Draw a tool call. `whole` leaves nothing out. Without colours, pictures are named."""
    lines = hanging(_title(entry, cwd), width, plain(*STATUS.get(entry.state.status, UNKNOWN)) + " ")
    most = None if whole else OPEN_LINES if entry.is_open else EXCERPT
    if entry.is_open is False and not whole:
        return lines
    room = width - GUTTER - 2
    for item in entry.state.content:
        if isinstance(item, v1.Content) and isinstance(item.content, v1.ImageContent):
            picture = item.content
            picture_rows = draw_picture(picture.mime_type, picture.data, room, coloured=coloured)
            lines += [_BAR + row for row in picture_rows]
        else:
            lines += _draw_content(item, room, terminals, most, cwd)
    if whole:
        lines += _raw(entry, room)
    return lines


def summary(entry: ToolEntry, cwd: str = "") -> str:
    """Return the title on one line."""
    return _title(entry, cwd).plain


def _title(entry: ToolEntry, cwd: str) -> Content:
    state = entry.state
    title = sanitize_line(state.title or state.name or state.id)
    pieces = [(_near(title, cwd), "bold" if entry.is_running else "")]
    kind = KINDS.get(state.kind, "")
    if kind and not title.lower().startswith(kind):
        pieces.append((f"  {kind}", "dim"))
    added_lines, removed_lines = _counts(entry)
    if added_lines or removed_lines:
        pieces += [(f"  +{added_lines}", "$text-success"), (f" -{removed_lines}", "$text-error")]
    place = next((place for place in state.locations if place.path not in state.title), None)
    if place is not None and os.path.basename(place.path) not in state.title:
        where = _near(sanitize_line(place.path), cwd)
        pieces.append((f"  {where}:{place.line}" if place.line else f"  {where}", "dim"))
    return line(pieces)


def _near(text: str, cwd: str) -> str:
    """Paths below the session's folder without it: it is always the same."""
    return text.replace(f"{cwd}/", "") if cwd and cwd != "/" else text


def _counts(entry: ToolEntry) -> tuple[int, int]:
    added_lines = removed_lines = 0
    for item in entry.state.content:
        if isinstance(item, v1.Diff):
            change = _count_change(item)
            added_lines, removed_lines = (
                added_lines + change.added_lines,
                removed_lines + change.removed_lines,
            )
    return added_lines, removed_lines


def _count_change(item: v1.Diff) -> CountedChange:
    return count_changes(item.old_text if isinstance(item.old_text, str) else None, item.new_text)


def _draw_content(
    item: v1.ToolCallContent, room: int, terminals: Terminals, most: int | None, cwd: str
) -> list[Content]:
    match item:
        case v1.Diff():
            name = plain(_near(sanitize_line(item.path), cwd), "dim")
            lines = [
                *wrap_content(name, room),
                *_short(list(diff_lines(_count_change(item).lines, room)), most),
            ]
        case v1.Content(content=v1.TextContent(text=text)) if text.strip():
            lines = _text(without_fence(text), room, most)
        case v1.Terminal(terminal_id=ident):
            lines = _terminal(terminals(ident), room, most)
        case v1.Content(content=block_) if not isinstance(block_, v1.TextContent):
            lines = wrap_content(plain(sanitize_line(f"[{name_of(block_)}]"), "dim"), room)
        case Unknown(tag=tag):
            lines = wrap_content(plain(sanitize_line(f'[unknown content "{tag}"]'), "dim"), room)
        case _:
            return []
    return [_BAR + line for line in lines]


def _text(text: str, room: int, most: int | None) -> list[Content]:
    """The beginning of an output, or all of it; no more of it is looked at than is shown."""
    lines = output_lines(text[:LONGEST].strip("\n"))
    drawn_lines: list[Content] = []
    for line_number, content in enumerate(lines, 1):
        drawn_lines += wrap_content(content.stylize_before("dim"), room)
        if most is not None and len(drawn_lines) > most:
            hidden_count = len(drawn_lines) - most + text.strip("\n").count("\n") + 1 - line_number
            return (
                [*drawn_lines[:most], plain(f"… {hidden_count} more lines", "dim")]
                if hidden_count > 1
                else drawn_lines
            )
    return drawn_lines


def _terminal(output: CommandOutput | None, room: int, most: int | None) -> list[Content]:
    """The end of an output, or all of it."""
    if output is None:
        return [plain("(no output to show)", "dim")]
    text = output.text.strip("\n")
    raw = text.split("\n") if most is None else text.rsplit("\n", most)[-most:]
    lines = [
        part
        for line in output_lines("\n".join(raw))
        for part in wrap_content(line.stylize_before("dim"), room)
    ]
    shown_lines = lines if most is None else lines[-most:]
    hidden_count = text.count("\n") + 1 - len(raw) + len(lines) - len(shown_lines)
    before = [plain(f"… {hidden_count} lines above", "dim")] if hidden_count else []
    after = [plain(f"ended: {output.exit_text}", "dim")] if output.exit_text is not None else []
    return [*before, *shown_lines, *after] if text else after


def _short(lines: list[Content], most: int | None) -> list[Content]:
    if most is None or len(lines) <= most + 1:
        return lines
    return [*lines[:most], plain(f"… {len(lines) - most} more lines", "dim")]


def _raw(entry: ToolEntry, room: int) -> Iterator[Content]:
    """What the tool was given and gave back, where somebody wants to know all of it."""
    for name, value in (("Input", entry.state.raw_input), ("Output", entry.state.raw_output)):
        if value is None:
            continue
        yield plain(f"  {name}", "bold")
        text = value if isinstance(value, str) else _json(value)
        yield from block(text[:LONGEST], room, indent="  ")


def _json(value: object) -> str:
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError):
        return repr(value)
