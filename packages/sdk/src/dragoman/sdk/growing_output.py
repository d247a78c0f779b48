"""Output that is sent again and again, each time whole and a little longer.

Agents report a running command by resending all of its output with every line. Kept as they came, 35,000
lines would be 35,000 texts, half of them longer than 17,500 lines. Here only the longest is kept, and of each
resend the length it had: what it added is a slice of that. Time is what comparing takes, which is less than
reading took; memory grows with the output and not with the resends.

It compares texts and knows nothing of tools, except for the functions at the end that read their messages.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from msgspec import UNSET

from dragoman.schema import v1


class GrowingText:
    """One text in all of its lengths."""

    __slots__ = ("_ends", "restarts", "text")

    def __init__(self) -> None:
        self.text = ""
        """The whole, as of the last resend."""
        self.restarts = 0
        """How often it was replaced by something that did not extend it; earlier lengths are gone then."""
        self._ends = array("Q")

    def __len__(self) -> int:
        """Resends since the last restart."""
        return len(self._ends)

    def feed(self, text: str) -> str:
        """The text was sent again; returns what is new in it, which is all of it after a restart."""
        if text.startswith(self.text):
            fresh = text[len(self.text) :]
        else:
            fresh = text
            self.restarts += 1
            del self._ends[:]
        self.text = text
        self._ends.append(len(text))
        return fresh

    def version(self, number: int) -> str:
        """The text as it was at one of its resends, counted from zero."""
        return self.text[: self._ends[number]]

    def addition(self, number: int) -> str:
        """What that resend added."""
        start = self._ends[number - 1] if number else 0
        return self.text[start : self._ends[number]]


def text_of(content: Sequence[v1.ToolCallContent]) -> str:
    """The words in a tool call's content, one block a line."""
    return "\n".join(
        [
            part.content.text
            for part in content
            if isinstance(part, v1.Content) and isinstance(part.content, v1.TextContent)
        ]
    )


_FIELDS = ("title", "kind", "status", "name", "locations", "raw_input", "raw_output")


def supersedes(newer: v1.SessionUpdate, older: v1.SessionUpdate) -> bool:
    """Whether all that the older update says is said by the newer one too, of the same tool call: then nobody
    needs both.
    """
    if not (isinstance(newer, v1.ToolCallProgress) and isinstance(older, v1.ToolCallProgress)):
        return False
    # The content first: where something else is reported, it nearly always shows there.
    if older.content and not _extends(newer.content or (), older.content):
        return False
    if newer.tool_call_id != older.tool_call_id or newer.meta != older.meta:
        return False
    for name in _FIELDS:
        value = getattr(older, name)
        if value is not UNSET and value is not None and value != getattr(newer, name):
            return False
    return True


def _extends(newer: Sequence[v1.ToolCallContent], older: Sequence[v1.ToolCallContent]) -> bool:
    """The same blocks and more, the last of the old ones perhaps longer."""
    if len(newer) < len(older):
        return False
    last, now = older[-1], newer[len(older) - 1]
    if type(last) is not type(now) or list(newer[: len(older) - 1]) != list(older[:-1]):
        return False
    if last == now:
        return True
    texts = [
        part.content.text
        for part in (last, now)
        if isinstance(part, v1.Content) and isinstance(part.content, v1.TextContent)
    ]
    return len(texts) == 2 and texts[1].startswith(texts[0])
