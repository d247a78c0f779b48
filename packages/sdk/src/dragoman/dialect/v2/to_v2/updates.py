"""Translates stateless updates: plans, commands, titles, usage, notices, compaction. v2 allows unknown kinds,
so they pass unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

from dragoman.dialect.message import Json, Object, as_list, as_object
from dragoman.dialect.v2.to_v2.content import block, blocks
from dragoman.dialect.v2.to_v2.ledger_notes import BAD_TIME, COMMAND, LOCAL_TIME, WRONG
from dragoman.dialect.v2.to_v2.writer import (
    V2Writer,
    anything,
    is_count,
    is_list,
    is_number,
    is_object,
    is_text,
)

MAIN_PLAN = "main"
"""The name of v1's only plan, which has none in v1."""

_TAG = {"sessionUpdate": is_text, "_meta": is_object}
_ENTRY = {**dict.fromkeys(("content", "priority", "status"), is_text), "_meta": is_object}
_COMMAND = {"name": is_text, "description": is_text, "input": is_object, "_meta": is_object}
_INFO = {**_TAG, "title": is_text, "updatedAt": is_text}
_USAGE = {**_TAG, "used": is_count, "size": is_count, "cost": is_object}
_COST = {"amount": is_number, "currency": is_text, "_meta": is_object}
_NOTICE = {**_TAG, **dict.fromkeys(("severity", "title", "description"), is_text)}
_COMPACTION = {**_TAG, **dict.fromkeys(("compactionId", "status", "error"), is_text), "summary": is_list}
_SUMMARY = {**_TAG, "compactionId": is_text, "content": anything}


def update(fields: Object, writer: V2Writer) -> Object | None:
    """Translate one update of a session; None if v2 supports none of it."""
    convert = _KINDS.get(fields.get("sessionUpdate", ""))
    if convert is None:
        return fields
    v2_update = convert(fields, writer)
    if v2_update is None:
        writer.note(WRONG)
    return v2_update


def time(value: Json, writer: V2Writer) -> str | None:
    """Return a point in time in the form of RFC 3339."""
    try:
        read = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        writer.note(BAD_TIME)
        return None
    if _RFC3339.fullmatch(value):
        return str(value)
    if read.tzinfo is None:
        writer.note(LOCAL_TIME)
    return read.replace(tzinfo=read.tzinfo or UTC).astimezone(UTC).isoformat()


_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")


def _plan(fields: Object, writer: V2Writer) -> Object | None:
    entries = [_entry(as_object(item), writer) for item in as_list(fields.get("entries"))]
    valid_entries = [entry for entry in entries if entry is not None]
    v2_update: Object = {
        "sessionUpdate": "plan_update",
        "plan": {"type": "items", "planId": MAIN_PLAN, "entries": valid_entries},
    }
    return {**v2_update, "_meta": fields["_meta"]} if is_object(fields.get("_meta")) else v2_update


def _entry(item: Object, writer: V2Writer) -> Object | None:
    entry = writer.clean(item, _ENTRY)
    if "content" not in entry:
        writer.note(WRONG)
        return None
    return {"priority": "medium", "status": "pending", **entry}


def _commands(fields: Object, writer: V2Writer) -> Object | None:
    by_name: dict[str, Object] = {}
    for item in as_list(fields.get("availableCommands")):
        command = writer.clean(as_object(item), _COMMAND)
        name = command.get("name", "")
        if not name or re.search(r"\s", name) or name in by_name:
            writer.note(COMMAND)
            continue
        input_member = as_object(command.pop("input", None))
        by_name[name] = {"type": "command", "description": "", **command}
        if is_text(input_member.get("hint")):
            by_name[name]["input"] = {"type": "text", "hint": input_member["hint"]}
    return {
        **writer.clean({**fields, "availableCommands": []}, _COMMANDS),
        "availableCommands": [*by_name.values()],
    }


_COMMANDS = {**_TAG, "availableCommands": is_list}


def _info(fields: Object, writer: V2Writer) -> Object | None:
    info = writer.clean(fields, _INFO)
    if "updatedAt" in info:
        when = time(info.pop("updatedAt"), writer)
        info = info if when is None else {**info, "updatedAt": when}
    return info


def _usage(fields: Object, writer: V2Writer) -> Object | None:
    usage = writer.clean(fields, _USAGE)
    if "used" not in usage or "size" not in usage:
        return None
    if "cost" in usage:
        cost = writer.clean(usage.pop("cost"), _COST)
        usage = {**usage, "cost": cost} if {"amount", "currency"} <= cost.keys() else usage
    return usage


def _notice(fields: Object, writer: V2Writer) -> Object | None:
    notice = writer.clean(fields, _NOTICE)
    return notice if notice.get("title") and "severity" in notice else None


def _compaction(fields: Object, writer: V2Writer) -> Object | None:
    compaction = writer.clean(fields, _COMPACTION)
    if "summary" in compaction:
        compaction["summary"] = blocks(compaction["summary"], writer)
    return compaction if "compactionId" in compaction and "status" in compaction else None


def _summary(fields: Object, writer: V2Writer) -> Object | None:
    summary = writer.clean(fields, _SUMMARY)
    content = block(summary.get("content"), writer)
    return None if content is None or "compactionId" not in summary else {**summary, "content": content}


Convert: TypeAlias = Callable[[Object, V2Writer], Object | None]

_KINDS: dict[str, Convert] = {
    "plan": _plan,
    "available_commands_update": _commands,
    "session_info_update": _info,
    "usage_update": _usage,
    "notice": _notice,
    "compaction_update": _compaction,
    "compaction_summary_chunk": _summary,
}
