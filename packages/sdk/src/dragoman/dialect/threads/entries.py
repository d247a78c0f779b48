"""Builds a thread's entries from a session's updates: messages, and files that were read.

What is kept has a bound; the oldest entries go first. A chunk that was said stays a chunk. Chunks belong to
one message while their role and their message id stay the same and nothing else was entered in between.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from dragoman.dialect.message import Object, as_list, as_object, as_text
from dragoman.dialect.threads.content import ROLE_OF_UPDATE, Note, chunk, text_of_block, text_of_call
from dragoman.dialect.threads.ledger_notes import Lost

MOST_BYTES = 8 * 1024 * 1024
"""The most bytes to keep of one thread: a very long conversation, which a process can afford many times."""

MOST_CALLS = 1000
"""The most tool calls to watch at once: some agents never end a call."""

MOST_READ = 1000
"""The most files that may still appear in a tool call: some agents never report one."""

OVERHEAD = 100
"""The approximate overhead of a piece of text, in bytes."""


@dataclass
class _Entry:
    fields: Object
    texts: list[str] = field(default_factory=list)
    message_id: str = ""
    size: int = OVERHEAD

    def to_json(self) -> Object:
        if self.fields["type"] != "message":
            return self.fields
        return {**self.fields, "chunks": [chunk(text) for text in self.texts]}


class Entries:
    """The entries of one thread."""

    def __init__(self, note: Note, *, most_bytes: int = MOST_BYTES) -> None:
        self._note = note
        self._most = most_bytes
        self._entries: deque[_Entry] = deque()
        self._size = 0
        self._read: dict[str, None] = {}  # files whose read was entered, and that no tool call told of yet
        self._calls: dict[str, Object] = {}  # tool calls that are not over, as far as they were told

    def to_json(self) -> list[Object]:
        return [entry.to_json() for entry in self._entries]

    def clear(self) -> None:
        self._entries.clear()
        self._calls.clear()
        self._size = 0

    def begin(self, role: str, texts: list[str]) -> None:
        """Add a whole message."""
        self._enter(_Entry({"type": "message", "role": role}))
        for text in texts:
            self._grow(text)

    def read(self, path: str, text: str) -> None:
        """Add a file, or part of one, that the agent has read. A tool call about it adds nothing."""
        self._enter_read(path, text)
        self._read[path] = None
        if len(self._read) > MOST_READ:
            del self._read[next(iter(self._read))]

    def update(self, update: Object) -> None:
        """Add a v1 update, if its kind becomes an entry."""
        kind = as_text(update.get("sessionUpdate"))
        if kind in ROLE_OF_UPDATE:
            self._say(ROLE_OF_UPDATE[kind], update)
        elif kind in ("tool_call", "tool_call_update"):
            self._call(update)

    def _say(self, role: str, update: Object) -> None:
        text = text_of_block(update.get("content"))
        if text is None:
            self._note(Lost.OTHER_CONTENT)
            return
        message_id = as_text(update.get("messageId"))
        last = self._entries[-1] if self._entries else None
        if last is None or last.fields.get("role") != role or last.message_id != message_id:
            self._enter(_Entry({"type": "message", "role": role}, message_id=message_id))
        self._grow(text)

    def _call(self, update: Object) -> None:
        call_id = as_text(update.get("toolCallId"))
        earlier = self._calls.pop(call_id, {})
        members = {name: value for name, value in update.items() if value is not None}
        call = {**earlier, **members}
        if call.get("kind") != "read" and update.get("sessionUpdate") == "tool_call":
            self._note(Lost.TOOL_CALLS)
        if call.get("status") not in ("completed", "failed"):
            self._watch(call_id, {name: call[name] for name in WATCHED if name in call})
        elif call.get("kind") == "read":
            self._reads(call)

    def _reads(self, call: Object) -> None:
        """A file that the client was asked for is entered already. Where it was not asked, the call has to
        tell; what a call shows may be less than the file.
        """
        paths, text = _paths(call), text_of_call(call.get("content"))
        entered_paths = [path for path in paths if path in self._read]
        for path in entered_paths:
            del self._read[path]
        if entered_paths:
            return
        if paths and text is not None:
            self._enter_read(paths[0], text)
        else:
            self._note(Lost.EMPTY_READS)

    def _enter_read(self, path: str, text: str) -> None:
        if len(text) > self._most:
            self._note(Lost.OLD_ENTRIES)
        else:
            size = OVERHEAD + len(text)
            self._enter(_Entry({"type": "readFile", "path": path, "content": text}, size=size))

    def _watch(self, call_id: str, call: Object) -> None:
        self._calls[call_id] = call
        if len(self._calls) > MOST_CALLS:
            del self._calls[next(iter(self._calls))]

    def _enter(self, entry: _Entry) -> None:
        self._entries.append(entry)
        self._size += entry.size
        self._shrink()

    def _grow(self, text: str) -> None:
        entry = self._entries[-1]
        if len(text) > self._most:
            self._note(Lost.OLD_ENTRIES)
            text = text[-self._most :]
        entry.texts.append(text)
        entry.size += OVERHEAD + len(text)
        self._size += OVERHEAD + len(text)
        self._shrink()

    def _shrink(self) -> None:
        """The entry that is being made stays, unless it alone is too large: then its beginning goes."""
        while self._size > self._most and len(self._entries) > 1:
            self._size -= self._entries.popleft().size
            self._note(Lost.OLD_ENTRIES)
        last = self._entries[-1]
        while self._size > self._most and len(last.texts) > 1:
            freed_size = OVERHEAD + len(last.texts.pop(0))
            last.size -= freed_size
            self._size -= freed_size
            self._note(Lost.OLD_ENTRIES)


WATCHED = ("kind", "status", "locations", "content", "rawInput")


def _paths(call: Object) -> list[str]:
    places = [as_text(as_object(place).get("path")) for place in as_list(call.get("locations"))]
    paths = [path for path in dict.fromkeys(places) if path]
    raw = as_text(as_object(call.get("rawInput")).get("path"))
    return paths or ([raw] if raw else [])
