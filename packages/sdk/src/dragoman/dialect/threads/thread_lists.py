"""Translates lists of threads and sessions both ways: `ThreadMetadata` here, `SessionInfo` in v1.

The dialect demands a title and a time of every thread. What a session does not say of itself is known from
what has passed: `ThreadFacts` remembers its first message, when it was first seen and when it last changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.dialect.message import Json, Object, as_list, as_object, as_text
from dragoman.dialect.threads.content import Note
from dragoman.dialect.threads.ledger_notes import RepairNotes

LONG_AGO = "1970-01-01T00:00:00Z"
"""The time for content without a time, if the edge has no clock. From a peer this value means "no time"."""

UNTITLED = "Untitled thread"
LONGEST_TITLE = 80


@dataclass
class ThreadFacts:
    """Facts about one thread. Our clock sets `created_at` and `changed_at`, the session sets `updated_at`."""

    title: str = ""
    first_message: str = ""
    created_at: str = ""
    changed_at: str = ""
    updated_at: str = ""

    def touch(self, now: str) -> None:
        """Set the time of the last message to now."""
        self.created_at = self.created_at or now
        self.changed_at = now
        self.updated_at = ""

    def prompt(self, texts: list[str]) -> None:
        """Add a message of the user; the first one is the title of a thread without a title."""
        self.first_message = self.first_message or title_from(" ".join(texts))

    def describe(self, info: Object) -> None:
        """Read the session's description, from a list or a `session_info_update`, where null removes a
        title.
        """
        if "title" in info:
            self.title = as_text(info["title"])
        self.updated_at = as_text(info.get("updatedAt")) or self.updated_at

    @property
    def best_title(self) -> str:
        return self.title or self.first_message

    @property
    def best_time(self) -> str:
        return self.updated_at or self.changed_at or self.created_at


def title_from(text: str) -> str:
    """A title of one line, short enough for a list."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1].rstrip() + "…"


def metadata(thread_id: str, facts: ThreadFacts, note: Note) -> Object:
    if not facts.title:
        note(RepairNotes.TITLES)
    if not facts.updated_at and not facts.changed_at:
        note(RepairNotes.TIMES)
    return {
        "id": thread_id,
        "title": facts.best_title or UNTITLED,
        "modifiedAt": facts.best_time or LONG_AGO,
    }


def session(metadata: Json, cwd: str) -> Object | None:
    """Read a session; None if the value has no id."""
    fields = as_object(metadata)
    thread_id, title, at = (as_text(fields.get(name)) for name in ("id", "title", "modifiedAt"))
    if not thread_id:
        return None
    return session_info(thread_id, cwd, title=title, updated_at="" if at == LONG_AGO else at)


def session_info(thread_id: str, cwd: str, *, title: str, updated_at: str) -> Object:
    info: Object = {"sessionId": thread_id, "cwd": cwd}
    if title:
        info["title"] = title
    if updated_at:
        info["updatedAt"] = updated_at
    return info


def infos(result: Json) -> list[Object]:
    """The sessions of an answer to `session/list` that have an id."""
    entries = as_list(as_object(result).get("sessions"))
    return [as_object(entry) for entry in entries if as_text(as_object(entry).get("sessionId"))]
