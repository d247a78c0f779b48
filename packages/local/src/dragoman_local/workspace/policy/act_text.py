"""A question as text for a person: whole, never cut, and sanitized.

Pure. Commands and changes are shown to their last character. What cannot be seen, or what would move a
cursor or turn writing around, is shown as an escape, so that what a person reads is what an agent asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dragoman.schema import v1
from dragoman.text.diff import changed_lines
from dragoman.text.sanitize import sanitize, sanitize_line
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.act_view import ActView, ShownChange, view_of

MOST_WORK: Final = 4_000_000
"""Lines times lines that are compared; above that old and new are shown one after the other."""

_OUTSIDE: Final = "  (outside the folders of the session)"


def render_act(act: Act, call: v1.ToolCallUpdate | None = None) -> str:
    """All that is known about an act. `call` adds what a tool call shows."""
    return render_view(view_of(act, call))


def render_view(view: ActView) -> str:
    return "\n".join(_lines(view))


def _lines(view: ActView) -> Iterator[str]:
    who = f"{view.requester}: " if view.requester else ""
    tool = f" ({view.tool})" if view.tool else ""
    yield _exact(f"{who}{view.agent or 'The agent'} wants to {view.deed}{tool}:")
    if view.title:
        yield f"  “{_exact(view.title)}”"
    if view.command is not None:
        yield from ("Command:", *_indent_lines(view.command)) if view.command else ("Command: not told",)
        yield f"In: {_exact(view.folder)}{_OUTSIDE if view.is_folder_outside else ''}"
    if view.variables:
        yield from ("With variables:", *(f"  {_exact(variable)}" for variable in view.variables))
    for place in view.places:
        yield f"Path: {_exact(place.path)}{_OUTSIDE if place.is_outside else ''}"
    for change in view.changes:
        yield from _change(change)
    for remark in view.remarks:
        yield from ("Said:", *_indent_lines(remark))
    for item in view.input:
        yield from _named(_exact(item.name) or "Input", item.text)
    for text in view.unknown_texts:
        yield from _named("It also says", text)
    for doubt in view.doubts:
        yield f"Take care: {_exact(doubt)}."
    if view.always:
        yield _exact(view.always)


def _exact(text: str) -> str:
    return sanitize_line(text, exact=True)


def _indent_lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield f"  {sanitize(line, exact=True)}"


def _change(change: ShownChange) -> Iterator[str]:
    path = _exact(change.path)
    if change.patch is not None:
        yield from (f"Patch of {path}:", *_indent_lines(change.patch))
    elif change.new is None:
        yield f"Change of {path}: its content is not known"
    elif change.old is None:
        yield from (f"New text of {path}:", *_indent_lines(change.new))
    else:
        yield f"Change of {path}{', everywhere' if change.everywhere else ''}:"
        yield from (f"  {line}" for line in diff_lines(change.old, change.new))


def _named(name: str, text: str) -> Iterator[str]:
    """A text behind its name; one of several lines below it."""
    yield from (f"{name}:", *_indent_lines(text)) if "\n" in text else (f"{name}: {_exact(text)}",)


def diff_lines(old: str | None, new: str) -> Iterator[str]:
    """A change as a unified diff, every changed line in it; of a new file, all of its lines."""
    for line in changed_lines(old, new, most_work=MOST_WORK):
        yield sanitize(line, exact=True)
    if (old or "").endswith("\n") != new.endswith("\n") and old is not None:
        yield "(the last line " + ("now has" if new.endswith("\n") else "no longer has") + " a line end)"
