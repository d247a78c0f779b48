"""A picture as the terminal itself draws it (kitty's protocol, sixel), with the extra `pictures`.

The library asks the terminal what it can when it is imported, which must be before the screen takes the
terminal over: `prepare_pictures` does that, and without it there is no native picture.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from textual.widget import Widget

from dragoman.tui.drawing.pictures import open_picture
from dragoman.tui.model.entries import PictureEntry, TranscriptEntry

_LIBRARY = "textual_image.widget"


def prepare_pictures() -> None:
    """Let the library find out what the terminal can, if it is installed."""
    if find_spec("textual_image") is not None:
        import textual_image.widget  # noqa: F401  # the import asks


def native_picture(entry: TranscriptEntry) -> Widget | None:
    """A widget for it; None if it is no picture, is broken, or nothing was prepared."""
    if _LIBRARY not in sys.modules or not isinstance(entry, PictureEntry):
        return None
    from textual_image.widget import Image

    image = open_picture(entry.data)
    try:
        picture = None if image is None else image.convert("RGBA")
    except (OSError, ValueError, SyntaxError, MemoryError):  # it was cut off, or lied about itself
        return None
    widget: Widget | None = None if picture is None else Image(picture, classes="picture")
    return widget
