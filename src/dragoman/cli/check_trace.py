"""`dragoman check trace`: recordings judged by the rules of the live examinations."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from dragoman.cli.check_report import MISTAKEN, Wishes, add_options, frame_lines
from dragoman.cli.console import say
from dragoman.cli.files import explain_error

if TYPE_CHECKING:
    from dragoman.check.manifest import Side

EPILOG = """examples:
  dragoman check trace session.ndjson
  dragoman check trace --side agent --format sarif=acp.sarif --format text session.ndjson
  dragoman check trace examination/*.ndjson

Any recording will do: of `dragoman tap`, of an examination, of other recorders, or plain frames one a line.
Several files are judged together, as connections of the same peer.
"""


def add_parser(parts: argparse._SubParsersAction[Any]) -> None:
    trace = parts.add_parser(
        "trace",
        help="judge recordings",
        description="Judge recordings: what each side did, requirement by requirement.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    trace.add_argument("recordings", metavar="FILE", nargs="+", help="a recording")
    trace.add_argument("--side", choices=("agent", "client", "both"), default="both", help="whom (both)")
    add_options(trace)
    trace.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from dragoman.cli.recordings import read_recording
    from dragoman.errors import BadTranscript, LocalMistake

    path = ""
    try:
        wishes = Wishes(chosen)
        recordings = []
        for path in chosen.recordings:
            recordings.append(read_recording(path))
        lines = [frame_lines(path) for path in chosen.recordings]
    except BadTranscript as error:
        say(f"dragoman check trace: {path} is no recording: {error}", file=sys.stderr)
        return MISTAKEN
    except (LocalMistake, OSError) as error:
        say(f"dragoman check trace: {explain_error(error)}", file=sys.stderr)
        return MISTAKEN
    sides: tuple[Side, ...] = ("agent", "client") if chosen.side == "both" else (chosen.side,)
    names = list(chosen.recordings)
    return wishes.finish(recordings, sides=sides, title=", ".join(names), names=names, lines=lines)
