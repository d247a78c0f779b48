"""Pictures in iTerm2's own protocol (https://iterm2.com/documentation-images.html), which WezTerm has too:
the file itself goes to the terminal, which draws it in so many cells.

tmux passes it on where it is allowed to, in sequences that are not too long: there a picture goes in parts,
which iTerm2 takes since 3.5. What the terminal is, is told by the environment; nothing is asked of it.
"""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

if TYPE_CHECKING:
    from PIL.Image import Image

PARTS_SINCE: Final = (3, 5)
"""The version of iTerm2 that takes pictures in parts."""

PART: Final = 64 * 1024
"""Characters of base64 in a part. tmux drops a sequence of more than a megabyte."""

CELL: Final = (20, 40)
"""Pixels of a cell, at most, that a picture is scaled down to: a terminal of high resolution has as many."""


class InlineTerminal(Struct, frozen=True, kw_only=True):
    """A terminal that takes pictures as files."""

    in_tmux: bool = False
    """Whether each sequence is wrapped for tmux, and pictures go in parts."""


def find_inline_terminal(
    environ: Mapping[str, str], does_tmux_pass: Callable[[], bool]
) -> InlineTerminal | None:
    """The terminal by its own words; None for another one, and behind a tmux that lets nothing pass."""
    program, behind = environ.get("TERM_PROGRAM", ""), environ.get("LC_TERMINAL", "")
    if "TMUX" not in environ and not environ.get("TERM", "").startswith(("screen", "tmux")):
        is_known = program in ("iTerm.app", "WezTerm") or behind in ("iTerm2", "WezTerm")
        return InlineTerminal() if is_known else None
    # tmux puts its own name in TERM_PROGRAM; LC_TERMINAL goes through it and through SSH.
    if behind != "iTerm2" or _version(environ.get("LC_TERMINAL_VERSION", "")) < PARTS_SINCE:
        return None
    return InlineTerminal(in_tmux=True) if does_tmux_pass() else None


def does_tmux_pass() -> bool:
    """Whether the tmux around us passes sequences on to the terminal that it does not know itself."""
    command = ["tmux", "show-options", "-Apv", "allow-passthrough"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() in ("on", "all")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


def encode_inline_image(data: bytes, columns: int, rows: int, terminal: InlineTerminal) -> str:
    """What to write so that the terminal draws the file in so many cells, as large as its shape allows. The
    cursor stays, where the terminal can do that.
    """
    arguments = (
        f"inline=1;size={len(data)};width={columns};height={rows};preserveAspectRatio=1;doNotMoveCursor=1"
    )
    text = base64.b64encode(data).decode()
    if not terminal.in_tmux:
        return _osc(f"File={arguments}:{text}")
    parts = [text[start : start + PART] for start in range(0, len(text), PART)]
    commands = [f"MultipartFile={arguments}", *(f"FilePart={part}" for part in parts), "FileEnd"]
    return "".join(_pass_through(_osc(command)) for command in commands)


def _osc(command: str) -> str:
    return f"\x1b]1337;{command}\a"


def _pass_through(sequence: str) -> str:
    doubled = sequence.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\"


class InlinePicture(Widget):
    """A picture that the terminal draws; nothing while it cannot be seen whole: a part of a file is none."""

    def __init__(self, image: Image, terminal: InlineTerminal, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._image = image
        self._terminal = terminal
        self._encoded: tuple[tuple[int, int], str] | None = None

    def render_lines(self, crop: Region) -> list[Strip]:
        """The sequence stands at the end of the last line: what is written later would cover the picture."""
        blank = [Strip.blank(crop.width, self.rich_style)] * crop.height
        if not self.is_attached or not self.screen.is_active or not crop:
            return blank
        where = self.screen.find_widget(self).visible_region
        if where.size != crop.size or crop.size != self.size:
            return blank
        picture = self._encode(crop.width, crop.height)
        text = f"{_move_to(where.x, where.y)}{picture}{_move_to(where.right, where.bottom - 1)}"
        (cells,) = blank[-1]
        # What Textual takes for a control takes no room, is not cut, and goes to the terminal as it is.
        sequence = cells._replace(text=text, style=None, control=[(1,)])  # type: ignore[list-item]
        return [*blank[:-1], Strip([cells, sequence], crop.width)]

    def _encode(self, columns: int, rows: int) -> str:
        if self._encoded is None or self._encoded[0] != (columns, rows):
            small = self._image.copy()
            small.thumbnail((columns * CELL[0], rows * CELL[1]))
            file = BytesIO()
            small.save(file, "PNG")
            text = encode_inline_image(file.getvalue(), columns, rows, self._terminal)
            self._encoded = (columns, rows), text
        return self._encoded[1]


def _move_to(column: int, row: int) -> str:
    return f"\x1b[{row + 1};{column + 1}H"
