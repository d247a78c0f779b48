"""A question as text for a person: whole, never cut, and sanitized.

Pure. Commands and changes are shown to their last character. What cannot be seen, or what would move a
cursor or turn writing around, is shown as an escape, so that what a person reads is what an agent asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.text.diff import changed_lines
from dragoman.text.sanitize import sanitize, sanitize_line
from dragoman.workspace.policy.act import Act

MOST_WORK: Final = 4_000_000
"""Lines times lines that are compared; above that old and new are shown one after the other."""


def render_act(act: Act, call: v1.ToolCallUpdate | None = None) -> str:
    """All that is known about it. `call` adds what a tool call shows."""
    lines = [_exact(_headline(act))]
    if act.title and act.method == "permission":
        lines.append(f"  {_exact(act.title)}")
    if act.script is not None:
        lines += ["Command:", *_indent_lines(act.script.text)]
        if act.cwd:
            lines.append(f"In: {_exact(act.cwd)}")
        if act.variables:
            lines += ["With variables:", *(f"  {_exact(variable)}" for variable in act.variables)]
        objection = act.objection()
        if objection is not None:
            lines.append(f"Take care: {_exact(objection)}.")
    lines += [f"Path: {_exact(path)}{_outside(act, path)}" for path in act.paths]
    if act.doubts and act.script is None:
        lines.append(f"Take care: {_exact(act.doubts[0])}.")
    if call is None:
        for change in act.changes:
            lines += ["New text:"] if change.old is None else [f"Change of {_exact(change.path)}:"]
            lines += (
                _indent_lines(change.new)
                if change.old is None
                else [f"  {line}" for line in diff_lines(change.old, change.new)]
            )
    else:
        shown_texts = {*act.paths, act.script.text} if act.script is not None else {*act.paths}
        lines += _content(call, shown_texts)
    return "\n".join(lines)


def _exact(text: str) -> str:
    return sanitize_line(text, exact=True)


def _headline(act: Act) -> str:
    who = act.agent or "The agent"
    kinds = " and ".join(sorted(act.kinds - {"other"})) or "use a tool"
    tool = f" ({act.tool})" if act.tool else ""
    verb = {"fs/write": "write a file", "fs/read": "read", "terminal": "run a command"}.get(act.method)
    subagent = f"{act.requester}: " if act.requester else ""
    return f"{subagent}{who} wants to {verb or kinds}{tool}:"


def _outside(act: Act, path: str) -> str:
    inside = msgspec.structs.replace(act, paths=(path,)).is_inside
    return "" if inside or not act.roots else "  (outside the folders of the session)"


def _indent_lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield f"  {sanitize(line, exact=True)}"


def _content(call: v1.ToolCallUpdate, shown_texts: set[str]) -> Iterator[str]:
    content: Sequence[Any] = call.content if isinstance(call.content, list) else ()
    shown_diff = False
    for item in content:
        if isinstance(item, v1.Diff):
            shown_diff = True
            yield f"Change of {_exact(item.path)}:"
            old = item.old_text if isinstance(item.old_text, str) else None
            yield from (f"  {line}" for line in diff_lines(old, item.new_text))
        elif isinstance(item, v1.Content) and isinstance(item.content, v1.TextContent):
            yield "Said:"
            yield from _indent_lines(item.content.text)
        else:
            yield f"Also: something of type {_exact(_type_of(item))}"
    if not shown_diff and call.raw_input not in (UNSET, None):
        yield from _raw(call.raw_input, shown_texts)


def _type_of(item: Any) -> str:
    """Its name on the wire."""
    inner = item.content if isinstance(item, v1.Content) else item
    return inner.tag if isinstance(inner, Unknown) else str(inner.__struct_config__.tag)


def _raw(raw: Any, shown_texts: set[str]) -> Iterator[str]:
    """What the tool gets, as far as it was not shown; strings with several lines are shown as such."""
    if not isinstance(raw, Mapping):
        yield "Input:"
        yield from _indent_lines(raw if isinstance(raw, str) else _json(raw))
        return
    for name, value in raw.items():
        text = value if isinstance(value, str) else _json(value)
        if text in shown_texts:
            continue
        if "\n" in text:
            yield f"{_exact(str(name))}:"
            yield from _indent_lines(text)
        else:
            yield f"{_exact(str(name))}: {_exact(text)}"


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8", "replace")


def diff_lines(old: str | None, new: str) -> Iterator[str]:
    """A change as a unified diff, every changed line in it; of a new file, all of its lines."""
    for line in changed_lines(old, new, most_work=MOST_WORK):
        yield sanitize(line, exact=True)
    if (old or "").endswith("\n") != new.endswith("\n") and old is not None:
        yield "(the last line " + ("now has" if new.endswith("\n") else "no longer has") + " a line end)"
