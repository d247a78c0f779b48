"""Markdown that is still being written: what is settled is drawn once, what is open is drawn again.

A blank line outside of code settles what stands before it. A paragraph that never ends is settled by force,
so that the work of one drawing is bounded however the text comes.
"""

from __future__ import annotations

import re

from textual.content import Content

from dragoman.tui.text.harmless import harmless
from dragoman.tui.text.markdown import code, markdown

OPEN = 4000
"""Characters that may be open; beyond it they are settled by force, at a line end if there is one."""

_FENCE = re.compile(r"^ {0,12}(`{3,}|~{3,})([^\n`]*)$", re.MULTILINE)

_BLANK = re.compile(r"[ \t]*\n")


class Flow:
    """One text at one width."""

    def __init__(self, width: int) -> None:
        self.settled: list[Content] = []
        self._width = width
        self._open = ""
        self._held = ""
        self._mark = ""  # what the open code block began with; nothing outside of code
        self._language = ""
        self._needs_gap = False

    def feed(self, text: str) -> None:
        text = self._held + text
        self._held = ""
        if text.endswith("\r"):  # half of a line end, perhaps
            text, self._held = text[:-1], "\r"
        text = harmless(text)
        for start in range(0, len(text), OPEN):  # each step looks at all that is open
            self._open += text[start : start + OPEN]
            while self._code_step() if self._mark else self._text_step():
                pass

    @property
    def lines(self) -> list[Content]:
        """All of it as it stands."""
        return [*self.settled, *self.open_lines]

    @property
    def open_lines(self) -> list[Content]:
        """What stands behind `settled` and may still become something else."""
        rest = self._open
        if self._mark and (closing := self._closing(rest)) is not None:
            rest = rest[: closing.start()]  # it may be closed; the next line will tell
        drawn = self._drawn(rest)
        gap = [Content("")] if drawn and self.settled and self._has_gap(rest) else []
        return [*gap, *drawn]

    def _text_step(self) -> bool:
        """Settle something, if something is."""
        fence = _FENCE.search(self._open)
        before = self._open if fence is None else self._open[: fence.start()]
        blank = before.rfind("\n\n")
        if blank >= 0:
            self._settle(blank + 2, gap=True)
        elif fence is not None and fence.start() > 0:
            self._settle(fence.start())
        elif fence is not None and fence.end() < len(self._open):
            self._mark, self._language = fence[1], fence[2].strip().partition(" ")[0]
            self._open = self._open[fence.end() + 1 :]
        elif fence is None and len(before) > OPEN:
            self._settle(self._forced())
        else:
            return False
        return True

    def _code_step(self) -> bool:
        closing = self._closing(self._open)
        if closing is not None and closing[0].endswith("\n"):
            self._settle(closing.start())
            self._open = self._open[closing.end() - closing.start() :]
            self._mark = ""
        elif closing is None and len(self._open) > OPEN:
            self._settle(self._forced())
        else:
            return False
        return True

    def _closing(self, text: str) -> re.Match[str] | None:
        mark = self._mark
        return re.search(rf"^ {{0,12}}{re.escape(mark[0])}{{{len(mark)},}}[ ]*(?:\n|\Z)", text, re.MULTILINE)

    def _settle(self, end: int, *, gap: bool = False) -> None:
        text, self._open = self._open[:end], self._open[end:]
        drawn = self._drawn(text)
        before = self._has_gap(text)
        if drawn and before and self.settled:
            self.settled.append(Content(""))
        self.settled += drawn
        self._needs_gap = gap or (before and not drawn)

    def _has_gap(self, text: str) -> bool:
        """Whether a blank line stands between this and what was settled."""
        return self._needs_gap or (not self._mark and _BLANK.match(text) is not None)

    def _drawn(self, text: str) -> list[Content]:
        if not self._mark:
            return markdown(text, self._width)
        return code(text.removesuffix("\n"), self._width, language=self._language) if text else []

    def _forced(self) -> int:
        end = self._open.rfind("\n", 0, OPEN)
        return end + 1 if end >= OPEN // 2 else OPEN
