"""Which colours suit the terminal: whether its background is light, asked before the screen is drawn.

`COLORFGBG` says it where it is set. Else a terminal that calls itself able (`COLORTERM`) is asked (OSC 11),
with a question behind it that every terminal answers (DA1), so that nobody waits for one that does not know
the first.
"""

from __future__ import annotations

import os
import re
import select
import time
from collections.abc import Callable, Mapping
from typing import Final

QUESTION: Final = b"\x1b]11;?\x1b\\\x1b[c"
SECONDS: Final = 0.15
"""For both answers; a terminal far away that is slower gets the dark theme."""

LONGEST: Final = 4096
"""Bytes of an answer."""

_BACKGROUND = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
_ATTRIBUTES = re.compile(rb"\x1b\[\?[\d;]*c")


def theme_for(name: str, environ: Mapping[str, str], ask: Callable[[], bytes]) -> str:
    """The theme that is meant by `auto`, `dark`, `light` or its own name. `ask` asks the terminal."""
    if name == "auto":
        name = "light" if _is_light(environ, ask) else "dark"
    return {"dark": "dragoman", "light": "dragoman-light"}.get(name, name)


def _is_light(environ: Mapping[str, str], ask: Callable[[], bytes]) -> bool:
    if "NO_COLOR" in environ:
        return False
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    if background.isdecimal():
        return int(background) == 7 or int(background) > 8
    return "COLORTERM" in environ and is_light_answer(ask())


def is_light_answer(answer: bytes) -> bool:
    """Whether the colour that a terminal has told is a light one."""
    match = _BACKGROUND.search(answer)
    if match is None:
        return False
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
    return bool(0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5)


def ask_terminal(fd: int) -> bytes:
    """What the terminal says of its background; nothing if it does not say it in time, or if somebody types
    already, whose keys must not be lost.
    """
    try:
        import termios
        import tty
    except ImportError:  # not Unix
        return b""
    try:
        before = termios.tcgetattr(fd)
        if select.select([fd], [], [], 0)[0]:
            return b""
        tty.setcbreak(fd, termios.TCSANOW)
        try:
            os.write(fd, QUESTION)
            return _read_answer(fd)
        finally:
            termios.tcsetattr(fd, termios.TCSANOW, before)
    except (OSError, termios.error):
        return b""


def _read_answer(fd: int) -> bytes:
    answer, until = b"", time.monotonic() + SECONDS
    while not _ATTRIBUTES.search(answer) and len(answer) < LONGEST:
        if not select.select([fd], [], [], max(0.0, until - time.monotonic()))[0]:
            break
        if not (chunk := os.read(fd, 1024)):
            break
        answer += chunk
    return answer
