"""What a peer writes where frames belong and that is no JSON: a banner, a log line, a farewell.

It is answered as a mistake like every other frame. The words themselves may be all that an agent ever says
about why it does not work, so that the first of them are kept for whoever explains its end, bounded in number
and length.
"""

from __future__ import annotations

MOST_LINES = 10
LONGEST_LINE = 200


class StrayOutput:
    """The first lines of one peer, and how many there were."""

    __slots__ = ("count", "lines")

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def add(self, line: bytes) -> str:
        """Keep a line, if there is room; returns it as text of a bounded length."""
        text = line[: 4 * LONGEST_LINE].decode(errors="replace").strip()
        text = text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…"
        self.count += 1
        if len(self.lines) < MOST_LINES:
            self.lines.append(text)
        return text

    @property
    def text(self) -> str:
        """The lines that were kept, and how many more there were."""
        more = self.count - len(self.lines)
        return "\n".join(self.lines) + (f"\n({more} more lines)" if more else "")
