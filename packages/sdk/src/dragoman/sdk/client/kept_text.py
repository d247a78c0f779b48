"""The text of a turn, kept until somebody asks for it, if ever.

Short pieces are kept as UTF-8. Of long ones the frames are kept as they came: to encode a text takes half as
long as to read it, and most programs that show words as they come never ask for them again. Either takes
about as much memory as the text itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO

from dragoman.sdk.client.runs import UpdateFrame, run_reader

AT_ONCE = 1024 * 1024
"""The most characters of a text to encode at once."""

LONG = 1000
"""The average frame size in bytes from which on what is around the text does not count."""


class KeptText:
    """Pieces of text, in their order."""

    def __init__(self) -> None:
        self._parts: list[BytesIO | bytes] = []  # UTF-8, or a block of frames

    def add(self, texts: Sequence[str], block: bytes = b"") -> None:
        """Add pieces; `block` is nothing, or holds the frames in which they came and no others."""
        # Where letters are written as escapes, a frame is several times as large as its text.
        if len(block) > LONG * len(texts) and (not block.isascii() or len(block) < 2 * sum(map(len, texts))):
            self._parts.append(block)
            return
        buffer = self._parts[-1] if self._parts else b""
        if isinstance(buffer, bytes):
            buffer = BytesIO()
            self._parts.append(buffer)
        said = "".join(texts)
        for start in range(0, len(said), AT_ONCE):  # or all of a large text would be there once more
            buffer.write(said[start : start + AT_ONCE].encode(errors="surrogatepass"))

    @property
    def text(self) -> str:
        return "".join(self._pieces())

    @property
    def utf8(self) -> bytes:
        match self._parts:
            case [BytesIO() as buffer]:
                return buffer.getvalue()  # not a copy: it is what was written into
        return b"".join([piece.encode(errors="surrogatepass") for piece in self._pieces()])

    def _pieces(self) -> Iterator[str]:
        for part in self._parts:
            if isinstance(part, BytesIO):
                yield part.getvalue().decode(errors="surrogatepass")
            else:
                for frame in run_reader(UpdateFrame)(part):
                    yield frame.params.update.content.text
