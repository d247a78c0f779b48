"""Translates updates of the ACPex schemas, both ways: `type` names the kind, the fields are beside it, and
`sessionUpdate`, which names the kind in v1, is an identifier of the update.

Its types leave the items of lists open. Their examples are followed: content blocks without v1's wrapper in
tool calls, plan entries with `id` and `description`, `running` for a call that runs.
"""

from __future__ import annotations

from dragoman.dialect.acpex.blocks import read_block
from dragoman.dialect.acpex.form import AcpexForm
from dragoman.dialect.acpex.ledger_notes import (
    FAILED_STEP,
    PLAN_DEFAULTS,
    TOOL_NAME,
    TOOL_WORDS,
    UNKNOWN_BLOCK,
    UNKNOWN_STEP,
)
from dragoman.dialect.acpex.tools import KINDS, NAMELESS, STATUSES, call_id
from dragoman.dialect.ledger import Note
from dragoman.dialect.message import Json, Object, as_list, as_object, as_text

TYPES = {
    "user_message_chunk": "user_message_chunk",
    "agent_message_chunk": "agent_message_chunk",
    "agent_thought_chunk": "agent_thought_chunk",
    "tool_call": "tool_call",
    "tool_call_update": "tool_call_update",
    "plan": "plan",
    "available_commands_update": "available_commands_update",
    "current_mode_update": "current_mode_update",
    # From the description of the notification, which has shorter words for some.
    "message": "agent_message_chunk",
    "thought": "agent_thought_chunk",
    "toolCall": "tool_call",
}

RUNNING = {"running": "in_progress", "error": "failed", "done": "completed"}
FILE_KINDS = {"fs_read": "read", "fs_write": "edit", "terminal": "execute"}
PRIORITIES = {"high", "medium", "low"}
STEP_STATUSES = {"pending", "in_progress", "completed"}


def read_typed(kind: str, update: Object, form: AcpexForm, note: Note) -> Object | None:
    """Read an update that is not a message chunk into v1; None if required fields are missing."""
    if kind in ("tool_call", "tool_call_update"):
        return _read_call(kind, update, form, note)
    if kind == "plan":
        return {"sessionUpdate": kind, "entries": _read_entries(update, note)}
    if kind == "current_mode_update":
        mode = as_text(update.get("currentModeId"))
        return {"sessionUpdate": kind, "currentModeId": mode} if mode else None
    commands = [_read_command(as_object(item)) for item in as_list(update.get("availableCommands"))]
    return {
        "sessionUpdate": kind,
        "availableCommands": [command for command in commands if command is not None],
    }


def _read_command(fields: Object) -> Object | None:
    name, hint = as_text(fields.get("name")), as_object(fields.get("input")).get("hint")
    if not name:
        return None
    read: Object = {"name": name, "description": as_text(fields.get("description"))}
    return {**read, "input": {"hint": hint}} if type(hint) is str else read


def _read_call(kind: str, update: Object, form: AcpexForm, note: Note) -> Object | None:
    call = call_id(update)
    if not call:
        return None
    read: Object = {"sessionUpdate": kind, "toolCallId": call}
    title = as_text(update.get("title"))
    if kind == "tool_call" and not title:
        note(TOOL_NAME)
    if title or kind == "tool_call":
        read["title"] = title or NAMELESS
    read |= _nearest("status", update, STATUSES, RUNNING, None, note)
    read |= _nearest("kind", update, KINDS, FILE_KINDS, "other", note)
    if type(update.get("content")) is list:
        items = [_read_item(item, form, note) for item in update["content"]]
        read["content"] = [item for item in items if item is not None]
    if type(update.get("locations")) is list:
        places = [_read_place(as_object(item)) for item in update["locations"]]
        read["locations"] = [place for place in places if place is not None]
    return read | {name: update[name] for name in ("rawInput", "rawOutput") if update.get(name) is not None}


def _nearest(
    name: str, update: Object, words: set[str], near: dict[str, str], default: str | None, note: Note
) -> Object:
    word = as_text(update.get(name))
    if not word or word in words:
        return {name: word} if word else {}
    note(TOOL_WORDS)
    nearest = near.get(word, default)
    return {name: nearest} if nearest else {}


def _read_item(item: Json, form: AcpexForm, note: Note) -> Object | None:
    fields = as_object(item)
    kind = as_text(fields.get("type"))
    if kind == "diff" and type(fields.get("path")) is str and type(fields.get("newText")) is str:
        return fields
    if kind == "terminal" and type(fields.get("terminalId")) is str:
        return fields
    if kind in ("diff", "terminal"):
        note(UNKNOWN_BLOCK)
        return None
    block = read_block(fields.get("content") if kind == "content" else item, form, note)
    return None if block is None else {"type": "content", "content": block}


def _read_place(fields: Object) -> Object | None:
    path = as_text(fields.get("path")) or as_text(fields.get("file"))
    line = fields.get("line")
    if not path:
        return None
    return {"path": path, "line": line} if type(line) is int and 0 <= line < 2**32 else {"path": path}


def _read_entries(update: Object, note: Note) -> list[Object]:
    read = [_read_entry(as_object(item), note) for item in as_list(update.get("entries"))]
    if None in read:
        note(UNKNOWN_STEP)
    return [entry for entry in read if entry is not None]


def _read_entry(fields: Object, note: Note) -> Object | None:
    text = fields.get("description", fields.get("content"))
    if type(text) is not str:
        return None
    status, priority = as_text(fields.get("status")), as_text(fields.get("priority"))
    if status == "failed":
        note(FAILED_STEP)
    elif status not in STEP_STATUSES or priority not in PRIORITIES:
        note(PLAN_DEFAULTS)
    return {
        "content": text,
        "priority": priority if priority in PRIORITIES else "medium",
        "status": status if status in STEP_STATUSES else "pending",
    }


def write_typed(kind: str, fields: Object, form: AcpexForm, note: Note) -> Object:
    """Write the fields of a v1 update in the schemas' form; the block of a chunk is already written."""
    members = {name: value for name, value in fields.items() if value is not None}
    if kind in ("tool_call", "tool_call_update"):
        if members.get("status") == "in_progress":
            members["status"] = "running"
        if "content" in members:
            items = [_write_item(as_object(item), form, note) for item in as_list(members["content"])]
            members["content"] = [item for item in items if item is not None]
    if kind == "plan":
        entries = [as_object(entry) for entry in as_list(members.get("entries"))]
        members["entries"] = [_write_entry(number, entry) for number, entry in enumerate(entries, 1)]
    return members


def _write_item(item: Object, form: AcpexForm, note: Note) -> Object | None:
    return form.block(as_object(item.get("content")), note) if item.get("type") == "content" else item


def _write_entry(number: int, entry: Object) -> Object:
    rest = {name: value for name, value in entry.items() if name != "content" and value is not None}
    return {"id": f"step-{number}", "description": as_text(entry.get("content")), **rest}
