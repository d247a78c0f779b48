"""The view of an act for people: everything that was judged, under Dragoman's own names.

Pure. It is made once, where the act is judged, and every face draws the question from it: terminals as its
`text`, the page and other clients of a hub from its JSON (docs/hub-protocol.md). The agent's own words (its
title, its remarks) stand apart. Members are as the agent wrote them: whoever shows them sanitizes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.schema.codec import write
from dragoman.text.diff import changed_lines
from dragoman.text.sanitize import sanitize, sanitize_line
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.rules import parts_of
from dragoman_local.workspace.policy.shell import UNTOLD
from dragoman_local.workspace.policy.tool_inputs import (
    CHANGE_KEYS,
    COMMAND_KEYS,
    VARIABLE_KEYS,
    FileChange,
    canonical_paths,
    remarks_in,
    result_of,
    texts_of,
    unknown_texts,
)

DEEDS: Final[Mapping[str, str]] = {
    "read": "read a file",
    "edit": "change a file",
    "delete": "delete a file",
    "move": "move a file",
    "search": "search",
    "execute": "run a command",
    "fetch": "fetch something from the network",
}
"""The requested actions, by the protocol's kinds of tool calls."""


MOST_WORK: Final = 4_000_000
"""The most pairs of lines to compare; above it, old and new text follow each other."""

_OUTSIDE: Final = "  (outside the folders of the session)"


