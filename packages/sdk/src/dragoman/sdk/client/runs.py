"""Reads runs of updates by one call into C: whole frames of the most frequent kind, with their envelopes.

Whatever is not exactly such a frame makes the call fail, and its block is read frame by frame. In a stream of
words, frames differ in one short string alone: what stands around it is read once, and then only the strings.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import Any, Literal, TypeAlias

import msgspec

from dragoman.decoders import json_decoder
from dragoman.schema import v1
from dragoman.schema.choice import decode_choice
from dragoman.wire.plain import PlainNotification


class PlainParams(msgspec.Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """The params of an update with only the required fields: no `_meta`, nothing unknown."""

    session_id: str
    update: v1.SessionUpdate


UpdateFrame: TypeAlias = PlainNotification[Literal["session/update"], PlainParams]
"""A whole frame of the most frequent kind."""

NoteFrame: TypeAlias = PlainNotification[Literal["session/update"], v1.SessionNotification]
"""The same frame, for readers that pass the whole message on."""


@cache
def run_reader(frame: type[object]) -> Callable[[bytes], list[Any]]:
    """Build the reader with the first connection: building takes longer than a small program's start."""
    return json_decoder(frame, dec_hook=decode_choice).decode_lines


SHORT = 384
"""The average frame size in bytes up to which reading only the strings is cheaper."""

FEW = 8
"""The number of frames in a block from which on it is worth finding their common parts."""

_OTHER_TEXT = "?"

_read_strings = json_decoder(list[str]).decode


class ChunkRun(msgspec.Struct, frozen=True, gc=False):
    """The common form of the frames around the texts of a stream of chunks."""

    head: bytes
    """The bytes up to the quote before the text."""
    tail: bytes
    """The bytes from the quote after the text to the newline."""
    session_id: str
    kind: Callable[..., v1.SessionUpdate]

    def read(self, block: bytes) -> list[v1.SessionUpdate] | None:
        """Read the updates of a block; None if a frame in it has another form."""
        head, tail = self.head, self.tail
        begin, end = len(head), -len(tail)
        texts = [line[begin:end] for line in BytesIO(block)]
        if head + (tail + head).join(texts) + tail != block:
            return None
        strings_text = b'["' + b'","'.join(texts) + b'"]'
        # Each quote between two texts ends a string if no backslash is before it. Then a text with a quote of
        # its own makes more strings than there are texts.
        if b'\\","' in strings_text:
            return None
        try:
            strings = _read_strings(strings_text)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        if len(strings) != len(texts):
            return None
        kind, content = self.kind, v1.TextContent
        return [kind(content=content(text=string)) for string in strings]


class ChunkReader:
    """Reads blocks that have the same form as the last one."""

    __slots__ = ("_run", "session_id")

    def __init__(self) -> None:
        self._run: ChunkRun | None = None
        self.session_id = ""
        """Whose chunks it can read."""

    def learn(self, block: bytes, frames: list[UpdateFrame]) -> None:
        """Learn the form of `frames`, which are a block of one session."""
        self._keep(find_run(block, frames) if len(frames) >= FEW else None)

    def read(self, block: bytes) -> list[v1.SessionUpdate] | None:
        """Read the updates of a block; None if its form must be learnt the slow way."""
        run = self._run
        updates = run.read(block) if run is not None and block.startswith(run.head) else None
        if updates is None or len(block) > len(updates) * SHORT:
            self._keep(None)  # something else has begun
        return updates

    def _keep(self, run: ChunkRun | None) -> None:
        self._run = run
        self.session_id = "" if run is None else run.session_id


def find_run(block: bytes, frames: list[UpdateFrame]) -> ChunkRun | None:
    """Return the form of a block's first frame, if it is a plain text chunk. `frames` are
    those of the block.
    """
    params = frames[0].params
    content = getattr(params.update, "content", None)
    if not isinstance(content, v1.TextContent) or len(block) > len(frames) * SHORT:
        return None
    line = block[: block.find(b"\n") + 1]
    head, text, tail = line.rpartition(msgspec.json.encode(content.text))
    run = ChunkRun(head + b'"', b'"' + tail, params.session_id, type(params.update))
    # The same words may stand elsewhere too. With other ones in their place, it is seen which they are.
    return run if text and all(_has_text(run, string) for string in (content.text, _OTHER_TEXT)) else None


def _has_text(run: ChunkRun, text: str) -> bool:
    """Whether this text, written so, is a chunk with nothing else in it."""
    try:
        frames = run_reader(UpdateFrame)(run.head + msgspec.json.encode(text)[1:-1] + run.tail)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    expected = PlainParams(session_id=run.session_id, update=run.kind(content=v1.TextContent(text=text)))
    return [frame.params for frame in frames] == [expected]


def as_notification(params: PlainParams) -> v1.SessionNotification:
    return v1.SessionNotification(session_id=params.session_id, update=params.update)
