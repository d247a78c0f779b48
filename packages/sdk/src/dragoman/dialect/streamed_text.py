"""Remembers the text that a turn has streamed, to recognise a final answer that repeats it.

Some dialects let the answer to a prompt carry content. Content that was streamed must not be shown again, and
content that was not must be shown. It was streamed if a run of chunks says exactly the same: all of them, the
last message, or one in between; a word inside of another chunk is no repetition.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dragoman.dialect.message import Json, as_object

MOST_CHARACTERS = 1024 * 1024
"""The most characters to keep of one turn: of longer texts, only the end is compared."""


class StreamedTurns:
    """The running turn of each session."""

    def __init__(self) -> None:
        self._turns: dict[str, StreamedText] = {}

    def __bool__(self) -> bool:
        return bool(self._turns)

    def begin(self, session: str) -> None:
        self._turns[session] = StreamedText()

    def add(self, session: str, block: Json) -> None:
        """Add a block of an agent's message in v1. Text between two turns is not kept."""
        turn = self._turns.get(session)
        if turn is not None:
            turn.add(block)

    def end(self, session: str) -> StreamedText:
        return self._turns.pop(session, None) or StreamedText()


class StreamedText:
    """The chunks of one turn as one text, with the places where chunks begin and end."""

    def __init__(self) -> None:
        self._chunks: list[str] = []
        self._length = 0
        self._is_cut = False

    @property
    def is_silent(self) -> bool:
        return not self._chunks

    def add(self, block: Json) -> None:
        text = _text(block)
        self._chunks.append(text)
        self._length += len(text)
        while self._length > MOST_CHARACTERS and len(self._chunks) > 1:
            self._length -= len(self._chunks.pop(0))
            self._is_cut = True

    def repeats(self, blocks: Iterable[Json]) -> bool:
        """Whether these blocks hold only streamed text."""
        final_text = "".join(map(_text, blocks)).strip()
        text = "".join(self._chunks)
        if not final_text:
            return True
        if self._is_cut and len(final_text) > len(text):
            return final_text.endswith(text.strip())
        starts, ends = self._boundaries()
        at = text.find(final_text)
        while at >= 0:
            if at in starts and at + len(final_text) in ends:
                return True
            at = text.find(final_text, at + 1)
        return False

    def _boundaries(self) -> tuple[set[int], set[int]]:
        """Where chunks begin and end, white space at their edges aside."""
        starts, ends, at = set[int](), set[int](), 0
        for chunk in self._chunks:
            starts.add(at + len(chunk) - len(chunk.lstrip()))
            ends.add(at + len(chunk.rstrip()))
            at += len(chunk)
        return starts, ends


def _text(block: Json) -> str:
    """A block in words; media and resources, which have none, by all that they are."""
    fields = as_object(block)
    text = fields.get("text", as_object(fields.get("resource")).get("text"))
    if type(text) is str:
        return text
    members = {name: value for name, value in fields.items() if name != "_meta"}
    return f"\0{msgspec.json.encode(members, order='sorted').decode()}\0"
