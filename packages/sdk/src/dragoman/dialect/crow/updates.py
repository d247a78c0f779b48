"""Updates, both ways: `read_update` from crow to v1, `write_update` from v1 to crow.

Neither gives anything that the other side has other words for: None means that it cannot be said. Questions
for permission are not updates in v1; `permission` has them.
"""

from __future__ import annotations

from dragoman.dialect.crow.ledger_notes import (
    BESIDE,
    DEFAULTS,
    KEPT,
    NOT_TEXT,
    PLAN_ID,
    PLAN_OTHER,
    UNKNOWN_TO_CROW,
    UNKNOWN_TO_V1,
    UPDATE_ODD,
    VALUES,
)
from dragoman.dialect.crow.names import NAME, fits, readable, to_camel, to_snake, with_original, without_nulls
from dragoman.dialect.crow.tool_calls import CALL, PROGRESS, START, is_whole, read_call, write_call
from dragoman.dialect.ledger import Note, ignore_note
from dragoman.dialect.message import Json, Object, as_list, as_object, as_text
from dragoman.dialect.originals import KEY, restore
from dragoman.schema.v1.plan import PLAN_ENTRY_PRIORITIES, PLAN_ENTRY_STATUSES

# Text updates and the blocks in them, both ways.
#
# Crow's messages and thoughts are texts. A block that is more than a text travels beside its text, whole, as
# `content`; whoever reads only the text still learns that something was there.

CHUNKS = {
    "agent_message_text": "agent_message_chunk",
    "agent_thought_text": "agent_thought_chunk",
    "user_message_text": "user_message_chunk",  # ours: crow replays everything and has no word for this
}
TEXTS = {chunk: text for text, chunk in CHUNKS.items()}


def read_text(update: Object) -> Object | None:
    text = update.get("text")
    if type(text) is not str:
        return None
    fields: Object = {"sessionUpdate": CHUNKS[update["@type"]], "content": _read_block(update, text)}
    if len(update) == 2:
        return fields
    if type(update.get("message_id")) is str:
        fields["messageId"] = update["message_id"]
    if type(update.get("_meta")) is dict:
        fields["_meta"] = update["_meta"]
    return fields


def write_text(update: Object, note: Note) -> Object | None:
    block = as_object(update.get("content"))
    text = flat(block)
    if text is None:
        return None
    fields: Object = {"@type": TEXTS[update["sessionUpdate"]], "text": text}
    if len(block) > 2 or block.get("type") != "text":
        note(BESIDE if block.get("type") == "text" else NOT_TEXT)
        fields["content"] = to_snake(block)
    if len(update) > 2:
        _write_rest(update, fields, note)
    return fields


def _write_rest(update: Object, fields: Object, note: Note) -> None:
    if type(update.get("messageId")) is str:
        note(BESIDE)
        fields["message_id"] = update["messageId"]
    if update.get("_meta"):
        note(BESIDE)
        fields["_meta"] = update["_meta"]


def _read_block(update: Object, text: str) -> Object:
    if "content" in update:
        block = to_camel(update["content"])
        if type(block) is dict and flat(block) == text and readable(block, "ContentBlock"):
            return block
    return {"type": "text", "text": text}


def flat(block: Object) -> str | None:
    """Return the plain text of a block; None if the value is not a block."""
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        return text if type(text) is str else None
    if kind == "resource_link":
        return f"[{as_text(block.get('name'))}]({as_text(block.get('uri'))})"
    if kind == "resource":
        inner = as_object(block.get("resource"))
        return _describe(inner.get("text"), as_text(inner.get("uri")))
    if type(kind) is str:
        return f"[{kind} {as_text(block.get('mimeType'))}]"
    return None


def _describe(text: Json, uri: str) -> str:
    return f"[{uri}]\n{text}" if type(text) is str else f"[{uri}]"


PLAN = "plan_update"
QUESTION = "permission_request"

_CROWS = frozenset({*CHUNKS, START, PLAN, QUESTION})
"""Names that mean something to crow. What v1 calls by one of them would be taken for something else."""

_BORROWED = frozenset(
    {
        *TEXTS,
        "available_commands_update",
        "config_option_update",
        "current_mode_update",
        "plan_removed",
        "session_info_update",
        "usage_update",
    }
)
"""Kinds of v1 that `write_update` gives to crow under their own names, and that are understood when they come
back.
"""


