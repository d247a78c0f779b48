"""The texts that must not be recorded: secrets of the environment, and all that the journal redacts.

Whole lines come in and go out, so a secret that arrived in two reads is seen whole. One that an agent says in
several chunks of a message is found too, as long as the recorder gives those chunks together (`hide_split`).
Everything that was hidden is counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from dragoman.wire.envelope import Json
from dragoman_local.journal.frame_shape import FrameShape
from dragoman_local.journal.redaction import has_secret, is_plain_shape, redact_all, secret_numbers
from dragoman_local.secrets.names import REDACTED, is_secret_variable
from dragoman_local.secrets.search import find

SHORTEST = 6
"""The least characters of a secret value: shorter ones would hide half of every text."""

_MARK = REDACTED.encode()


class SecretFilter:
    """Hides the secrets of one environment. `count` is the number hidden so far."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.count = 0
        self._values = sorted(
            {
                form
                for name, value in environment.items()
                if is_secret_variable(name) and len(value.strip()) >= SHORTEST
                for form in _forms(value.strip())
            },
            key=len,
            reverse=True,
        )
        # How a letter of a secret may be written in another way. Letters of keys are ASCII.
        is_ascii = all(map(bytes.isascii, self._values))
        self._escapes = [rb"\u00" if is_ascii else rb"\u"]
        if any(b"/" in value for value in self._values):
            self._escapes.append(rb"\/")

    def hide(self, line: bytes) -> bytes:
        """Return the line without secrets; the same object if there is none."""
        return self.hide_all([line])[0]

    def hide_all(self, lines: list[bytes]) -> list[bytes]:
        """Return the lines without secrets; the same objects without any."""
        whole = b"\n".join(lines)
        has_value = any(value in whole for value in self._values)
        redacted_lines = redact_all([self._without_values(line) for line in lines] if has_value else lines)
        for line, redacted_line in zip(lines, redacted_lines, strict=True):
            if redacted_line is not line:
                self.count += max(1, redacted_line.count(_MARK) - line.count(_MARK))
        return list(redacted_lines)

    def is_plain_shape(self, shape: FrameShape) -> bool:
        """Whether frames of this shape can have a secret only in their texts."""
        frame = shape.head + shape.tail
        # A value with a quote may stand across the end of a text.
        return is_plain_shape(shape) and not any(value in frame or b'"' in value for value in self._values)

    def is_plain_text(self, texts: Sequence[bytes]) -> bool:
        """Whether no secret is in the texts of JSON strings: neither in one of them, nor in all joined."""
        whole = b"".join(texts)
        has_part = any(part in whole for part in (*self._escapes, *self._values))
        return not has_part and not has_secret(whole) and not (len(texts) > 1 and secret_numbers(texts))

    def hide_split(self, texts: list[str]) -> list[str]:
        """Return the pieces of one text with secrets hidden, even one that begins in one piece and ends in
        another.
        """
        if len(texts) == 1:
            return texts
        whole = "".join(texts).encode(errors="surrogateescape")
        spans = [span for span in self._spans(whole) if _crosses(span, texts)]
        if not spans:
            return texts
        self.count += len(spans)
        return _cut(texts, spans)

    def _without_values(self, line: bytes) -> bytes:
        for value in self._values:
            if value in line:
                line = line.replace(value, _MARK)
        return line

    def _spans(self, whole: bytes) -> Iterable[tuple[int, int]]:
        text = whole.decode(errors="surrogateescape")
        for start, end, _ in find(text):
            first = len(text[:start].encode(errors="surrogateescape"))
            yield first, first + len(text[start:end].encode(errors="surrogateescape"))
        for value in self._values:
            if value in whole:
                yield from (match.span() for match in re.finditer(re.escape(value), whole))


def _forms(value: str) -> set[bytes]:
    """The secret as it is, and as in a JSON text."""
    plain = value.encode(errors="surrogateescape")
    return {plain, json.dumps(value)[1:-1].encode(), msgspec.json.encode(_clean(value))[1:-1]}


def _clean(value: str) -> str:
    return value.encode(errors="replace").decode(errors="replace")


def _crosses(span: tuple[int, int], texts: list[str]) -> bool:
    begin = 0
    for text in texts:
        end = begin + len(text.encode(errors="surrogateescape"))
        if begin <= span[0] < end:
            return span[1] > end
        begin = end
    return False


def _cut(texts: list[str], spans: list[tuple[int, int]]) -> list[str]:
    """The texts without the spans; the mark stands where a span begins."""
    pieces, begin = [], 0
    for text in texts:
        raw = text.encode(errors="surrogateescape")
        end = begin + len(raw)
        piece, at = bytearray(), begin
        for first, last in sorted(spans):
            if last <= at or first >= end:
                continue
            piece += raw[at - begin : max(first, at) - begin]
            if first >= begin:
                piece += _MARK
            at = min(last, end)
        piece += raw[at - begin :]
        pieces.append(piece.decode(errors="surrogateescape"))
        begin = end
    return pieces


def text_of(message: Json) -> tuple[str, str] | None:
    """Return the stream of a chunk and its text; None if the frame is not a chunk of text."""
    try:
        params = message["params"]
        update = params["update"]
        content = update["content"]
        if update["sessionUpdate"].endswith("_chunk") and content["type"] == "text":
            return f"{params['sessionId']}/{update['sessionUpdate']}", str(content["text"])
    except (KeyError, TypeError, AttributeError):
        pass
    return None
