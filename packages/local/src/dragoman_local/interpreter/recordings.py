"""Reads recordings of conversations in any known format, as frames with their directions.

Read are our transcripts and those of others (`dir` with `msg` or `raw`, see `journal.transcript`),
lines of `{"to": …, "frame": …}`, and plain frames, one a line. A plain frame does not say who sent it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec

from dragoman.dialect import Position
from dragoman.dialect.explain import Said
from dragoman.wire.decode import read_value
from dragoman.wire.envelope import as_object
from dragoman_local.journal.transcript import read_transcript

_BY: dict[object, Position] = {
    "to_agent": "client",
    "agent": "client",
    "to_client": "agent",
    "client": "agent",
}
"""Who says what goes there."""


def read_recording(lines: Iterable[bytes]) -> Iterator[Said]:
    """Read a recording; its first line shows the format. Raises `BadTranscript` for an
    unreadable transcript.
    """
    rest = (line for line in lines if line.strip())
    first = next(rest, None)
    if first is None:
        return iter(())
    whole = chain([first], rest)
    fields = as_object(read_value(first))
    if "dir" in fields or "transcript" in fields:
        return _read_transcript(whole)
    if (
        ("to" in fields and ("frame" in fields or "raw" in fields))
        or "direction" in fields
        or "about" in fields
    ):
        return _read_addressed(whole)
    return ((None, line) for line in whole)


def _read_transcript(lines: Iterable[bytes]) -> Iterator[Said]:
    for entry in read_transcript(lines):
        if entry.direction != "note":
            yield _BY[entry.direction], entry.frame


def _read_addressed(lines: Iterable[bytes]) -> Iterator[Said]:
    for line in lines:
        fields = as_object(read_value(line))
        by = _BY.get(fields.get("to", fields.get("direction")))
        frame = fields.get("frame", fields.get("raw"))
        if by is not None and frame is not None:
            yield by, frame.encode() if isinstance(frame, str) else msgspec.json.encode(frame)
