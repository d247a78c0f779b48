"""A picture of an agent in a terminal: drawn by the terminal, as half blocks of two colours each, or as a
line that names it.

Pixels need `dragoman[pictures]`. A picture is an agent's, hence hostile: its kind, bytes and pixels are
bounded before anything is unpacked, and what cannot be read is named.

iTerm2's own protocol comes first (`inline_images.py`), where the terminal says that it has it. The library
for the others asks the terminal what it can when it is imported, which must be before the screen takes the
terminal over: `prepare_pictures` does that, and without it there are none.
"""

from __future__ import annotations

import base64
import logging
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.text.lines import hanging, line, plain

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")
MOST_BYTES: Final = 20 * 1024 * 1024
MOST_PIXELS: Final = 40_000_000
"""The most pixels of the picture: a small file can unpack to any size."""

ROWS: Final = 16
"""The lines of a picture in the conversation."""

COLUMNS: Final = 64

HALF: Final = "▀"


@lru_cache(maxsize=1)
def has_pixels() -> bool:
    """Whether pictures can be unpacked here."""
    return find_spec("PIL") is not None


def draw_picture(
    mime_type: str, data: str, width: int, *, rows: int = ROWS, columns: int = COLUMNS, coloured: bool = True
) -> list[Content]:
    """Draw the picture in at most this many lines, below a line that names it; without colours, only that
    line.
    """
    image = open_picture(data) if coloured else None
    words = sanitize_line(describe_picture(mime_type, data, image))
    name = hanging(plain(words, "dim"), width, plain("▣ ", "dim"))
    if image is None:
        return name
    return [*name, *(Content("  ") + row for row in half_blocks(image, min(width - 2, columns), rows))]


def describe_picture(mime_type: str, data: str, image: Image | None = None) -> str:
    """Describe a picture in a few words."""
    size = len(data) * 3 // 4
    parts = [f"picture, {mime_type}", f"{size / 1024:,.0f} kB" if size >= 1024 else f"{size} bytes"]
    if image is not None:
        parts.append(f"{image.width}×{image.height}")
    elif not has_pixels():
        parts.append("pip install 'dragoman[pictures]' shows it")
    return ", ".join(parts)


def open_picture(data: str) -> Image | None:
    """Open a picture without unpacking it; None if its format is not supported."""
    if not has_pixels() or len(data) > MOST_BYTES * 4 // 3:
        return None
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)  # else it writes over the screen
            image = Image.open(BytesIO(base64.b64decode(data, validate=True)), formats=FORMATS)
    except (ValueError, OSError, SyntaxError, Image.DecompressionBombWarning, Image.DecompressionBombError):
        return None
    return image if 0 < image.width * image.height <= MOST_PIXELS else None


def half_blocks(image: Image, columns: int, rows: int) -> list[Content]:
    """Draw two pixels, one above the other, in each cell. Return nothing if the picture is broken."""
    columns, rows = max(columns, 1), max(rows, 1)
    try:
        small = image.convert("RGBA")
        small.thumbnail((columns, rows * 2))
        pixels = small.load()
        width, height = small.size
    except (OSError, ValueError, SyntaxError, MemoryError):  # it was cut off, or lied about itself
        return []
    if pixels is None:
        return []

    def colours(y: int) -> Iterator[str]:
        for x in range(width):
            above = _colour(pixels[x, y])
            below = _colour(pixels[x, y + 1]) if y + 1 < height else ""
            yield f"{above} on {below}" if below else above

    return [
        line([(HALF * len(list(cells)), style) for style, cells in groupby(colours(y))])
        for y in range(0, height, 2)
    ]


