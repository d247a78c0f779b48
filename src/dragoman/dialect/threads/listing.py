"""Threads and sessions in lists: `ThreadMetadata` here, `SessionInfo` in v1. Both directions together."""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_list, as_object, as_text
from dragoman.dialect.threads.content import Note
from dragoman.dialect.threads.phrases import Repaired

LONG_AGO = "1970-01-01T00:00:00Z"
"""For what has no time: the dialect demands one, and an edge has no clock."""


def thread(thread_id: str, title: Json, modified: Json, note: Note) -> Object:
    at = as_text(modified)
    if not at:
        note(Repaired.TIMES)
    return {"id": thread_id, "title": as_text(title), "modifiedAt": at or LONG_AGO}


def session(metadata: Json, cwd: str) -> Object | None:
    """None for what names no thread."""
    fields = as_object(metadata)
    thread_id, title, at = (as_text(fields.get(name)) for name in ("id", "title", "modifiedAt"))
    if not thread_id:
        return None
    info: Object = {"sessionId": thread_id, "cwd": cwd}
    if title:
        info["title"] = title
    if at and at != LONG_AGO:
        info["updatedAt"] = at
    return info


def infos(result: Json) -> list[Object]:
    """The sessions of an answer to `session/list` that have an id."""
    listed = as_list(as_object(result).get("sessions"))
    return [as_object(one) for one in listed if as_text(as_object(one).get("sessionId"))]
