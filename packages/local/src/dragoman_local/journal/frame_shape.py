"""Frames of a stream that differ in only one string: their common beginning and end, and the strings.

Nearly all that agents say is frames of one shape. Whatever is to be known of each of them is then known of
their beginning and end once, and of their texts together. A text is as it was written, with its escapes and
without its quotes; the head of a shape ends with the one quote, its tail begins with the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from dragoman.decoders import json_decoder

LONGEST_HEAD = 1024
"""The most bytes of frames' beginnings to compare: after the protocol's own words, little is equal."""

LONGEST_TAIL = 256
"""The most bytes of their ends. Beginnings are longer, because they have ids and names of methods."""

VALUE = b':"'
"""The beginning of a string in an object."""

_QUOTE = re.compile(rb'(?<!\\)"')
"""One that is surely not escaped."""

_read_values = json_decoder(list[Raw]).decode


class FrameShape(Struct, frozen=True, gc=False):
    """The beginning and end around a text. Both are empty if frames have nothing in common; then no frame
    fits.
    """

    head: bytes
    tail: bytes

    def fits(self, frame: bytes) -> bool:
        """Whether a frame has this beginning and end. The part in between need not be the
        text of one string.
        """
        head, tail = self.head, self.tail
        return len(frame) >= len(head) + len(tail) and frame.startswith(head) and frame.endswith(tail)

    def texts(self, frames: Sequence[bytes]) -> list[bytes] | None:
        """Return the text of each frame; None if one of them has another shape."""
        head, tail = self.head, self.tail
        begin, end = len(head), -len(tail)
        if min(map(len, frames), default=0) < begin - end:
            return None
        texts = [frame[begin:end] for frame in frames]
        # To put the frames together once more takes half as long as to look at both ends of each.
        is_alike = b"".join((head, (tail + head).join(texts), tail)) == b"".join(frames)
        return texts if is_alike and _are_strings(texts) else None


def shape_of_both(frame: bytes, neighbour: bytes) -> FrameShape:
    """Return the common shape of both frames: up to the quote before a value, and from a quote on."""
    size = min(len(frame), len(neighbour), LONGEST_HEAD)
    difference = int.from_bytes(frame[:size], "big") ^ int.from_bytes(neighbour[:size], "big")
    # The highest bit that is set is in the first byte that differs.
    common = frame[: size - (difference.bit_length() + 7) // 8]
    head = common[: common.rfind(VALUE) + len(VALUE)] if VALUE in common else b""
    size = min(len(frame) - len(head), len(neighbour) - len(head), LONGEST_TAIL)
    difference = int.from_bytes(frame[-size:], "little") ^ int.from_bytes(neighbour[-size:], "little")
    end = _QUOTE.search(frame, len(frame) - size + (difference.bit_length() + 7) // 8) if size else None
    return FrameShape(head, frame[end.start() :] if end else b"")


def _are_strings(texts: Sequence[bytes]) -> bool:
    """Whether each can be the content of a JSON string, though perhaps not UTF-8."""
    text = b"".join(texts)
    has_no_end = b'"' not in text and b"\\" not in text  # all of it can be read as one string
    try:
        values = _read_values(b'["' + (text if has_no_end else b'","'.join(texts)) + b'"]')
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    # A text may hold a quote that ends it. The lengths tell that none of them does.
    return has_no_end or [len(value) - 2 for value in values] == list(map(len, texts))


def is_utf8(text: bytes) -> bool:
    try:
        return text.isascii() or text.decode() is not None
    except UnicodeDecodeError:
        return False
