"""`dragoman tap attach`: what passes through a tap, as it passes, in another terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from dragoman.errors import BadTranscript, LocalMistake
from dragoman_app.apps.console import say
from dragoman_app.cli.recordings import recording_of
from dragoman_check.manifest import Side
from dragoman_check.trace.live import Live
from dragoman_check.trace.tap.recorder import newest, taps_folder
from dragoman_check.verdict import judge
from dragoman_local.journal.contract import Entry
from dragoman_local.journal.transcript import read_transcript

SIDES: tuple[Side, ...] = ("agent", "client")

SOON = 5000
"""Entries up to which a recording is judged after every turn; a longer one is judged at its end."""

PAUSE = 0.1
"""Seconds between two looks at a file that grows."""


def attach(words: list[str], *, folder: str | None) -> int:
    """Show a recording from its beginning, and follow it until its conversation has ended."""
    path = Path(words[0]) if words else newest(taps_folder(folder))
    if path is None or not path.is_file():
        what = "no recording yet" if path is None else f"no file {path}"
        raise LocalMistake(f"{what}. Start one: dragoman tap -- COMMAND")
    say(f"{path}\n", file=sys.stderr)
    try:
        for line in _live_lines(path):
            say(line, flush=True)
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:
        sys.stderr.close()
    return 0


def _live_lines(path: Path) -> Iterator[str]:
    live, warned_ids, turns = Live(), set[str](), 0
    past_entries: list[Entry] = []
    for text in _lines(path):
        try:
            entries = list(read_transcript([text]))
        except BadTranscript:
            continue  # the header, or something that is not an entry
        for entry in entries:
            yield from live.tell(entry)
            past_entries.append(entry)
            over = entry.direction == "note" and b'"event":"exit"' in entry.frame
            if over:
                yield from live.rest()
            if over or (live.turns > turns and len(past_entries) <= SOON):
                turns = live.turns
                yield from _warnings(past_entries, warned_ids)
            if over:
                return


def _warnings(entries: list[Entry], warned_ids: set[str]) -> Iterator[str]:
    """What the rules of `check trace` find so far, each requirement once."""
    recording = recording_of(entries)
    for side in SIDES:
        for verdict in judge([recording], side):
            if verdict.status in ("failed", "warned") and verdict.requirement not in warned_ids:
                warned_ids.add(verdict.requirement)
                finding = verdict.findings[0]
                frame = f" (frame {finding.frames[0]})" if finding.frames else ""
                yield f"             ⚑   {verdict.requirement}, {side}: {finding.why}{frame}"


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