class ShownPlace(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A file or folder in the act, or the real target of one."""

    path: str
    is_outside: bool = False
    """Whether it is outside the folders of the session."""


class ShownInput(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a tool's input that is not shown elsewhere, or that can't be shown as text."""

    name: str = ""
    text: str


class ActView(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An act as shown to people."""

    agent: str = ""
    requester: str = ""
    kinds: tuple[str, ...] = ()
    """Its real kinds, in the protocol's words."""
    deed: str
    """The same in a few words: the agent wants to …"""
    tool: str = ""
    title: str = ""
    """The agent's title."""
    command: str | None = None
    """The whole command; empty if the agent does not report it."""
    folder: str = ""
    """The start folder of the command."""
    is_folder_outside: bool = False
    variables: tuple[str, ...] = ()
    places: tuple[ShownPlace, ...] = ()
    changes: tuple[FileChange, ...] = ()
    remarks: tuple[str, ...] = ()
    """The agent's remarks."""
    input: tuple[ShownInput, ...] = ()
    unknown_texts: tuple[str, ...] = ()
    """Unknown texts that `input` does not name: they may be paths or commands."""
    doubts: tuple[str, ...] = ()
    """The reasons why no rule may allow it."""
    why: str = ""
    """The reason for the question."""
    always: str = ""
    """The effect of "always", as a sentence; empty if it is not among the options."""

    @property
    def text(self) -> str:
        """The whole view for a terminal: never cut, and sanitized. Invisible characters, and those that move
        a cursor or reverse the writing, are shown as escapes.
        """
        return "\n".join(_lines(self))


def view_of(act: Act, call: v1.ToolCallUpdate | None = None, *, why: str = "", always: str = "") -> ActView:
    """Return the view of an act. `call` is the whole tool call: it adds the agent's remarks and the rest of
    the input.
    """
    changes, disagreements = _changes(act)
    reasons = [*act.objections(), *(why for part in parts_of(act) for why in (part.nested, part.unknown))]
    members = _members(act, call)
    named_texts = {text for value in members.values() for text in unknown_texts([value])}
    return ActView(
        agent=act.agent,
        requester=act.requester,
        kinds=tuple(sorted(act.kinds)),
        deed=_deed(act),
        tool=act.tool,
        title=act.title if act.method == "permission" else "",
        command=None if act.script is None else act.script.text if _is_told(act) else "",
        folder="" if act.script is None else act.start,
        is_folder_outside=act.script is not None and _is_outside(act, act.start),
        # Values for an MCP server are mostly keys.
        variables=tuple(each.partition("=")[0] if act.method == "mcp" else each for each in act.variables),
        places=tuple(ShownPlace(path=path, is_outside=_is_outside(act, path)) for path in act.paths),
        changes=tuple(changes),
        remarks=() if call is None else tuple(remarks_in(call)),
        input=(
            *(
                ShownInput(
                    name=str(name),
                    text=value
                    if isinstance(value, str)
                    else msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8", "replace"),
                )
                for name, value in members.items()
            ),
            *_attachments(call),
        ),
        unknown_texts=tuple(text for text in act.unknown_texts if text not in named_texts),
        doubts=tuple(dict.fromkeys(filter(None, (*act.doubts, *reasons, *disagreements)))),
        why=why,
        always=always,
    )


def _deed(act: Act) -> str:
    if act.method == "mcp":
        return "use an MCP server"
    return " and ".join(DEEDS[kind] for kind in sorted(act.kinds) if kind in DEEDS) or "use a tool"


def _is_told(act: Act) -> bool:
    return act.script is not None and act.script.objection != UNTOLD


def _is_outside(act: Act, path: str) -> bool:
    return bool(act.roots) and not replace(act, paths=(path,)).is_inside


def _changes(act: Act) -> tuple[list[FileChange], list[str]]:
    """Each change once, and what to say where an agent shows one file's change in ways that do not agree."""
    shown: list[FileChange] = []
    disagreements: list[str] = []
    for path in dict.fromkeys(change.path for change in act.changes):
        ways = [change for change in act.changes if change.path == path]
        first = [change for change in ways if change.source == ways[0].source]
        before = first[0].old if len(first) == 1 else None
        if len(first) < len(ways) and result_of(ways, before) is None:
            disagreements.append(f"the agent shows the change of {path} in ways that may not agree")
            first = ways
        shown += first
    if "edit" in act.kinds:
        known_paths = {change.path for change in act.changes}
        shown += [FileChange(path=path) for path in act.real_paths or act.paths if path not in known_paths]
    return list(dict.fromkeys(replace(change, source="") for change in shown)), disagreements


def _attachments(call: v1.ToolCallUpdate | None) -> Iterator[ShownInput]:
    for item in call.content if call is not None and isinstance(call.content, list) else ():
        inner = item.content if isinstance(item, v1.Content) else item
        if not isinstance(inner, v1.Diff | v1.TextContent):
            kind = inner.tag if isinstance(inner, Unknown) else inner.__struct_config__.tag
            yield ShownInput(name="It also shows", text=f"something of type {kind}")


def _members(act: Act, call: v1.ToolCallUpdate | None) -> Mapping[object, object]:
    """The input of a tool by its names, as far as the rest of the view does not show it."""
    if act.method != "permission":
        return (
            {}
            if act.script is not None or act.paths
            else {("url" if act.method == "mcp" else "pattern"): act.title}
        )
    raw = None if call is None or call.raw_input is UNSET else call.raw_input
    if raw is None or isinstance(raw, str):  # a text is among those that nobody understood
        return {}
    if not isinstance(raw, Mapping):
        return {"": raw}
    known = {*CHANGE_KEYS} if any(change.source not in ("diff", "write") for change in act.changes) else set()
    known |= {*COMMAND_KEYS, *VARIABLE_KEYS, "args"} if _is_told(act) else set()
    base = act.roots[0] if act.roots else "/"
    places = {act.cwd, *act.paths}
    return {
        name: value
        for name, value in raw.items()
        if name not in known
        and not (isinstance(value, str) and places & {*canonical_paths([value], base, act.home)[:1]})
    }


def lent_call(act: Act, *, call_id: str, place: str) -> dict[str, Any]:
    """Return the tool call in a question about a file or terminal, for clients that show only the call."""
    if act.script is not None:
        title, variables = f"Run `{act.script.text}` {place}", (each.partition("=") for each in act.variables)
        said = {
            "command": act.script.text,
            "cwd": act.cwd,
            "env": {name: value for name, _, value in variables},
        }
        raw: dict[str, Any] = {name: value for name, value in said.items() if value or name == "command"}
    else:
        verb = {"edit": "Write", "search": "Search for"}.get(act.kind, "Read")
        title, raw = f"{verb} {act.title} {place}", {"path": act.title}
    texts = texts_of(act.changes)
    return {
        "toolCallId": call_id,
        "title": title,
        "kind": act.kind,
        "status": "pending",
        "rawInput": raw,
        **({"locations": [{"path": path} for path in act.paths]} if act.paths else {}),
        **({"content": [msgspec.Raw(write(diff)) for diff in texts]} if texts else {}),
    }


# As text.


def _lines(view: ActView) -> Iterator[str]:
    who = f"{view.requester}: " if view.requester else ""
    tool = f" ({view.tool})" if view.tool else ""
    yield _exact(f"{who}{view.agent or 'The agent'} wants to {view.deed}{tool}:")
    if view.title:
        yield f"  “{_exact(view.title)}”"
    if view.command is not None:
        yield from ("Command:", *_indent_lines(view.command)) if view.command else ("Command: unknown",)
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


def _change(change: FileChange) -> Iterator[str]:
    path = _exact(change.path)
    if change.patch is not None:
        yield from (f"Patch of {path}:", *_indent_lines(change.patch))
    elif change.new is None:
        yield f"Change of {path}: its content is not known"
    elif change.old is None:
        yield from (f"New text of {path}:", *_indent_lines(change.new))
    else:
        yield (
            f"Change of {path}{', everywhere' if change.everywhere else ''}:"
            f"{' its text stays the same' if change.old == change.new else ''}"
        )
        yield from (f"  {line}" for line in diff_lines(change.old, change.new))


def _named(name: str, text: str) -> Iterator[str]:
    """A text behind its name; one of several lines below it."""
    yield from (f"{name}:", *_indent_lines(text)) if "\n" in text else (f"{name}: {_exact(text)}",)


def diff_lines(old: str | None, new: str) -> Iterator[str]:
    """Return a change as a unified diff with every changed line; of a new file, all of its lines."""
    for line in changed_lines(old, new, most_work=MOST_WORK):
        yield sanitize(line, exact=True)
    if (old or "").endswith("\n") != new.endswith("\n") and old is not None:
        yield "(the last line " + ("now has" if new.endswith("\n") else "no longer has") + " a line end)"
