"""Which message a chunk belongs to: in v2 each says, in v1 it need not."""

from __future__ import annotations

from dragoman.dialect.debts import OwnIds
from dragoman.dialect.message import Json
from dragoman.dialect.v2.to_v2.remarks import CHUNK_ID
from dragoman.dialect.v2.to_v2.scribe import Scribe

CHUNKS = frozenset({"user_message_chunk", "agent_message_chunk", "agent_thought_chunk"})


class MessageIds:
    """Chunks of one kind in a row are one message, unless something came in between or they say otherwise."""

    def __init__(self, ids: OwnIds) -> None:
        self._ids = ids
        self._kind = ""
        self._id = ""

    def of(self, kind: str, given: Json, scribe: Scribe) -> str:
        if type(given) is str and given:
            self._kind = ""
            return given
        if kind != self._kind:
            self._kind, self._id = kind, self._ids.next()
        scribe.note(CHUNK_ID)
        return self._id

    def interrupt(self) -> None:
        """A tool call, or a turn, begins: what follows is another message."""
        self._kind = ""
