"""What commands print. Whatever a peer, a file or a hub has put into a text is sanitized here.

A text is sanitized as many lines. Whoever puts a name or a title into a line sanitizes it as one line
first, so that it cannot pretend to be another line.
"""

from __future__ import annotations

from typing import TextIO

from dragoman.text.sanitize import sanitize, sanitize_json


def say(text: object = "", *, file: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print a text, to standard output unless `file` is another one."""
    print(sanitize(str(text)), file=file, end=end, flush=flush)


def say_json(encoded: bytes) -> None:
    """Print encoded JSON to standard output; its value stays the same."""
    print(sanitize_json(encoded).decode())
