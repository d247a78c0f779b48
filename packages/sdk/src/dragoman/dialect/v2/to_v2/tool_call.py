"""Translates tool calls: v1 creates and updates them, v2 has one upsert for both. Null means "unchanged"
in v1 and "clear" in v2, so null is left out.
"""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_list, as_object
from dragoman.dialect.v2.to_v2 import originals
from dragoman.dialect.v2.to_v2.content import block
from dragoman.dialect.v2.to_v2.diff import diff
from dragoman.dialect.v2.to_v2.ledger_notes import OUT_OF_BOUNDS, TERMINAL, WRONG
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
    """The call that an update or a permission request is about."""
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
    """One item of a call's content."""
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
    """Updates about the terminals that a call shows, to be sent before it.

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
