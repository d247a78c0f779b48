"""Translates tool calls: haven has `id`, `name` and four kinds; v1 has an id, a title and ten kinds.

`file` says less than any kind of v1. It is read as an edit as soon as a diff shows it; before that nobody can
tell whether it reads or writes, so it is `other`, which people are asked about. What was said stands in
`_meta`, and is said again on the way back as long as it can mean what stands beside it.
"""

from __future__ import annotations

from dragoman.dialect.edge import Edge
from dragoman.dialect.haven.content import has_diff, read_tool_content, write_tool_content
from dragoman.dialect.haven.names import FILE, NAME, NAMELESS_CALL, NEAREST, NO_KIND, NO_STATUS, TITLE
from dragoman.dialect.message import Json, Object, as_object, as_text, rename_members
from dragoman.dialect.originals import drop_original, keep, original_of

_TO_V1 = {"command": "execute", "search": "search", "other": "other"}
_EXACT = {"execute": "command", "search": "search", "other": "other", "read": "file", "edit": "file"}
_NEAREST = {"delete": "file", "move": "file", "think": "other", "fetch": "other", "switch_mode": "other"}

UNNAMED = "Tool call"
MANY = 4096
"""The most calls to remember. Of older calls, only the content of each message itself is known."""


class HavenToolCalls:
    """The earlier updates of each call: a new update holds only changes."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], Object] = {}

    def of(self, session: str, call: Json) -> Object:
        """Everything known about a call; empty if nothing is."""
        return self._calls.get((session, as_text(call)), {})

    def note(self, session: str, call: Json, fields: Object) -> None:
        key = (session, as_text(call))
        self._calls[key] = {**self._calls.pop(key, {}), **fields}
        if len(self._calls) > MANY:
            del self._calls[next(iter(self._calls))]


def read_call(
    call: Object, session: str, calls: HavenToolCalls, edge: Edge, *, whole: bool = False
) -> Object:
    """Read a tool call, an update, or the call of a permission request into v1. `whole` requires every
    field that v1 demands of a new call.
    """
    facts = calls.of(session, call.get("id", call.get("toolCallId")))
    fields = rename_members(call, {"id": "toolCallId"})
    if type(call.get("name")) is str:
        fields.setdefault("title", call["name"])
    elif whole and type(fields.get("title")) is not str:
        edge.note_repair(*NAMELESS_CALL)
        fields["title"] = UNNAMED
    if "content" in call:
        fields["content"] = read_tool_content(call["content"], edge)
    fields = _with_kind(fields, facts, edge)
    calls.note(session, fields.get("toolCallId"), {"seen": True, "guess": _guess(fields, facts)})
    return fields


def _guess(fields: Object, report: Object) -> str | None:
    """The kind that a call of kind `file` was read as."""
    before = original_of(fields, NAME)
    if before is not None and as_object(before).get("kind", "file") == "file":
        return as_text(fields.get("kind"))
    return None if "kind" in fields else report.get("guess")


def _with_kind(fields: Object, report: Object, edge: Edge) -> Object:
    kind = fields.get("kind")
    if type(kind) is not str:
        if kind is None and report.get("guess") == "other" and has_diff(fields.get("content")):
            edge.note_repair(*FILE)
            return keep({**fields, "kind": "edit"}, NAME, {"kind": kind} if "kind" in fields else {})
        return fields
    if kind == "file":
        edge.note_repair(*FILE)
        edits = has_diff(fields.get("content")) or report.get("guess") == "edit"
        return keep({**fields, "kind": "edit" if edits else "other"}, NAME, {"kind": kind})
    if kind in _TO_V1:
        return {**fields, "kind": _TO_V1[kind]}
    if kind in _EXACT or kind in _NEAREST:  # it speaks v1 here
        return fields
    edge.note_repair(*NO_KIND)
    return keep({**fields, "kind": "other"}, NAME, {"kind": kind})


def write_call(
    call: Object, session: str, calls: HavenToolCalls, edge: Edge, *, whole: bool = False
) -> Object:
    """Write a tool call in the dialect. `whole` requires every field that the reference demands of a call."""
    facts = calls.of(session, call.get("toolCallId"))
    name = _name(call, facts, edge)
    fields = rename_members(call, {"toolCallId": "id"})
    fields.pop("title", None)
    if name:
        fields["name"] = name
    elif whole:
        if "name" not in facts:
            edge.note_repair(*NAMELESS_CALL)
        fields["name"] = facts.get("name", UNNAMED)
    if whole and type(fields.get("status")) is not str:
        if "status" not in facts:
            edge.note_repair(*NO_STATUS)
        fields["status"] = facts.get("status", "pending")
    if "content" in call:
        fields["content"] = write_tool_content(call["content"])
    _note_written(call, session, calls, fields)
    return drop_original(_with_written_kind(fields, edge))


def _name(call: Object, fields: Object, edge: Edge) -> str:
    """The tool's own name if it ever had one, else what it is called. Nothing if this does not say."""
    name, title = as_text(call.get("name")), as_text(call.get("title"))
    own = name or fields.get("own", "")
    if own and title and title != own:
        edge.note_loss(*TITLE)
    return own or title if name or title else ""


def _note_written(call: Object, session: str, calls: HavenToolCalls, fields: Object) -> None:
    facts: Object = {}
    if type(call.get("name")) is str:
        facts["own"] = call["name"]
    if type(fields.get("status")) is str:
        facts["status"] = fields["status"]
    if "name" in fields:
        facts["name"] = fields["name"]
    calls.note(session, call.get("toolCallId"), facts)


def _with_written_kind(fields: Object, edge: Edge) -> Object:
    kind, first_form = fields.get("kind"), original_of(fields, NAME)
    if type(first_form) is dict and _can_mean(first_form.get("kind"), kind):
        rest = {name: value for name, value in fields.items() if name != "kind"}
        return {**rest, "kind": first_form["kind"]} if "kind" in first_form else rest
    if type(kind) is not str:
        return fields
    if kind not in _EXACT:
        edge.note_repair(*NEAREST)
    return {**fields, "kind": _EXACT.get(kind) or _NEAREST.get(kind, "other")}


def _can_mean(word: Json, kind: Json) -> bool:
    """Whether a call whose kind was `word` was read as `kind`."""
    if word is None:
        return bool(kind == "edit")
    if word == "file":
        return kind in ("other", "edit")
    return type(word) is str and bool(kind == "other") and word not in _EXACT and word not in _NEAREST
