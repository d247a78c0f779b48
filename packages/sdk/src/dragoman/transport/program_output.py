"""A program's output outside the protocol: its standard error, and stray lines on its standard output.

A child whose standard error nobody reads stops when the pipe is full, in the middle of a turn and without a
word. So it is read at all times, even while the conversation is paused; only the last part is kept, for the
one who has to explain a death.

A line on standard output that is not JSON (a banner, a log line, a farewell) is answered as a mistake like
every other frame. It may be all that an agent ever says about why it does not work, so the first lines are
kept, bounded in number and length.
"""

from __future__ import annotations

from collections.abc import Callable

from dragoman.transport.reader import open_reader

KEPT = 64 * 1024
"""The most bytes of the end to keep: enough for a long traceback."""


class StderrTail:
    """Reads a descriptor to its end, and owns it. Needs a running loop."""

    __slots__ = ("_limit", "_reader", "_show", "_tail", "_tell", "has_ended", "total")

    def __init__(
        self,
        fd: int,
        *,
        limit: int = KEPT,
        show: Callable[[bytes], None] | None = None,
        on_end: Callable[[], None] | None = None,
    ) -> None:
        """`show` is called with each chunk as it arrives, for a log or a terminal; `on_end` at the end."""
        self.total = 0
        self.has_ended = False
        self._tail = bytearray()
        self._limit = limit
        self._show = show
        self._tell = on_end
        self._reader = open_reader(fd, intake=self, on_end=self._on_end)

    @property
    def text(self) -> str:
        """The kept end as text, in any encoding."""
        return self._tail[max(0, len(self._tail) - self._limit) :].decode(errors="replace")

    def close(self) -> None:
        self._reader.close()

    def feed(self, chunk: bytes) -> None:
        self.total += len(chunk)
        self._tail += chunk
        if len(self._tail) > 2 * self._limit:  # not at every chunk: cutting costs a copy
            del self._tail[: len(self._tail) - self._limit]
        if self._show is not None:
            self._show(chunk)

    def finish(self) -> None:
        pass  # what is kept needs no newline at its end

    def _on_end(self, _: OSError | None) -> None:
        self.has_ended = True
        if self._tell is not None:
            self._tell()


MOST_LINES = 10
LONGEST_LINE = 200


class StrayOutput:
    """The first stray lines of one peer, and their number."""

    __slots__ = ("count", "lines")

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def add(self, line: bytes) -> str:
        """Keep a line if there is room; return it as text of limited length."""
        text = line[: 4 * LONGEST_LINE].decode(errors="replace").strip()
        text = text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…"
        self.count += 1
        if len(self.lines) < MOST_LINES:
            self.lines.append(text)
        return text

    @property
    def text(self) -> str:
        """The kept lines, and the number of further ones."""
        more = self.count - len(self.lines)
        return "\n".join(self.lines) + (f"\n({more} more lines)" if more else "")
