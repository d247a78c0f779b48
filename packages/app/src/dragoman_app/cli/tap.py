"""`dragoman tap`: a prefix for any agent's command that records everything, and changes nothing."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from dragoman.errors import BadTranscript, LocalMistake, SpawnFailed
from dragoman.transport.file_outlet import stderr_writer
from dragoman.transport.stdio import claim_stdio
from dragoman_app.apps.console import MISTAKEN, ErrorStatus, say
from dragoman_app.cli.recordings import recording_of
from dragoman_check.manifest import Side
from dragoman_check.trace.live import Live
from dragoman_check.trace.tap.recorder import TapRecorder, newest, taps_folder
from dragoman_check.trace.tap.secrets import SecretFilter
from dragoman_check.trace.tap.tap import tap
from dragoman_check.verdict import judge
from dragoman_local.journal.contract import Entry
from dragoman_local.journal.transcript import read_transcript

MEGABYTE = 1_000_000


def run(args: argparse.Namespace) -> int:
    if args.command[0] == "attach" and "--" not in sys.argv:
        return attach(args.command[1:], folder=args.folder)

    stdio = claim_stdio()
    secrets = None if args.no_redact else SecretFilter(os.environ)
    with ErrorStatus(OSError, status=MISTAKEN, act="write"):
        recorder = _recorder(args, secrets)
    if args.live:
        say(f"dragoman tap: watch it: dragoman tap attach {recorder.path}", file=sys.stderr)
    try:
        with ErrorStatus(SpawnFailed, status=127):
            status = asyncio.run(_tap(args, recorder, stdio.read_fd, stdio.write_fd))
    finally:
        recorder.close(
            last_words=None if secrets is None else lambda: {"event": "redacted", "count": secrets.count}
        )
        if recorder.unwritten:
            say(f"dragoman tap: {recorder.unwritten} bytes could not be written", file=sys.stderr)
    return status if status >= 0 else 128 - status


async def _tap(args: argparse.Namespace, recorder: TapRecorder, stdin: int, stdout: int) -> int:
    return await tap(
        args.command,
        stdin=stdin,
        stdout=stdout,
        show=stderr_writer() or (lambda _: None),
        recorder=recorder,
        guard=args.guard,
    )


def _recorder(args: argparse.Namespace, secrets: SecretFilter | None) -> TapRecorder:
    path = Path(args.record) if args.record else _new_path(args)
    name = " ".join(args.command[:1])
    return TapRecorder(path, name=name, secrets=secrets, full=int(args.max_size * MEGABYTE), keep=args.keep)


def _new_path(args: argparse.Namespace) -> Path:
    folder = taps_folder(args.folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    moment = time.strftime("%Y%m%d-%H%M%S")
    return folder / f"{Path(args.command[0]).name}-{moment}-{os.getpid()}.ndjson"


# `dragoman tap attach`: what passes through a tap, as it passes, in another terminal.

SIDES: tuple[Side, ...] = ("agent", "client")

SOON = 5000
"""The most entries of a recording that is tested after every turn; a longer one is tested at its end."""

PAUSE = 0.1
"""The seconds between two checks of a growing file."""


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
