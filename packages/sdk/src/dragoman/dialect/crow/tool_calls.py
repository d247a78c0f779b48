"""Tool calls, both ways.

Crow shows an id, a title, a kind and a status. What v1 adds (output, places, raw values) travels beside them
in snake_case, and is taken from there by whoever knows it. Crow's title is the name of the tool, so it is
v1's name as well.
"""

from __future__ import annotations

from dragoman.dialect.crow.ledger_notes import BESIDE, DEFAULTS, PLAIN_OUTPUT, VALUES
from dragoman.dialect.crow.names import CAMEL_OF, either, readable, to_camel, to_snake, without_nulls
from dragoman.dialect.ledger import Note
from dragoman.dialect.message import Json, Object
from dragoman.schema.v1.tool_call import TOOL_CALL_STATUSES, TOOL_KINDS

START, CALL, PROGRESS = "tool_call_start", "tool_call", "tool_call_update"
SHOWN = frozenset({"@type", "tool_call_id", "title", "kind", "status"})
TITLE = "Tool call"


def read_call(update: Object, note: Note) -> Object | None:
    """Read a `tool_call_start` or `tool_call_update`; None if it does not identify its call."""
    call_id = either(update, "tool_call_id", "toolCallId")
    if type(call_id) is not str:
        return None
    starts = update["@type"] == START
    fields: Object = {"sessionUpdate": CALL if starts else PROGRESS, "toolCallId": call_id}
    title = update.get("title")
    if type(title) is str:
        fields["title"] = title
    elif starts:
        note(DEFAULTS)
        fields["title"] = TITLE
    fields |= _read_values(update, starts, note)
    if starts:
        fields["name"] = fields["title"]
    if not update.keys() <= SHOWN:
        fields |= read_rest(update, note)
    return fields


def is_whole(update: Object, fields: Object) -> bool:
    """Whether the v1 message holds everything that crow sent, and nothing else."""
    starts = update["@type"] == START
    if update.keys() != SHOWN if starts else not update.keys() <= SHOWN:
        return False
    return all(fields.get(name) == update.get(name) for name in ("title", "kind", "status"))


def _read_values(update: Object, starts: bool, note: Note) -> Object:
    fields = {}
    kind, status = update.get("kind"), update.get("status")
    if kind in TOOL_KINDS if type(kind) is str else False:
        fields["kind"] = kind
    elif kind is not None:
        note(VALUES)
        fields |= {"kind": "other"} if starts else {}
    if status in TOOL_CALL_STATUSES if type(status) is str else False:
        fields["status"] = status
    elif status is not None:
        note(VALUES)
    return fields


def read_rest(update: Object, note: Note) -> Object:
    """Read the fields that crow's own do not cover, as far as v1 understands them."""
    fields: Object = {}
    content = update.get("content")
    if type(content) is str:
        note(PLAIN_OUTPUT)
        fields["content"] = [{"type": "content", "content": {"type": "text", "text": content}}]
    elif type(content) is list:
        fields["content"] = _keep_fitting(content, "ToolCallContent", note)
    if type(update.get("locations")) is list:
        fields["locations"] = _keep_fitting(update["locations"], "ToolCallLocation", note)
    for name in ("raw_input", "raw_output"):
        if (value := either(update, name, CAMEL_OF[name])) is not None:
            fields[CAMEL_OF[name]] = value
    if type(update.get("name")) is str:
        fields["name"] = update["name"]
    if type(update.get("_meta")) is dict:
        fields["_meta"] = update["_meta"]
    return fields


def _keep_fitting(items: list[Json], kind: str, note: Note) -> list[Json]:
    camel_items = [to_camel(item) for item in items]
    good = [item for item in camel_items if type(item) is dict and readable(item, kind)]
    if len(good) < len(items):
        note(VALUES)
    return good


def write_call(update: Object, note: Note) -> Object | None:
    starts = update["sessionUpdate"] == CALL
    members = without_nulls(update)
    call_id = members.get("toolCallId")
    if type(call_id) is not str:
        return None
    fields: Object = {"@type": START if starts else PROGRESS, "tool_call_id": call_id}
    for name, default in (("title", TITLE), ("kind", "other"), ("status", "pending")):
        if type(members.get(name)) is str:
            fields[name] = members[name]
        elif starts:
            note(DEFAULTS)
            fields[name] = default
    rest = {name: value for name, value in members.items() if name not in _WRITTEN}
    if starts and rest.get("name") == fields["title"]:
        del rest["name"]
    if rest:
        note(BESIDE)
        fields |= {name: value for name, value in to_snake(rest).items() if name not in SHOWN}
    return fields


_WRITTEN = frozenset({"sessionUpdate", "toolCallId", "title", "kind", "status"})
