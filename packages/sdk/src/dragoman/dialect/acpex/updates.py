"""Reads session updates into v1, in any form that a program written with ACPex sends.

There are three: `kind` with everything under `content`, which the overview teaches; `type` with the members
beside it and an id under `sessionUpdate`, which the schemas write; and v1 itself. They are told apart by
`type` first, because `sessionUpdate` is also in the second, and by `kind` last, because v1's tool calls have
one too.
"""

from __future__ import annotations

from dragoman.dialect.acpex.blocks import read_blocks
from dragoman.dialect.acpex.form import AcpexForm, with_original, written_update
from dragoman.dialect.acpex.ledger_notes import PLAN_DEFAULTS, UNKNOWN_STEP, UNKNOWN_UPDATE
from dragoman.dialect.acpex.tools import parse_arguments, read_call, read_result
from dragoman.dialect.acpex.typed_updates import TYPES, read_typed
from dragoman.dialect.ledger import Note, ignore_note
from dragoman.dialect.message import Json, Object, as_list, as_object, as_text
from dragoman.dialect.originals import drop_original

CHUNKS = {
    "message": "agent_message_chunk",
    "thought": "agent_thought_chunk",
    "agent_message_chunk": "agent_message_chunk",
    "agent_thought_chunk": "agent_thought_chunk",
    "user_message_chunk": "user_message_chunk",
}


def read_update(update: Object, form: AcpexForm, note: Note) -> list[Object]:
    """Read an update into v1. The result is empty if v1 can't express it; a message of several blocks becomes
    several updates.
    """
    update = drop_original(update)  # an original that the peer made up itself would be none of ours
    type_name = as_text(update.get("type"))
    if not type_name and type(update.get("sessionUpdate")) is str:
        return [update]
    kind = TYPES.get(type_name, type_name) or as_text(update.get("kind"))
    if kind in CHUNKS:
        updates = _read_chunks(CHUNKS[kind], update, form, note)
    elif type_name in TYPES:
        updates = [read_typed(kind, update, form, note)]
    elif type_name:
        updates = [_read_flat(kind, update)]
    else:
        updates = [_read_nested(kind, as_object(update.get("content")), note)]
    read = [_with_meta(v1_update, update) for v1_update in updates if v1_update is not None]
    if not read:
        note(UNKNOWN_UPDATE)
    if len(read) != 1 or form.tag != ("type" if type_name else "kind"):
        return read
    original = _without_strings(update)
    # What is typed has an id, ours has not.
    written_again = None if type_name else _without_strings(written_update(form, read[0]))
    return [with_original(read[0], original, written_again, form)]


def read_one(update: Json, form: AcpexForm, note: Note) -> Object:
    """Read a single update; return an empty object if there is not exactly one."""
    read = read_update(as_object(update), form, note)
    return read[0] if len(read) == 1 else {}


def _read_chunks(kind: str, update: Object, form: AcpexForm, note: Note) -> list[Object | None]:
    content = update.get("content")
    fields = as_object(content)
    if fields.get("role") == "user" and kind == "agent_message_chunk":
        kind = "user_message_chunk"
    for name in ("thought", "content"):
        if name in fields:
            content = fields[name]
    return [{"sessionUpdate": kind, "content": block} for block in read_blocks(content, form, note)]


def _read_nested(kind: str, content: Object, note: Note) -> Object | None:
    if kind == "tool_call":
        return read_call(content, note)
    if kind == "tool_call_update":
        return read_result(content)
    if kind == "plan":
        return {"sessionUpdate": "plan", "entries": read_steps(content, note)}
    return _read_flat(kind, content)


def _read_flat(kind: str, members: Object) -> Object | None:
    """An update of v1 that neither form describes."""
    rest = {name: value for name, value in members.items() if name not in ("type", "_meta")}
    flat = {**rest, "sessionUpdate": kind}
    if not kind:
        return None
    from dragoman.dialect.deviations import is_update  # loaded for the few updates that no other rule knows

    return flat if is_update(flat) else None


def read_steps(content: Object, note: Note) -> list[Object]:
    steps = as_list(content.get("steps", content.get("entries")))
    texts = [step if type(step) is str else as_object(step).get("content") for step in steps]
    if texts:
        note(PLAN_DEFAULTS)
    if any(type(text) is not str for text in texts):
        note(UNKNOWN_STEP)
    return [{"content": text, **STEP} for text in texts if type(text) is str]


STEP = {"priority": "medium", "status": "pending"}


def _with_meta(read: Object, update: Object) -> Object:
    return {**read, "_meta": update["_meta"]} if type(update.get("_meta")) is dict else read


def _without_strings(update: Json) -> Json:
    """The update with a tool's arguments as the object that they are, or without: as a string they could hide
    a secret from those who look for names, and how the JSON in it was spaced is nobody's business.
    """
    content = as_object(as_object(update).get("content"))
    function = as_object(content.get("function"))
    if "arguments" not in function:
        return update
    arguments = parse_arguments(function["arguments"], ignore_note)
    function_members = {name: value for name, value in function.items() if name != "arguments"}
    if type(arguments) is not str:
        function_members["arguments"] = arguments
    return {**update, "content": {**content, "function": function_members}}
