"""Translates permission requests of v2 into v1, and recognises which v1 answers belong to them.

v2 asks with a title about a subject; v1 asks about a tool call. Nothing here decides anything: a question
that v1 cannot ask is not asked, and what is not one of the options offered is not consent.

Elicitation forms differ only in their formats, which v2 names more freely.
"""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_list, as_object, as_text, without
from dragoman.dialect.permission import CANCELLED, is_choice
from dragoman.dialect.v2.to_v1.fields import LossReporter, fits
from dragoman.schema.v1.elicitation import STRING_FORMATS
from dragoman.schema.v1.permission import PERMISSION_OPTION_KINDS


def options(params: Object, report: LossReporter) -> list[Object] | None:
    """Translate the options; None if v1 can't offer them. Clients approve automatically by v1's kinds, so no
    kind is ever replaced by another.
    """
    entries = [as_object(item) for item in as_list(params.get("options"))]
    if not entries or not all(
        fits(item.get("optionId"), str) and fits(item.get("name"), str) for item in entries
    ):
        report.note_loss("a permission request without options to choose from", "answered as cancelled")
        return None
    if not all(as_text(item.get("kind")) in PERMISSION_OPTION_KINDS for item in entries):
        report.note_loss("a permission option of a kind of its own", "the request is answered as cancelled")
        return None
    return entries


def subject(params: Object, fresh_id: str) -> Object:
    """Return the v2 tool call of a question; make one up under `fresh_id` if there is none. Its input holds
    the whole subject, so that all of it is judged and shown.
    """
    about = as_object(params.get("subject"))
    title, description = as_text(params.get("title")), as_text(params.get("description"))
    call = as_object(about.get("toolCall"))
    if about.get("type") == "tool_call" and fits(call.get("toolCallId"), str):
        more = without(about, "type", "toolCall", "_meta")
        return {**call, "rawInput": {**as_object(call.get("rawInput")), "subject": more}} if more else call
    tool_call: Object = {"toolCallId": fresh_id, "title": title or "Permission required"}
    raw_input = without(about, "type", "toolCallId", "_meta")
    if raw_input:
        tool_call["rawInput"] = raw_input
    if about.get("type") == "command":
        tool_call = {
            "toolCallId": as_text(about.get("toolCallId")) or fresh_id,
            "kind": "execute",
            "title": as_text(about.get("command")) or title,
            "rawInput": raw_input,
        }
    if description:
        tool_call["content"] = [{"type": "content", "content": {"type": "text", "text": description}}]
    return tool_call


def question(params: Object, call: Object, options: list[Object]) -> Object:
    """Return the v1 params. If the call has its own title and description, those of the question are stored
    beside it.
    """
    texts = {name: params[name] for name in ("title", "description") if as_text(params.get(name))}
    if not as_text(call.get("title")):
        call = {**call, "title": as_text(params.get("title")) or "Permission required"}
    rest = without(params, "title", "description", "subject", "options", "_meta")
    meta = {**as_object(params.get("_meta")), **({"dragoman/question": texts} if texts else {})}
    v1_params = {**rest, "toolCall": call, "options": options}
    return {**v1_params, "_meta": meta} if meta else v1_params


def outcome(result: Json, option_ids: set[str], report: LossReporter) -> Object:
    """Return the outcome of this question if the answer is valid; otherwise cancelled."""
    fields = as_object(result)
    if is_choice(fields, option_ids):
        return fields
    report.note_repair("an answer to a permission request that is none of its options", "said as cancelled")
    return CANCELLED


def form(params: Object, report: LossReporter) -> Object:
    """Translate a v2 `elicitation/create` into v1; the same object if nothing changes."""
    schema = as_object(params.get("requestedSchema"))
    properties = as_object(schema.get("properties"))
    v1_properties = {name: _property(as_object(value), value, report) for name, value in properties.items()}
    if v1_properties == properties:
        return params
    return {**params, "requestedSchema": {**schema, "properties": v1_properties}}


def _property(fields: Object, value: Json, report: LossReporter) -> Json:
    format_ = fields.get("format")
    if fields.get("type") != "string" or format_ is None or format_ in STRING_FORMATS:
        return value
    report.note_loss("a format of text that v1 does not know", "left out of the form")
    return without(fields, "format")