def _colour(pixel: object) -> str:
    """On black, as far as it can be seen through."""
    assert isinstance(pixel, tuple)
    red, green, blue, alpha = pixel
    return "#{:02x}{:02x}{:02x}".format(*(part * alpha // 255 for part in (red, green, blue)))


_inline_terminal: InlineTerminal | None = None
"""A terminal that takes files, once it was looked for."""


def prepare_pictures() -> None:
    """Detect the terminal's abilities, as far as libraries are installed."""
    global _inline_terminal
    _inline_terminal = find_inline_terminal(os.environ, does_tmux_pass) if has_pixels() else None
    if _inline_terminal is None and find_spec("textual_image") is not None:
        # It warns, with a traceback, of terminals that do not tell how large their letters are.
        logging.getLogger("textual_image").setLevel(logging.ERROR)
        # It divides by the width: a terminal over a serial line, or one that is not set up yet, says 0.
        with suppress(ZeroDivisionError):
            import textual_image.widget  # noqa: F401  # the import asks


def native_picture(data: str) -> Widget | None:
    """Return a widget that lets the terminal draw the picture; None if it is broken, or `prepare_pictures`
    was not called.
    """
    is_prepared = _inline_terminal is not None or "textual_image.widget" in sys.modules
    if not is_prepared or (image := open_picture(data)) is None:
        return None
    try:
        return _picture_widget(image.convert("RGBA"))
    except (OSError, ValueError, SyntaxError, MemoryError):  # it was cut off, or lied about itself
        return None


def _picture_widget(image: Image) -> Widget:
    if _inline_terminal is not None:
        return InlinePicture(image, _inline_terminal, classes="picture")
    from textual_image.widget import Image as LibraryImage

    widget: Widget = LibraryImage(image, classes="picture")
    return widget


# Pictures in iTerm2's own protocol (https://iterm2.com/documentation-images.html), which WezTerm has too:
# the file itself goes to the terminal, which draws it in so many cells.
#
# tmux passes it on where it is allowed to, in sequences that are not too long: there a picture goes in
# parts, which iTerm2 takes since 3.5. What the terminal is, is told by the environment; nothing is asked of
# it.

PARTS_SINCE: Final = (3, 5)
"""The first version of iTerm2 that accepts pictures in parts."""

PART: Final = 64 * 1024
"""The characters of base64 in a part. tmux drops a sequence of more than a megabyte."""

CELL: Final = (20, 40)
"""The most pixels of a cell to which a picture is scaled down: terminals of high resolution have as many."""


class InlineTerminal(Struct, frozen=True, kw_only=True):
    """A terminal that accepts pictures as files."""

    in_tmux: bool = False
    """Whether each sequence is wrapped for tmux, with pictures in parts."""


def find_inline_terminal(
    environ: Mapping[str, str], does_tmux_pass: Callable[[], bool]
) -> InlineTerminal | None:
    """Detect the terminal by its own answer; None for another one, and behind a tmux that
    passes nothing on.
    """
    program, behind = environ.get("TERM_PROGRAM", ""), environ.get("LC_TERMINAL", "")
    if "TMUX" not in environ and not environ.get("TERM", "").startswith(("screen", "tmux")):
        is_known = program in ("iTerm.app", "WezTerm") or behind in ("iTerm2", "WezTerm")
        return InlineTerminal() if is_known else None
    # tmux puts its own name in TERM_PROGRAM; LC_TERMINAL goes through it and through SSH.
    if behind != "iTerm2" or _version(environ.get("LC_TERMINAL_VERSION", "")) < PARTS_SINCE:
        return None
    return InlineTerminal(in_tmux=True) if does_tmux_pass() else None


def does_tmux_pass() -> bool:
    """Whether the tmux around us passes unknown sequences on to the terminal."""
    command = ["tmux", "show-options", "-Apv", "allow-passthrough"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() in ("on", "all")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


def encode_inline_image(data: bytes, columns: int, rows: int, terminal: InlineTerminal) -> str:
    """Return the sequence with which the terminal draws the file in this many cells, as large as its shape
    allows. The cursor stays, if the terminal supports that.
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
    """A picture drawn by the terminal. It is only drawn if it is completely visible: a part of a file is not
    a picture.
    """

    def __init__(self, image: Image, terminal: InlineTerminal, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._image = image
        self._terminal = terminal
        self._encoded: tuple[tuple[int, int], str] | None = None

    def render_lines(self, crop: Region) -> list[Strip]:
        """Put the sequence at the end of the last line: later output would cover the picture."""
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
