"""Translates the fields of a v2 tool call upsert into v1. `agent_calls` remembers the calls."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.dialect.message import Json, Object, as_list, as_object, as_text, without
from dragoman.dialect.v2.to_v1.content import block
from dragoman.dialect.v2.to_v1.diffs import diff, paths
from dragoman.dialect.v2.to_v1.fields import LossReporter, fits, fitting, with_originals
from dragoman.schema.v1.tool_call import TOOL_CALL_STATUSES, TOOL_KINDS

TerminalTextOf = Callable[[str], str]
"""Returns the text of a terminal by its id."""

_STATUS = {"paused": "in_progress", "cancelled": "failed"}
_MEMBERS = ("title", "name", "rawInput", "rawOutput")


def changes(fields: Object, terminal_text: TerminalTextOf, report: LossReporter) -> Object:
    """Translate the fields of a v2 upsert into a v1 update; the caller sets `toolCallId` and `_meta`."""
    if as_object(fields.get("capabilities")):
        report.note_loss("that a tool call can be cancelled alone", "left out: v1 has no word for it")
    fields = without(fields, "sessionUpdate", "toolCallId", "_meta", "capabilities")
    fields = _without_cleared(fields, report)
    was: Object = {}
    if "kind" in fields:
        fields, was = _kind(fields, was, report)
    if "status" in fields:
        fields, was = _status(fields, was, report)
    if "content" in fields:
        about = _diff_paths(fields["content"])
        fields = {**fields, "content": contents(fields["content"], terminal_text, report)}
        if about and fields.get("locations") is None:
            fields["locations"] = [{"path": path} for path in about]
    if "locations" in fields:
        fields = {**fields, "locations": locations(fields["locations"], report)}
    fields = fitting(fields, {"title": str, "name": str}, report)
    return with_originals(fields, was) if was else fields


def contents(value: Json, terminal_text: TerminalTextOf, report: LossReporter) -> list[Object]:
    """Translate the whole content of a call."""
    items: list[Object] = []
    for item in as_list(value):
        items += _content(as_object(item), terminal_text, report)
    return items


def locations(value: Json, report: LossReporter) -> list[Object]:
    entries = [as_object(item) for item in as_list(value)]
    places = [
        fitting(item, {"line": int, "_meta": dict}, report) for item in entries if fits(item.get("path"), str)
    ]
    return [
        without(item, "line") if type(line := item.get("line")) is int and not 1 <= line < 2**32 else item
        for item in places
    ]


def fallback_title(fields: Object) -> str:
    """Return a title for a call without one, because v1 requires a title."""
    for name in ("title", "name", "kind"):
        if as_text(fields.get(name)):
            return as_text(fields[name])
    return "Tool call"


def terminals(value: Json) -> list[str]:
    """Return the terminals in a call's content."""
    items = [as_object(item) for item in as_list(value)]
    return [as_text(item.get("terminalId")) for item in items if item.get("type") == "terminal"]


def _content(item: Object, terminal_text: TerminalTextOf, report: LossReporter) -> list[Object]:
    kind = item.get("type")
    if kind == "content":
        inner = block(item.get("content"), report)
        if inner is item.get("content") and inner is not None:
            return [item]
        return [] if inner is None else [{**item, "content": inner}]
    if kind == "diff":
        return diff(item, report)
    if kind == "terminal":
        report.note_repair("a terminal of the agent", "shown as text: a terminal of v1 belongs to the client")
        text = {"type": "text", "text": terminal_text(as_text(item.get("terminalId")))}
        return [with_originals({"type": "content", "content": text}, item)]
    inner = block(item, report)  # an unknown type becomes a text; anything else is lost
    return [] if inner is None else [{"type": "content", "content": inner}]


def _kind(fields: Object, was: Object, report: LossReporter) -> tuple[Object, Object]:
    kind = fields["kind"]
    if type(kind) is str and kind in TOOL_KINDS:
        return fields, was
    if kind is not None:
        report.note_loss("a kind of tool that v1 does not know", "said as other, the original in _meta")
        was = {**was, "kind": kind}
    return {**fields, "kind": "other"}, was


def _status(fields: Object, was: Object, report: LossReporter) -> tuple[Object, Object]:
    status = fields["status"]
    if type(status) is str and status in TOOL_CALL_STATUSES:
        return fields, was
    if status is None:
        return {**fields, "status": "pending"}, was
    report.note_loss(
        "a tool call that is paused, cancelled or in a state of its own",
        "said as in_progress, failed or in_progress, the original in _meta",
    )
    v1_status = _STATUS.get(status, "in_progress") if type(status) is str else "in_progress"
    return {**fields, "status": v1_status}, {**was, "status": status}


def _without_cleared(fields: Object, report: LossReporter) -> Object:
    """In v2 null clears, in v1 it says nothing."""
    names = [name for name in _MEMBERS if name in fields and fields[name] is None]
    if not names:
        return fields
    report.note_loss("a title, name, input or output of a tool call cleared", "it stays: v1 cannot clear it")
    return without(fields, *names)


def _diff_paths(content: Json) -> list[str]:
    items = [as_object(item) for item in as_list(content)]
    return [path for item in items if item.get("type") == "diff" for path in paths(item)]
