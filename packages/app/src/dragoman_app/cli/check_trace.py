"""`dragoman check trace`: tests recordings with the rules of the live tests."""

from __future__ import annotations

import argparse

from dragoman.errors import BadTranscript
from dragoman_app.apps.console import ErrorStatus
from dragoman_app.cli.check_report import MISTAKEN, Examined, Wishes, frame_lines
from dragoman_app.cli.recordings import read_recording
from dragoman_check.manifest import Side


def run(args: argparse.Namespace) -> int:
    recordings = []
    with ErrorStatus(OSError, status=MISTAKEN):
        wishes = Wishes(args)
        for path in args.recordings:
            with ErrorStatus(BadTranscript, status=MISTAKEN, before=f"{path} is not a recording: "):
                recordings.append(read_recording(path))
        lines = [frame_lines(path) for path in args.recordings]
    sides: tuple[Side, ...] = ("agent", "client") if args.side == "both" else (args.side,)
    names = list(args.recordings)
    return wishes.finish(Examined(recordings, sides, ", ".join(names), names, lines))
