"""Redacts known secrets in frames before they are stored.

What a secret is, `secrets` knows. The names of values stay, so that a reader sees what was there.
This module makes it cheap for frames that come in streams: what many of them share is looked at once. A frame
without a secret is returned as it is, unparsed. A secret that chunks of a stream cut in two is not found.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, islice, repeat

import msgspec

from dragoman_local.journal.entry_runs import EntryBatch, FrameRun
from dragoman_local.journal.frame_shape import LONGEST_HEAD, VALUE, FrameShape, shape_of_both
from dragoman_local.secrets.frames import frame_hint_places, has_frame_hint, has_quote, redact_suspect
from dragoman_local.secrets.names import REDACTED
from dragoman_local.secrets.search import redact as redact_text

_MARK = REDACTED.encode()
_BETWEEN = b'\0\n"'
TOGETHER = 64
"""The most frames to search together if they have several shapes: one odd frame costs few others."""

TOGETHER_BYTES = 64 * 1024
"""About how many bytes of frames to search at once: a search holds their texts once more."""

_NAME = re.compile(rb'"(?<!\\")\s*:')

LONG_TEXT = 256
"""The bytes from which on texts are searched one by one."""

MOST_HEADS = 4096
"""How many beginnings of frames are remembered: each of a thousand sessions that stream has its own."""

FEW = 8
"""The number of frames below which finding their common parts costs more than it saves."""


def redact(frame: bytes) -> bytes:
    """Return the frame without known secrets; the same object if there are none."""
    return _redact_few((frame,))[0]


def redact_all(frames: Sequence[bytes], how: Callable[[bytes], bytes] = redact) -> Sequence[bytes]:
    """Return each frame as converted by `how`. With our function, frames of one stream cost a tenth of
    separate searches: nearly all begin the same, and common parts are searched once.
    """
    if how is not redact:
        return [how(frame) for frame in frames]
    if len(frames) < FEW:
        return _redact_few(frames)
    shape = _common_shape(frames)
    step = max(FEW, TOGETHER_BYTES * len(frames) // (sum(map(len, frames)) or 1))
    return [
        frame
        for first in range(0, len(frames), step)
        for frame in _redact_block(frames[first : first + step], shape)
    ]


@lru_cache(MOST_HEADS)
def is_plain_shape(shape: FrameShape) -> bool:
    """Whether only the texts of frames with this shape need a search."""
    return bool(shape.head and shape.tail) and _is_plain_head(shape.head) and _is_plain_tail(shape.tail)


def is_redacted(frame: bytes) -> bool:
    """Whether the text has the mark of a removed secret, or the same mark as written by its author."""
    return _MARK in frame


def redact_runs(entries: EntryBatch, how: Callable[[bytes], bytes]) -> Sequence[FrameRun]:
    """Return the runs with redacted frames; many together cost less. Frames of long runs mostly have one
    shape, so they are searched apart from the notes between them.
    """
    frames: dict[bool, list[bytes]] = {True: [], False: []}
    for run in entries.runs:
        frames[len(run.frames) >= FEW] += run.frames
    rest = {is_long: iter(redact_all(group, how)) for is_long, group in frames.items()}
    runs: list[FrameRun] = []
    for run in entries.runs:
        redacted_frames = list(islice(rest[len(run.frames) >= FEW], len(run.frames)))
        is_same = redacted_frames == list(run.frames)
        runs.append(run if is_same else FrameRun(run.direction, redacted_frames, run.time))
    return runs


def _redact_few(frames: Sequence[bytes]) -> Sequence[bytes]:
    """Texts behind known heads are looked at apart from whole frames, which have the signs of JSON."""
    groups: tuple[dict[int, bytes], dict[int, bytes]] = ({}, {})
    texts: dict[int, bytes] = {}
    for number, frame in enumerate(frames):
        head = frame[: frame.rfind(VALUE, 0, LONGEST_HEAD) + len(VALUE)]
        is_known = head.endswith(VALUE) and _is_plain_head(head)
        part = frame[len(head) :] if is_known else frame
        text, quote, tail = part.rpartition(b'"')
        # One string, of which only the quote at its end would be a sign of JSON.
        is_text = is_known and not has_quote(text) and _is_plain_tail(quote + tail)
        # Nothing but the text may hold a secret.
        (texts if is_text else groups[is_known])[number] = text if is_text else part
    suspects = {
        *([*parts][place] for parts in groups if parts for place in suspect_numbers([*parts.values()])),
        *([*texts][place] for place in (secret_numbers([*texts.values()]) if texts else ())),
    }
    return [redact_suspect(frame) if n in suspects else frame for n, frame in enumerate(frames)]


def _redact_block(frames: Sequence[bytes], shape: FrameShape) -> Sequence[bytes]:
    texts = shape.texts(frames) if is_plain_shape(shape) else None
    if texts is None and len(frames) > TOGETHER:
        return [
            frame
            for first in range(0, len(frames), TOGETHER)
            for frame in _redact_block(frames[first : first + TOGETHER], shape)
        ]
    if texts is None:
        suspects = suspect_numbers(list(map(bytes.removeprefix, frames, repeat(shape.head))))
    else:
        suspects = secret_numbers(texts)
    if not suspects:
        return frames
    return [redact_suspect(frame) if n in suspects else frame for n, frame in enumerate(frames)]


def secret_numbers(texts: Sequence[bytes]) -> set[int]:
    """Return the numbers of the texts that have a secret, of frames that can have none elsewhere."""
    numbers = range(len(texts)) if sum(map(len, texts)) > LONG_TEXT * len(texts) else suspect_numbers(texts)
    return {number for number in numbers if has_secret(texts[number])}


def has_secret(text: bytes) -> bool:
    """Whether what stands in a string of JSON is changed by a search."""
    try:
        said = msgspec.json.decode(b'"%b"' % text, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return True
    return redact_text(said) is not said


def suspect_numbers(parts: Sequence[bytes]) -> set[int]:
    """Return the numbers of frame parts that need a full search. Long ones are searched one by one: what
    one may contain would cost all others.
    """
    if sum(map(len, parts)) > LONG_TEXT * len(parts):
        return {number for number, part in enumerate(parts) if has_frame_hint(_as_json(_BETWEEN + part))}
    together = _BETWEEN.join((b"", *parts))
    places = list(frame_hint_places(_as_json(together)))
    if not places:
        return set()
    starts = list(accumulate((len(part) + len(_BETWEEN) for part in parts), initial=0))
    return {bisect_right(starts, place) - 1 for place in places}


def _as_json(part: bytes) -> bytes:
    """A part of a frame with the sign of JSON if it is some: after its names, any word may be a secret. In
    prose it is not.
    """
    return part + b"{" if _NAME.search(part) else part


def _common_shape(frames: Sequence[bytes]) -> FrameShape:
    """How most of the frames begin and end, if no secret begins there. Any shape whose head is plain will do:
    a frame that has another is looked at as a whole.
    """
    # Two neighbours may be of different kinds; of three pairs, one is of the kind that most are.
    pairs = (0, len(frames) // 2 - 1, len(frames) // 2)
    shapes = {shape_of_both(frames[n], frames[min(n + 1, len(frames) - 1)]) for n in pairs}
    plain = (shape for shape in shapes if _is_plain_head(shape.head))
    return max(plain, key=lambda shape: len(shape.head), default=FrameShape(b"", b""))


_HALVES = (b"authenticate", b'"data"', b"\\u")
"""Data of a login are known by the method: wherever the other half is, these are looked at together."""


@lru_cache(MOST_HEADS)
def _is_plain_head(head: bytes) -> bool:
    """Whether a frame that begins so can be judged by the rest of it."""
    # The colon makes a name of the string with which the head ends, if its quote is the end of a string.
    low = head.lower()
    return not any(half in low for half in _HALVES) and not has_frame_hint(b"{" + head + b":")


_LIST_GOES_ON = re.compile(rb'"\s*,\s*"(?:[^"\\]|\\.)*+"\s*[,\]]')
"""What follows an option in a list is its value."""


@lru_cache(MOST_HEADS)
def _is_plain_tail(tail: bytes) -> bool:
    """Whether a frame that ends so can be judged by what stands before: the string with which that ends is
    a value, and nothing in it makes a secret of what comes here.
    """
    low = tail.lower()
    return (
        not any(half in low for half in _HALVES)
        and not tail[1:].lstrip().startswith(b":")
        and not _LIST_GOES_ON.match(tail)
        and not has_frame_hint(b"{" + tail)
    )
