"""Reads the entries of a thread from a session's stream: messages, and files that were read.

The dialect `threads` gathers entries from what passes by; whoever comes later can only replay updates, and
those do not tell what a file said that the agent asked a client for. The stream does: it has the request and
its answer. So what is told here is the same for everybody, whenever they came. What is kept has the bound
that the dialect has; the oldest entries go first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from dragoman.dialect.ledger import LedgerNote
from dragoman.dialect.message import Object, as_object, as_text
from dragoman.dialect.threads.content import chunks_of
from dragoman.dialect.threads.entries import MOST_BYTES, Entries
from dragoman.wire.decode import UNREADABLE_TEXT
from dragoman_hub.session.frames import STEERED_MESSAGE
from dragoman_local.journal import StoredEntry

READ = "fs/read_text_file"
MOST_OPEN = 1000
"""Requests whose answer is waited for, of agents whose requests nobody answers."""


Id: TypeAlias = int | str


class ThreadFold:
    """Folds the entries of a stream as they come. `lost_counts` has what the dialect has no place for."""

    def __init__(self, *, most_bytes: int = MOST_BYTES) -> None:
        self.lost_counts: dict[str, int] = {}
        self._entries = Entries(self._note, most_bytes=most_bytes)
        self._turn: Id | None = None  # the prompt that is with the agent
        self._loading: Id | None = None  # the request whose replay tells what we know
        self._reads: dict[Id, str] = {}  # files that the agent asked for

    def add(self, page: Iterable[StoredEntry]) -> None:
        for entry in page:
            try:
                message = msgspec.json.decode(entry.frame)
            except UNREADABLE_TEXT:
                continue  # such as a line of standard error
            if type(message) is dict:
                _READERS[entry.direction](self, message)

    def to_json(self) -> list[Object]:
        """`ThreadEntry` objects, as the dialect has them."""
        return self._entries.to_json()

    def _from_agent(self, message: Object) -> None:
        method, params = message.get("method"), as_object(message.get("params"))
        if method == "session/update":
            self._on_update(as_object(params.get("update")))
        elif method == READ:
            self._on_request(message.get("id"), params)
        elif method is None:
            self._on_answer(message.get("id"))

    def _to_agent(self, message: Object) -> None:
        method, params = message.get("method"), as_object(message.get("params"))
        if method == "session/prompt":
            self._turn = message.get("id")
            texts = [as_text(chunk["chunk"]) for chunk in chunks_of(params.get("prompt"), self._note)]
            self._entries.begin("user", texts)
        elif method == "session/load":
            self._loading = message.get("id")
        elif method is None:
            self._on_file(message)

    def _on_note(self, message: Object) -> None:
        if message.get("hub") == "turn_ended":
            self._turn = None

    def _on_update(self, update: Object) -> None:
        is_users = update.get("sessionUpdate") == "user_message_chunk"
        is_steered = as_text(update.get("messageId")).startswith(STEERED_MESSAGE)
        is_echo = is_users and not is_steered and self._turn is not None
        if not is_echo and self._loading is None:
            self._entries.update(update)

    def _on_answer(self, request_id: object) -> None:
        if request_id == self._turn:
            self._turn = None
        elif request_id == self._loading:
            self._loading = None

    # Files that a client lent.

    def _on_request(self, request_id: object, params: Object) -> None:
        if isinstance(request_id, int | str):
            self._reads[request_id] = as_text(params.get("path"))
            if len(self._reads) > MOST_OPEN:
                del self._reads[next(iter(self._reads))]

    def _on_file(self, answer: Object) -> None:
        request_id = answer.get("id")
        path = self._reads.pop(request_id, None) if isinstance(request_id, int | str) else None
        content = as_object(answer.get("result")).get("content")
        if path and type(content) is str:
            self._entries.read(path, content)

    def _note(self, phrase: LedgerNote) -> None:
        self.lost_counts[phrase.what] = self.lost_counts.get(phrase.what, 0) + 1


_READERS = {
    "to_client": ThreadFold._from_agent,
    "to_agent": ThreadFold._to_agent,
    "note": ThreadFold._on_note,
}
