"""`dragoman check trace`: recordings judged by the rules of the live examinations."""

from __future__ import annotations

import argparse
import sys

from dragoman.errors import BadTranscript, LocalMistake
from dragoman_app.apps.console import say
from dragoman_app.apps.files import explain_error
from dragoman_app.cli.check_report import MISTAKEN, Wishes, frame_lines
from dragoman_app.cli.recordings import read_recording
from dragoman_check.manifest import Side


def run(args: argparse.Namespace) -> int:
    path = ""
    try:
        wishes = Wishes(args)
        recordings = []
        for path in args.recordings:
            recordings.append(read_recording(path))
        lines = [frame_lines(path) for path in args.recordings]
    except BadTranscript as error:
        say(f"dragoman check trace: {path} is no recording: {error}", file=sys.stderr)
        return MISTAKEN
    except (LocalMistake, OSError) as error:
        say(f"dragoman check trace: {explain_error(error)}", file=sys.stderr)
        return MISTAKEN
    sides: tuple[Side, ...] = ("agent", "client") if args.side == "both" else (args.side,)
    names = list(args.recordings)
    return wishes.finish(recordings, sides=sides, title=", ".join(names), names=names, lines=lines)
