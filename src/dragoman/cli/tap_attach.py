"""`dragoman tap attach`: what passes through a tap, as it passes, in another terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

PAUSE = 0.1
"""Seconds between two looks at a file that grows."""


def attach(words: list[str], *, folder: str | None) -> int:
    """Show a recording from its beginning, and follow it until its conversation has ended."""
    from dragoman.trace.tap.places import newest, taps_folder

    path = Path(words[0]) if words else newest(taps_folder(folder))
    if path is None or not path.is_file():
        what = "there is no recording yet" if path is None else f"there is no file {path}"
        print(f"dragoman tap attach: {what}; start one with: dragoman tap -- COMMAND", file=sys.stderr)
        return 2
    print(f"{path}\n", file=sys.stderr)
    try:
        for line in _shown(path):
            print(line, flush=True)
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:
        sys.stderr.close()
    return 0


def _shown(path: Path) -> Iterator[str]:
    from dragoman.errors import BadTranscript
    from dragoman.journal.transcript import read_transcript
    from dragoman.trace.live import Live

    live = Live()
    for text in _lines(path):
        try:
            entries = list(read_transcript([text]))
        except BadTranscript:
            continue  # the header, or something that is no entry
        for entry in entries:
            yield from live.tell(entry)
            if entry.direction == "note" and b'"event":"exit"' in entry.frame:
                yield from live.rest()
                return


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, also those that are still to be written."""
    rest = b""
    with path.open("rb") as file:
        while True:
            chunk = file.read(65536)
            if not chunk:
                time.sleep(PAUSE)
                continue
            *whole, rest = (rest + chunk).split(b"\n")
            yield from whole
