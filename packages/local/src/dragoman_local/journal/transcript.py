"""Reads and writes transcripts: a stream as text, one JSON object per line.

The first line is a header, `{"transcript": 1, "stream": …, "title": …}`; 1 is the version of the format. Then
comes a line for each entry: `ts` in seconds since 1970, `dir` (`to_agent`, `to_client` or `note`), and the
frame as `msg` if it is JSON, byte for byte, as `raw` if it is other text, or as `base64` if it is not text.
An entry of a child session, which a hub keeps as a stream of its own, names that as `stream`; notes of such
streams tell how a hub stands with them, and are not read as notes of the transcript's own stream.
Others write `c2a`, `a2c`, `err` and `meta` without a header; that is read too. A line that cannot be read is
an error that names it, except a last line that was cut off.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dragoman.decoders import convert, json_decoder
from dragoman.errors import BadTranscript
from dragoman_local.journal.contract import PAGE_ROWS, Direction, Entry, Journal, StreamInfo
from dragoman_local.journal.frame_shape import is_utf8
from dragoman_local.journal.stream_facts import StreamFacts

VERSION = 1

IMPORTING = "importing"
"""The state of a half imported stream: it is not the whole session."""

DESCRIBED = ("agent", "cwd", "title", "state", "session")

DIRECTIONS: dict[str, Direction] = {
    "to_agent": "to_agent",
    "to_client": "to_client",
    "note": "note",
    "c2a": "to_agent",
    "a2c": "to_client",
    "err": "note",
    "meta": "note",
}


_skip = json_decoder(Raw).decode
_skip_all = json_decoder(Raw).decode_lines
"""Go through JSON texts, escapes included, and make nothing of them. Whether they are UTF-8 is not seen."""


class _TranscriptLine(Struct):
    ts: float
    dir: str
    stream: str | UnsetType = UNSET
    raw: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET


# Writing.


def header(info: StreamInfo, **more: object) -> bytes:
    """Return the header line. `more` are additional fields, such as the streams of its children."""
    members = {**msgspec.to_builtins(info), **more}
    filled = {name: value for name, value in members.items() if value}
    return msgspec.json.encode({"transcript": VERSION, **filled}) + b"\n"


def line(entry: Entry, *, stream: str = "") -> bytes:
    """Return one entry as a line, with its newline. `stream` is that of a child session, if the entry is of
    one.
    """
    if _is_json(entry.frame):
        moment = msgspec.json.encode(entry.time)
        place = b'"stream":%b,' % msgspec.json.encode(stream) if stream else b""
        return b'{"ts":%b,"dir":"%b",%b"msg":%b}\n' % (
            moment,
            entry.direction.encode(),
            place,
            entry.frame,
        )
    record = _TranscriptLine(ts=entry.time, dir=entry.direction, stream=stream or UNSET)
    try:
        record.raw = entry.frame.decode()
    except UnicodeDecodeError:
        record.base64 = base64.b64encode(entry.frame).decode()
    return msgspec.json.encode(record) + b"\n"


def lines(entries: Sequence[Entry], *, are_json: bool = False) -> bytes:
    """Return the entries as lines, for a part of their separate cost. `are_json` if all frames are known to
    be JSON without newlines or blanks around them.
    """
    frames = [entry.frame for entry in entries]
    if not are_json and not _are_json(frames):
        return b"".join(map(line, entries))
    pieces: list[bytes] = []
    direction, moment, before = "", -1.0, b""
    for entry, frame in zip(entries, frames, strict=True):
        if entry.time != moment or entry.direction != direction:
            direction, moment = entry.direction, entry.time
            before = b'{"ts":%b,"dir":"%b","msg":' % (msgspec.json.encode(moment), direction.encode())
        pieces += (before, frame, b"}\n")
    return b"".join(pieces)


async def export(journal: Journal, stream: str) -> AsyncIterator[bytes]:
    """Yield a whole stream as a transcript, in pieces of whole lines."""
    info = await journal.info(stream)
    yield header(info or StreamInfo(stream=stream))
    async for page in journal.replay(stream):
        yield lines([stored_entry.entry for stored_entry in page])


async def load(journal: Journal, stream: str, file: Iterable[bytes]) -> int:
    """Append a transcript to a stream, described by its header or its frames; return the sequence of its last
    entry. Until it is complete, the stream's state is `importing`.
    """
    lines = iter(file)
    first = next(lines, b"")
    header_info = read_header(first)
    stream_facts = StreamFacts()
    facts: dict[str, str] = {}
    last, batch = await journal.append(stream, []), []
    await journal.describe(stream, state=IMPORTING)
    for entry in read_transcript(chain([first], lines)):
        batch.append(entry)
        facts |= stream_facts.read(entry)
        if len(batch) == PAGE_ROWS:
            last, batch = await journal.append(stream, batch), []
    if batch:
        last = await journal.append(stream, batch)
    if header_info is not None:
        facts |= {name: value for name in DESCRIBED if (value := getattr(header_info, name))}
    await journal.describe(
        stream, **{name: facts.get(name) for name in DESCRIBED} | {"state": facts.get("state", "")}
    )
    return last


def _is_json(frame: bytes) -> bool:
    if b"\n" in frame or frame != frame.strip():
        return False  # it would not come back byte for byte
    try:
        _skip(frame)
    except (msgspec.DecodeError, RecursionError):
        return False
    return is_utf8(frame)


def _are_json(frames: list[bytes]) -> bool:
    """Whether each is, as `_is_json` says; no if some of them need a look of their own."""
    whole = b"\n".join(frames)
    try:
        return list(map(bytes, _skip_all(whole))) == frames and is_utf8(whole)
    except (msgspec.DecodeError, RecursionError):
        return False


# Reading.


def read_transcript(lines: Iterable[bytes]) -> Iterator[Entry]:
    """Return the entries of a transcript from Dragoman or another program; a file opened
    as binary works too.
    """
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            entry = _read(text, number)
        except BadTranscript:
            if not text.endswith(b"\n"):
                return  # whoever wrote it was stopped within its last line
            raise
        if entry is not None:
            yield entry


def read_header(first: bytes) -> StreamInfo | None:
    """Read a header line; None if it is not one."""
    try:
        fields = msgspec.json.decode(first)
        if isinstance(fields, dict) and "transcript" in fields:
            return convert({"stream": "", **fields}, StreamInfo)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
        pass  # then it is not a header of ours
    return None


def _read(text: bytes, number: int) -> Entry | None:
    try:
        fields = msgspec.json.decode(text, type=dict[str, Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadTranscript(number, f"no JSON object ({error})") from None
    if "transcript" in fields and "dir" not in fields:
        if number == 1 and bytes(fields["transcript"]) == b"%d" % VERSION:
            return None
        raise BadTranscript(
            number, "another version of dragoman wrote it, or its header is not the first line"
        )
    direction = DIRECTIONS.get(str(_value(fields, "dir", number)))
    if direction is None:
        raise BadTranscript(number, "unknown `dir`")
    if direction == "note" and "stream" in fields and "msg" in fields:
        return None
    moment = _value(fields, "ts", number)
    if not isinstance(moment, int | float) or isinstance(moment, bool):
        raise BadTranscript(number, "`ts` is not a number")
    return Entry(direction, _frame(fields, number), float(moment))


def _frame(fields: dict[str, Raw], number: int) -> bytes:
    if "msg" in fields:
        return bytes(fields["msg"])
    if "base64" in fields:
        try:
            return base64.b64decode(str(_value(fields, "base64", number)), validate=True)
        except binascii.Error:
            raise BadTranscript(number, "`base64` is none") from None
    if "raw" in fields:
        return str(_value(fields, "raw", number)).encode(errors="surrogateescape")
    # Remarks of other programs carry fields of their own: all of them are the note.
    rest = {name: value for name, value in fields.items() if name != "ts"}
    return msgspec.json.encode(rest)


def _value(fields: dict[str, Raw], name: str, number: int) -> Any:
    try:
        return msgspec.json.decode(fields[name])
    except KeyError:
        raise BadTranscript(number, f"`{name}` is missing") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadTranscript(number, f"`{name}` cannot be read ({error})") from None
