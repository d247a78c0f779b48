"""Reads a command's output as lines: keeps colours, drops all other terminal control sequences.

Colours and weights (SGR) become styles. A carriage return writes over its line, as progress bars do. Other
sequences (cursor, title, clipboard, modes) are dropped here, because programs send them in good faith and a
person wants the text; what stays is sanitized. It is no terminal: full-screen programs look odd.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from dragoman.text.sanitize import sanitize

Piece: TypeAlias = tuple[str, str]
"""A text and its style, in the syntax of Textual: `bold ansi_red on rgb(1,2,3)`."""

_SEQUENCE = re.compile(
    r"\x1b\[([0-9;:<=>?]*)[ -/]*([@-~])"  # CSI
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|\Z)"  # OSC and other strings
    r"|\x1b[ -/]*[0-~]"
    r"|\x1b",
    re.DOTALL,
)

_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_WEIGHTS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_ENDS = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}


class _Pen:
    """The style that is in force."""

    def __init__(self) -> None:
        self._weights: dict[str, None] = {}
        self._colour = ""
        self._ground = ""

    @property
    def style(self) -> str:
        ground = f"on {self._ground}" if self._ground else ""
        return " ".join(word for word in (*self._weights, self._colour, ground) if word)

    def obey(self, parameters: str) -> None:
        codes = [
            int(word) if word.isdecimal() and len(word) < 4 else 0 for word in re.split("[;:]", parameters)
        ]
        at = 0
        while at < len(codes):
            at += self._obey(codes, at)

    def _obey(self, codes: list[int], at: int) -> int:
        code = codes[at]
        if code in (38, 48):
            return self._set_extended_colour(codes, at)
        if code == 0:
            self._weights, self._colour, self._ground = {}, "", ""
        elif code in _WEIGHTS:
            self._weights[_WEIGHTS[code]] = None
        elif code in _ENDS:
            for weight in _ENDS[code]:
                self._weights.pop(weight, None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            self._colour = _colour_name(code)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            self._ground = _colour_name(code - 10)
        elif code == 39:
            self._colour = ""
        elif code == 49:
            self._ground = ""
        return 1

    def _set_extended_colour(self, codes: list[int], at: int) -> int:
        kind, rest = codes[at + 1 : at + 2], codes[at + 2 :]
        colour, used = "", 2
        if kind == [5] and rest:
            colour, used = _indexed_colour(rest[0]), 3
        elif kind == [2] and len(rest) >= 3:
            colour, used = "rgb({},{},{})".format(*(min(part, 255) for part in rest[:3])), 5
        if colour and codes[at] == 38:
            self._colour = colour
        elif colour:
            self._ground = colour
        return used


def _colour_name(code: int) -> str:
    return f"ansi_bright_{_COLOURS[code - 90]}" if code >= 90 else f"ansi_{_COLOURS[code - 30]}"


def _indexed_colour(index: int) -> str:
    if index < 16:
        return _colour_name(index + 30 if index < 8 else index + 82)
    if index < 232:
        steps = (0, 95, 135, 175, 215, 255)
        index -= 16
        return f"rgb({steps[index // 36]},{steps[index // 6 % 6]},{steps[index % 6]})"
    grey = 8 + 10 * min(index - 232, 23)
    return f"rgb({grey},{grey},{grey})"


def output_pieces(text: str) -> Iterator[list[Piece]]:
    """Return the pieces of each line of an output, unwrapped; every line has at least one."""
    pen = _Pen()
    for raw in text.replace("\r\n", "\n").removesuffix("\n").split("\n"):
        # What a carriage return writes over is gone, as on a terminal; its styles were for that.
        visible = raw.rpartition("\r")[2] if "\r" in raw.rstrip("\r") else raw.rstrip("\r")
        yield _pieces(visible, pen) or [("", "")]


def _pieces(text: str, pen: _Pen) -> list[Piece]:
    if "\x1b" not in text and not pen.style:
        return [(_visible_text(text), "")]
    pieces: list[Piece] = []
    at = 0
    for match in _SEQUENCE.finditer(text):
        if match.start() > at:
            pieces.append((_visible_text(text[at : match.start()]), pen.style))
        if match[2] == "m" and not match[1].startswith(("<", "=", ">", "?")):
            pen.obey(match[1])
        at = match.end()
    if at < len(text):
        pieces.append((_visible_text(text[at:]), pen.style))
    return pieces


def _visible_text(text: str) -> str:
    return sanitize(text.expandtabs(8)).replace("\n", "␊")
