"""Translates an agent's questions to the user: permission requests, and forms."""

from __future__ import annotations

import msgspec

from dragoman.dialect.message import Json, Object, as_list, as_object, as_text
from dragoman.dialect.v2.to_v2 import originals
from dragoman.dialect.v2.to_v2.content import uri
from dragoman.dialect.v2.to_v2.ledger_notes import EMPTY_ENUM, FORM_TYPE, WRONG
from dragoman.dialect.v2.to_v2.tool_call import tool_call
from dragoman.dialect.v2.to_v2.writer import V2Writer, is_list, is_object, is_text, is_texts
from dragoman.schema import SchemaError, read, write
from dragoman.schema.v2 import ElicitationPropertySchema

_OPTION = {**dict.fromkeys(("optionId", "name", "kind"), is_text), "_meta": is_object}
_SCHEMA = {
    **dict.fromkeys(("type", "title", "description"), is_text),
    "properties": is_object,
    "required": is_texts,
    "_meta": is_object,
}
_ASKED = {
    **dict.fromkeys(("mode", "message", "sessionId", "toolCallId", "elicitationId", "url"), is_text),
    "requestedSchema": is_object,
    "_meta": is_object,
}


def permission(params: Object, writer: V2Writer) -> Object | None:
    """Translate the permission request; None if it can't be answered."""
    options = [writer.clean(as_object(item), _OPTION) for item in as_list(params.get("options"))]
    valid_options = [option for option in options if {"optionId", "name", "kind"} <= option.keys()]
    if not valid_options:
        return None
    call = tool_call(as_object(params.get("toolCall")), writer)
    title = as_text(as_object(call).get("title")) or "Permission required"
    texts, meta = originals.question(as_object(params.get("_meta")))
    question: Object = {
        "sessionId": params.get("sessionId"),
        "title": title,
        **texts,
        "options": valid_options,
    }
    if call is not None:
        question["subject"] = {"type": "tool_call", "toolCall": call}
    return {**question, "_meta": meta} if meta else question


def elicitation(params: Object, writer: V2Writer) -> Object | None:
    """Translate the form or link, without its session or request; None if it is neither."""
    fields = {name: value for name, value in params.items() if name not in ("sessionId", "requestId")}
    question = writer.clean(fields, _ASKED)
    if "message" not in question:
        return None
    mode = question.setdefault("mode", "form")
    if mode == "form":
        return {**question, "requestedSchema": schema(as_object(question.get("requestedSchema")), writer)}
    if mode == "url":
        complete = "url" in question and "elicitationId" in question
        return {**question, "url": uri(question["url"], writer)} if complete else None
    return question  # v2 leaves the list of modes open


def schema(fields: Object, writer: V2Writer) -> Object:
    """Translate a form's schema. v2 requires `type: object` and properties."""
    form = writer.clean(fields, _SCHEMA)
    if form.get("type") != "object" or "properties" not in form:
        writer.note(FORM_TYPE)
    entries = {name: _property(value, writer) for name, value in as_object(form.get("properties")).items()}
    properties = {name: value for name, value in entries.items() if value is not None}
    form = {**form, "type": "object", "properties": properties}
    if "required" in form:
        form["required"] = [name for name in form["required"] if name in properties]
    return form


def _property(value: Json, writer: V2Writer) -> Object | None:
    fields = {name: inner for name, inner in as_object(value).items() if inner is not None}
    if not is_text(fields.get("type")):
        writer.note(WRONG)
        return None
    for name in ("enum", "oneOf"):
        if name in fields and not (is_list(fields[name]) and fields[name]):
            writer.note(EMPTY_ENUM)
            del fields[name]
    if fields["type"] == "array" and not _items(as_object(fields.get("items"))):
        writer.note(EMPTY_ENUM)
        return None
    try:
        v2_property: Object = msgspec.json.decode(
            write(read(msgspec.json.encode(fields), ElicitationPropertySchema))
        )
    except SchemaError:  # a form with a field that its reader refuses is refused whole
        writer.note(WRONG)
        return None
    return v2_property


def _items(items: Object) -> bool:
    return bool(as_list(items.get("enum")) or as_list(items.get("anyOf")))
