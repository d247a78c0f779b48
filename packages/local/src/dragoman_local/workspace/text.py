"""Text in files: encodings, windows of lines, line endings. Pure, without a disk.

A file is UTF-8, with or without a byte order mark, or UTF-16 with one. Anything else is refused, or read as
Latin-1 if the settings say so; it is never guessed. A line ends at `\\n` and nowhere else, so that the `\\r`
of a Windows file stays with its line, and pages of lines put together are the file.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

from dragoman_local.workspace.refusals import not_text, too_large

_BINARY = "this is not text file; its bytes can be read with _dragoman/fs/read_range"
_FOREIGN = "the file is neither UTF-8 nor marked as UTF-16"


class Encoding(NamedTuple):
    """The encoding of a file's text."""

    codec: str
    mark: bytes = b""
    """The byte order mark at its beginning, which is not part of the text."""

    def decode(self, data: bytes) -> str:
        """Return the text of a whole file; raises an error if it is not text."""
        reader = TextReader(self)
        return reader.feed(data) + reader.end()

    def encode(self, text: str) -> bytes:
        try:
            data = text.encode(self.codec)
        except UnicodeEncodeError:
            raise not_text(
                f"the text contains characters that the file's encoding, {self.codec}, does not have"
            ) from None
        return data if data.startswith(self.mark) else self.mark + data


UTF_8 = Encoding("utf-8")
LATIN_1 = Encoding("latin-1")

_MARKED = (
    Encoding("utf-8", codecs.BOM_UTF8),
    Encoding("utf-16-le", codecs.BOM_UTF16_LE),
    Encoding("utf-16-be", codecs.BOM_UTF16_BE),
)


def encoding_of(head: bytes) -> Encoding:
    """Return the encoding that a file's first bytes show."""
    return next((encoding for encoding in _MARKED if head.startswith(encoding.mark)), UTF_8)


class TextReader:
    """Decodes a file piece by piece. The first piece must contain the whole mark."""

    def __init__(self, encoding: Encoding) -> None:
        self._decode = codecs.getincrementaldecoder(encoding.codec)().decode
        self._skip = len(encoding.mark)

    def feed(self, data: bytes) -> str:
        if self._skip:
            data, self._skip = data[self._skip :], 0
        return self._decode_text(data, final=False)

    def end(self) -> str:
        return self._decode_text(b"", final=True)

    def _decode_text(self, data: bytes, *, final: bool) -> str:
        try:
            text = self._decode(data, final)
        except UnicodeDecodeError:
            raise not_text(_FOREIGN) from None
        # Nearly every binary file has one, and so has UTF-16 without a mark, which would pass for UTF-8.
        if "\0" in text:
            raise not_text(_BINARY)
        return text


class LineWindow:
    """Keeps some lines of a text that arrives in pieces, up to the limit of an answer."""

    def __init__(self, *, first: int = 1, limit: int | None = None, most: int) -> None:
        """`first` counts from 1, and 0 counts as 1; `most` is the approximate limit in bytes of UTF-8."""
        self._skip = max(first, 1) - 1
        self._lines_left = limit
        self._room = most
        self._lines: list[str] = []

    @property
    def is_full(self) -> bool:
        return self._lines_left == 0

    @property
    def text(self) -> str:
        return "".join(self._lines)

    def feed(self, text: str) -> None:
        begin = self._after_skipped(text)
        if begin is None or self.is_full:
            return
        end = len(text)
        if self._lines_left is not None:
            end, line_count = _after_lines(text, begin, self._lines_left)
            self._lines_left -= line_count
        self._keep(text[begin:end])

    def _after_skipped(self, text: str) -> int | None:
        if not self._skip:
            return 0
        begin, line_count = _after_lines(text, 0, self._skip)
        self._skip -= line_count
        return None if self._skip else begin

    def _keep(self, text: str) -> None:
        self._room -= len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if self._room < 0:
            raise too_large("this is more text than is answered at once; ask for fewer lines")
        if text:
            self._lines.append(text)


def _after_lines(text: str, begin: int, count: int) -> tuple[int, int]:
    """The position behind so many lines, and how many really ended."""
    there = text.count("\n", begin)
    if there < count:
        return len(text), there
    position = begin
    for _ in range(count):
        position = text.index("\n", position) + 1
    return position, count


def lines_of(text: str) -> list[str]:
    """Return the lines, each with its end; the last may have none."""
    *whole, last = text.split("\n")
    lines = [f"{line}\n" for line in whole]
    return [*lines, last] if last else lines


def is_crlf_throughout(text: str) -> bool:
    """Whether every line ends as on Windows, and there is at least one."""
    ends = text.count("\r\n")
    return ends > 0 and ends == text.count("\n") == text.count("\r")


def with_endings_of(old: str, new: str) -> str:
    """Return the new text with the line endings of the old, if those are `\\r\\n` and the new one has no
    `\\r`.
    """
    return new.replace("\n", "\r\n") if "\r" not in new and is_crlf_throughout(old) else new