def read_update(update: Object, note: Note) -> Object | None:
    """Read an update into v1, with the original beside it if v1 can't hold all of it. None if it is
    invalid.
    """
    kind = update.get("@type")
    if type(kind) is not str:
        note(UPDATE_ODD)
        return None
    if kind in CHUNKS:
        fields = read_text(update)
        if fields is not None and len(update) == 2:
            return fields  # nearly all there ever are; nothing can have been left out
    elif kind in (START, PROGRESS):
        fields = read_call(update, note)
        if fields is not None and is_whole(update, fields):
            return fields
    elif kind == PLAN and "entries" in update:
        fields = _read_plan(update, note)
        if len(update) == 2 and fields["entries"] == update["entries"]:
            return fields
    else:
        fields = _read_other(update, kind)
        if fields is None:
            note(UNKNOWN_TO_V1)
            return with_original({"sessionUpdate": "session_info_update"}, update)
    if fields is None:
        note(UPDATE_ODD)
        return None
    return _with_original(fields, update, note)


def _with_original(fields: Object, update: Object, note: Note) -> Object:
    back = write_update(fields, ignore_note)
    if back == update:
        return fields
    if back is None or update.keys() - back.keys():
        note(KEPT)
    return with_original(fields, update)


def _read_plan(update: Object, note: Note) -> Object:
    entries = [_read_entry(entry, note) for entry in as_list(update["entries"])]
    return {"sessionUpdate": "plan", "entries": [entry for entry in entries if entry is not None]}


def _read_entry(entry: Json, note: Note) -> Object | None:
    content = as_object(entry).get("content")
    if type(content) is not str:
        note(VALUES)
        return None
    priority, status = entry.get("priority"), entry.get("status")
    is_priority = type(priority) is str and priority in PLAN_ENTRY_PRIORITIES
    if not is_priority:
        note(VALUES)
        priority = "medium"
    if type(status) is not str or status not in PLAN_ENTRY_STATUSES:
        note(VALUES)
        status = "pending"
    return {"content": content, "priority": priority, "status": status}


def _read_other(update: Object, kind: str) -> Object | None:
    if kind not in _BORROWED:
        return None
    rest = {name: value for name, value in update.items() if name != "@type"}
    fields: Object = {**to_camel(rest), "sessionUpdate": kind}
    return fields if fits(fields, "SessionUpdate") else None


def write_update(update: Object, note: Note) -> Object | None:
    """Write an update in crow's form."""
    kind = update.get("sessionUpdate")
    content = update.get("content")
    # Plain text, as nearly everything is.
    if len(update) == 2 and type(content) is dict and len(content) == 2 and content.get("type") == "text":
        text = content.get("text")
        if type(kind) is str and type(text) is str and kind in TEXTS:
            return {"@type": TEXTS[kind], "text": text}
    if "_meta" in update and KEY in as_object(update["_meta"]):
        original = restore(update, NAME, lambda raw: read_update(as_object(raw), ignore_note) or {})
        if type(original) is dict and original.get("@type") != QUESTION:
            return original
        update = _without_original(update)
    if type(kind) is not str:
        fields = None
    elif kind in TEXTS:
        fields = write_text(update, note)
    elif kind in (CALL, PROGRESS):
        fields = write_call(update, note)
    elif kind == "plan":
        fields = _write_plan(update.get("entries"), note)
    elif kind == "plan_update":
        return _write_plan_with_id(as_object(update.get("plan")), note)
    else:
        fields = _write_other(update, kind, note)
    if fields is None:
        note(UPDATE_ODD)
    return fields


def _without_original(update: Object) -> Object:
    meta = {name: value for name, value in as_object(update["_meta"]).items() if name != KEY}
    bare = {name: value for name, value in update.items() if name != "_meta"}
    return {**bare, "_meta": meta} if meta else bare


def _write_plan(entries: Json, note: Note) -> Object | None:
    if type(entries) is not list:
        return None
    plan_entries = [as_object(entry) for entry in entries]
    if not all({"content", "priority", "status"} <= entry.keys() for entry in plan_entries):
        note(DEFAULTS)
        plan_entries = [
            {"content": "", "priority": "medium", "status": "pending", **entry} for entry in plan_entries
        ]
    return {"@type": PLAN, "entries": plan_entries}


def _write_plan_with_id(plan: Object, note: Note) -> Object | None:
    """Crow would look for entries in an update of this name, so it gets one only if there are some."""
    if plan.get("type") != "items" or type(plan.get("entries")) is not list:
        note(PLAN_OTHER)
        return None
    note(PLAN_ID)
    return _write_plan(plan["entries"], note)


def _write_other(update: Object, kind: str, note: Note) -> Object | None:
    if kind in _CROWS:
        return None
    note(UNKNOWN_TO_CROW)
    rest = {name: value for name, value in update.items() if name not in ("sessionUpdate", "@type")}
    return {"@type": kind, **to_snake(without_nulls(rest))}
