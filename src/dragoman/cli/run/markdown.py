"""Markdown for a terminal, piece by piece as it arrives.

A small part of the language, the part that agents write: headings, lists, quotes, fenced code, bold, italics
and code within a line. It never waits for a line to end: held back are only the characters that may still
become a mark. What it does not know stands there as it was written, and nothing is lost but the marks.

It takes harmless text (see `harmless`) and adds escape sequences of its own; where those are not wanted it is
not used.
"""

from __future__ import annotations

import re

BOLD, DIM, ITALIC, CODE, HEADING, RESET = "\x1b[1m", "\x1b[2m", "\x1b[3m", "\x1b[36m", "\x1b[1;4m", "\x1b[0m"

_HEADING = re.compile(r" {0,3}#{1,6} ")
_BULLET = re.compile(r"( *)[-*+] ")
_QUOTE = re.compile(r" {0,3}> ?")
_FENCE = re.compile(r" *(```+|~~~+)")
_RULE = re.compile(r" {0,3}([-*_])( *\1){2,} *$")
# What may still become one of the above.
_UNDECIDED = re.compile(r" *(#{0,6}|[-*+_]( *[-*+_])*|`{0,2}|~{0,2}) *$| {0,3}>$")
_STYLES = {"`": CODE, "*": ITALIC, "_": ITALIC, "**": BOLD, "__": BOLD, "***": BOLD + ITALIC}

LONGEST_HEAD = 80
"""Characters at the beginning of a line that are held back at most."""


class Markdown:
    """One stream of Markdown."""

    def __init__(self) -> None:
        self._head = ""  # the undecided beginning of a line
        self._at_head = True
        self._mark = ""  # stars or underscores that may be part of a longer mark
        self._line_style = ""
        self._inline: list[str] = []  # marks that are open in this line, outermost first
        self._fence = ""
        self._previous = "\n"

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        out: list[str] = []
        for number, line in enumerate(piece.split("\n")):
            if number:
                out.append(self._end_line())
            if line:
                out.append(self._feed_line(line))
        return "".join(out)

    def finish(self) -> str:
        """The end of the stream: what was held back, and nothing left switched on."""
        out = self._decide(self._head, at_end=True) if self._at_head and self._head else ""
        return out + self._close_line()

    # Lines.

    def _feed_line(self, text: str) -> str:
        if not self._at_head:
            return self._spans(text)
        self._head += text
        if len(self._head) < LONGEST_HEAD and self._is_undecided(self._head):
            return ""
        return self._decide(self._head, at_end=False)

    def _is_undecided(self, head: str) -> bool:
        if _FENCE.match(head):
            return True  # the name of the language follows, to the end of the line
        if self._fence:
            return not head.strip(" `~")
        return bool(_UNDECIDED.match(head)) and not (_BULLET.match(head) and not _RULE.match(head + "--"))

    def _decide(self, head: str, *, at_end: bool) -> str:
        self._head, self._at_head = "", False
        if found := _FENCE.match(head):
            return self._fence_line(head, found[1])
        if self._fence:
            return CODE + head
        if at_end and _RULE.match(head):
            return f"{DIM}{'─' * 24}{RESET}"
        if found := _HEADING.match(head):
            self._line_style = HEADING
            return HEADING + self._spans(head[found.end() :])
        if found := _BULLET.match(head):
            return f"{found[1]}• " + self._spans(head[found.end() :])
        if found := _QUOTE.match(head):
            self._line_style = DIM
            return f"{DIM}│ " + self._spans(head[found.end() :])
        return self._spans(head)

    def _fence_line(self, head: str, mark: str) -> str:
        if not self._fence:
            self._fence = mark
        elif mark.startswith(self._fence) and head.strip() == mark:
            self._fence = ""
        else:
            return CODE + head
        return f"{DIM}{head}{RESET}"

    def _end_line(self) -> str:
        out = self._decide(self._head, at_end=True) if self._at_head and self._head else ""
        out += self._close_line() + "\n"
        self._at_head, self._previous = True, "\n"
        return out

    def _close_line(self) -> str:
        out, self._mark = self._toggle(self._mark, "\n"), ""
        styled = bool(self._line_style or self._inline or self._fence)
        self._line_style = ""
        self._inline.clear()
        return out + (RESET if styled else "")

    # Within a line.

    def _spans(self, text: str) -> str:
        if self._fence:
            return text
        out: list[str] = []
        for character in text:
            if self._mark and character != self._mark[0]:
                out.append(self._toggle(self._mark, character))
                self._mark = ""
            if character == "`" or (character in "*_" and "`" not in self._inline):
                self._mark += character
            else:
                out.append(character)
                self._previous = character
        return "".join(out)

    def _toggle(self, mark: str, following: str) -> str:
        """A mark opens before a word and closes behind one; any other is just a character."""
        if not mark:
            return ""
        if mark in self._inline:
            if not self._previous.isspace():
                self._inline = self._inline[: self._inline.index(mark)]
                return self._restyled()
        elif mark in _STYLES and not following.isspace() and self._may_open(mark):
            self._inline.append(mark)
            return self._restyled()
        self._previous = mark[-1]
        return mark

    def _may_open(self, mark: str) -> bool:
        # An underscore within a word is a part of a name.
        return "`" not in self._inline and (mark[0] != "_" or not self._previous.isalnum())

    def _restyled(self) -> str:
        return RESET + self._line_style + "".join(_STYLES[mark] for mark in self._inline)
