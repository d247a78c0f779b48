"""Markdown as lines of a terminal: headings, lists, quotes, code, tables, rules, paragraphs.

It takes a whole text, or the settled part of one that is still being written (see `flow`). It fetches
nothing, and what it does not know stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from textual.content import Content
from textual.highlight import highlight

from dragoman.tui.text.inline import inline
from dragoman.tui.text.lines import hanging, line, plain, wrapped
from dragoman.tui.text.tables import draw_table, is_separator

_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*")
_RULE = re.compile(r" {0,3}([-*_])(?:\s*\1){2,}\s*")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])\s+(.*)", re.DOTALL)
_TASK = re.compile(r"\[([ xX])\]\s+")

HIGHLIGHTED = 20_000
"""Characters of code that are coloured; colouring more would be felt."""

HEADING = "bold $text-primary"
BULLETS = "•◦▪"


class Source:
    """Lines with a place among them."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.at = 0

    @property
    def current(self) -> str | None:
        return self.lines[self.at] if self.at < len(self.lines) else None

    @property
    def following(self) -> str | None:
        return self.lines[self.at + 1] if self.at + 1 < len(self.lines) else None


def markdown(text: str, width: int) -> list[Content]:
    """The text, which is harmless already, as lines of this width."""
    source = Source(text.expandtabs(4))
    found: list[Content] = []
    while (current := source.current) is not None:
        if not current.strip():
            source.at += 1
            if found and found[-1]:
                found.append(Content(""))
            continue
        found += _block(source, current, max(width, 4))
    while found and not found[-1]:
        found.pop()
    return found


def _block(source: Source, current: str, width: int) -> list[Content]:
    if fence := _FENCE.fullmatch(current):
        return _code(source, fence, width)
    if heading := _HEADING.fullmatch(current):
        source.at += 1
        style = f"{HEADING} underline" if len(heading[1]) == 1 else HEADING
        return wrapped(line(inline(heading[2] or "", style)), width)
    if _RULE.fullmatch(current):
        source.at += 1
        return [plain("─" * min(width, 40), "dim")]
    if current.lstrip().startswith(">"):
        return _quote(source, width)
    if item := _ITEM.fullmatch(current):
        return _item(source, item, width)
    if "|" in current and source.following is not None and is_separator(source.following):
        return _table(source, width)
    return _paragraph(source, width)


def _code(source: Source, fence: re.Match[str], width: int) -> list[Content]:
    source.at += 1
    closing = re.compile(rf" {{0,3}}{re.escape(fence[2][0])}{{{len(fence[2])},}}\s*")
    lines: list[str] = []
    while (current := source.current) is not None:
        source.at += 1
        if closing.fullmatch(current):
            break
        lines.append(current)
    return code("\n".join(lines), width, language=fence[3])


def code(text: str, width: int, *, language: str = "") -> list[Content]:
    """Code, with a bar at its side."""
    bar = plain("│ ", "dim")
    coloured = bool(language) and len(text) <= HIGHLIGHTED
    shown = highlight(text, language=language.lower()) if coloured else Content(text)
    found: list[Content] = []
    for one in shown.split("\n", allow_blank=True) if text else [Content("")]:
        found += hanging(one, width, bar, bar)
    return found


def _quote(source: Source, width: int) -> list[Content]:
    lines = []
    while (current := source.current) is not None and current.lstrip().startswith(">"):
        lines.append(current.lstrip()[1:].removeprefix(" "))
        source.at += 1
    bar = plain("▎ ", "dim")
    return [bar + one.stylize("italic") for one in markdown("\n".join(lines), width - 2)]


def _item(source: Source, item: re.Match[str], width: int) -> list[Content]:
    source.at += 1
    text = item[3]
    while (current := source.current) is not None and _continues(current):
        text += " " + current.strip()
        source.at += 1
    level = min(len(item[1]) // 2, 8)
    mark = f"{BULLETS[level % len(BULLETS)]} " if item[2] in "-*+" else f"{item[2]} "
    if task := _TASK.match(text):
        mark, text = ("☐ " if task[1] == " " else "☑ "), text[task.end() :]
    first = Content("  " * level) + plain(mark, "$text-primary")
    return hanging(line(inline(text)), width, first)


def _continues(current: str) -> bool:
    return bool(current.strip()) and not any(_begins(current))


def _begins(current: str) -> Iterator[object]:
    """Whether a line begins something of its own."""
    yield _FENCE.fullmatch(current)
    yield _HEADING.fullmatch(current)
    yield _RULE.fullmatch(current)
    yield _ITEM.fullmatch(current)
    yield current.lstrip().startswith(">")


def _table(source: Source, width: int) -> list[Content]:
    rows = [source.current or ""]
    source.at += 2
    while (current := source.current) is not None and "|" in current:
        rows.append(current)
        source.at += 1
    return draw_table(rows, width)


def _paragraph(source: Source, width: int) -> list[Content]:
    """Line ends stay line ends: agents mean them, and a terminal breaks what is too long by itself."""
    found: list[Content] = []
    while (current := source.current) is not None and (not found or _continues(current)):
        source.at += 1
        found += wrapped(line(inline(current.removesuffix("\\").strip())), width)
    return found
