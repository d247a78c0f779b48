"""Translates tool calls of the ACPex overview, both ways: there an announcement looks like an OpenAI function
call, with the arguments as JSON in a string, and one result follows.

v1 tells the life of a call in many small updates; the overview has only the call and its output. So what a
call has shown so far is remembered, and said once when it ends.
"""

from __future__ import annotations

import msgspec

from dragoman.dialect.acpex.blocks import text_of
from dragoman.dialect.acpex.ledger_notes import (
    ARGUMENTS,
    TOOL_CONTENT,
    TOOL_FAILED,
    TOOL_KIND,
    TOOL_NAME,
    TOOL_PLACES,
    TOOL_STATUS,
    TOOL_TITLE,
)
from dragoman.dialect.ledger import Note
from dragoman.dialect.message import Json, Object, as_list, as_object, as_text

KINDS = {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
STATUSES = {"pending", "in_progress", "completed", "failed"}
ENDS = ("completed", "failed")
NAMELESS = "Tool call"


def read_call(content: Object, note: Note) -> Object | None:
    """Read a `tool_call` into v1. None without an id: no later message could refer to it."""
    call = call_id(content)
    if not call:
        return None
    function = as_object(content.get("function"))
    name = as_text(function.get("name")) or as_text(content.get("name")) or as_text(content.get("title"))
    if not name:
        note(TOOL_NAME)
    read: Object = {"sessionUpdate": "tool_call", "toolCallId": call, "title": name or NAMELESS}
    if name:
        read["name"] = name
    read |= _words(content)
    if "arguments" in function:
        read["rawInput"] = parse_arguments(function["arguments"], note)
    return read


def read_result(content: Object) -> Object | None:
    """Read a `tool_call_update` into v1. An output ends its call."""
    call = call_id(content)
    if not call:
        return None
    read: Object = {"sessionUpdate": "tool_call_update", "toolCallId": call, **_words(content)}
    if "output" not in content:
        return read
    output = content["output"]
    text = output if type(output) is str else to_json(output)
    items = [{"type": "content", "content": {"type": "text", "text": text}}]
    return {**read, "status": read.get("status", "completed"), "content": items, "rawOutput": output}


def call_id(content: Object) -> str:
    return as_text(content.get("toolCallId")) or as_text(content.get("tool_call_id"))


def _words(content: Object) -> Object:
    """v1's own words, which the overview does not show but may be there."""
    allowed_words = {"kind": KINDS, "status": STATUSES}
    return {
        name: content[name] for name, words in allowed_words.items() if as_text(content.get(name)) in words
    }


def parse_arguments(arguments: Json, note: Note) -> Json:
    """Return the object in the string; return any other value unchanged."""
    if type(arguments) is not str:
        return arguments
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        value = None
    if type(value) in (dict, list):
        return value
    note(ARGUMENTS)
    return arguments


def to_json(value: Json) -> str:
    return msgspec.json.encode(value).decode()


def write_call(update: Object, note: Note) -> Object:
    """Write the announcement of a v1 `tool_call`."""
    title, name = as_text(update.get("title")), as_text(update.get("name"))
    if name and title and name != title:
        note(TOOL_TITLE)
    note_details(update, note)
    raw_input = update.get("rawInput")
    arguments = raw_input if type(raw_input) is str else to_json({} if raw_input is None else raw_input)
    return {
        "toolCallId": as_text(update.get("toolCallId")),
        "type": "function",
        "function": {"name": name or title or NAMELESS, "arguments": arguments},
    }


def note_details(update: Object, note: Note) -> None:
    if update.get("kind") not in (None, "other"):
        note(TOOL_KIND)
    if update.get("locations"):
        note(TOOL_PLACES)


def note_changes(update: Object, note: Note) -> None:
    if update.get("title") is not None or update.get("name") is not None:
        note(TOOL_TITLE)
    note_details(update, note)


def write_result(update: Object, note: Note) -> Object:
    """Write the output of a call, from everything known about the call at its end."""
    if update.get("status") == "failed":
        note(TOOL_FAILED)
    return {"toolCallId": as_text(update.get("toolCallId")), "output": _output(update, note)}


def _output(update: Object, note: Note) -> str:
    items = [as_object(item) for item in as_list(update.get("content"))]
    item_texts = [text_of(item.get("content")) for item in items]
    if None in item_texts:
        note(TOOL_CONTENT)
    texts = [text for text in item_texts if text is not None]
    raw = update.get("rawOutput")
    if texts:
        return "\n".join(texts)
    return "" if raw is None else raw if type(raw) is str else to_json(raw)


class AcpexToolCalls:
    """The open tool calls of all sessions, with the content that each has shown."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], Object] = {}

    def end_of(self, session: str, update: Object, note: Note) -> Object | None:
        """Everything known about a call if this update ends it, else None."""
        key = (session, as_text(update.get("toolCallId")))
        news = {name: update[name] for name in ("content", "rawOutput") if update.get(name) is not None}
        facts = {**self._calls.pop(key, {}), **news}
        status = update.get("status")
        if status in ENDS:
            # What was announced is said already, with whatever was kept of it.
            rest = update if update.get("sessionUpdate") == "tool_call_update" else {"toolCallId": key[1]}
            return {**rest, **facts, "sessionUpdate": "tool_call_update", "status": status}
        if status not in (None, "pending"):
            note(TOOL_STATUS)
        self._calls[key] = facts
        return None

    def is_open(self, session: str, call: Object) -> bool:
        return (session, as_text(call.get("toolCallId"))) in self._calls

    def forget(self, session: str) -> None:
        """Drop all open calls at the end of the turn: they can't end any more."""
        for key in [key for key in self._calls if key[0] == session]:
            del self._calls[key]

    def __len__(self) -> int:
        return len(self._calls)
