"""Markdown within a line: emphasis, code, links.

A link is shown, never followed: its address stands beside its text, so that a person sees where it leads.
What is not closed is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.tui.text.lines import Piece

_INLINE = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)(?!`)(?P<code>.{1,800}?)(?<!`)(?P=ticks)(?!`)"
    r"|\*\*(?=\S)(?P<bold>.{1,400}?)(?<=\S)\*\*"
    r"|(?<!\w)__(?=\S)(?P<bold_too>.{1,400}?)(?<=\S)__(?!\w)"
    r"|~~(?=\S)(?P<struck>.{1,400}?)~~"
    r"|\*(?=[^\s*])(?P<italic>[^*\n]{1,400}?)(?<=\S)\*(?!\*)"
    r"|(?<!\w)_(?=[^\s_])(?P<italic_too>[^_\n]{1,400}?)(?<=\S)_(?!\w)"
    r"|(?P<image>!)?\[(?P<label>[^\]\n]{0,500})\]\((?P<target>[^)\s]{0,2000})(?:\s[^)\n]{0,200})?\)",
    re.DOTALL,
)

# Lengths are bounded: what is never closed is looked for again and again.

_STYLES = {
    "bold": "bold",
    "bold_too": "bold",
    "struck": "strike",
    "italic": "italic",
    "italic_too": "italic",
}

CODE = "$text-warning"
LINK = "underline"
DEEPEST = 6


def inline(text: str, style: str = "", *, depth: int = 0) -> list[Piece]:
    """The pieces of a text."""
    if not any(mark in text for mark in "\\`*_~[") or depth > DEEPEST:
        return [(text, style)]
    pieces: list[Piece] = []
    at = 0
    for found in _INLINE.finditer(text):
        if found.start() > at:
            pieces.append((text[at : found.start()], style))
        pieces += _found(found, style, depth)
        at = found.end()
    if at < len(text):
        pieces.append((text[at:], style))
    return pieces


def _found(found: re.Match[str], style: str, depth: int) -> Iterator[Piece]:
    kind = found.lastgroup or ""
    if found["escape"]:
        yield found["escape"][1:], style
    elif found["code"] is not None:
        code = found["code"]
        # One space on both sides is there to keep backticks apart.
        bare = code[1:-1] if len(code) > 2 and code[0] == code[-1] == " " and code.strip() else code
        yield bare, _both(style, CODE)
    elif found["target"] is not None:
        yield from _link(found, style, depth)
    else:
        yield from inline(found[kind], _both(style, _STYLES[kind]), depth=depth + 1)


def _link(found: re.Match[str], style: str, depth: int) -> Iterator[Piece]:
    label, target = found["label"], found["target"]
    if found["image"]:
        yield "[image] ", _both(style, "dim")
    if label and label != target:
        yield from inline(label, _both(style, LINK), depth=depth + 1)
        yield f" ({target})", _both(style, "dim")
    else:
        yield target, _both(style, LINK)


def _both(outer: str, inner: str) -> str:
    return f"{outer} {inner}".strip()
