"""`dragoman view`: a recording as one HTML file."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import say

if TYPE_CHECKING:
    from dragoman.journal.contract import Entry

EPILOG = """examples:
  dragoman view session.ndjson
  dragoman view session.ndjson -o /tmp/session.html --open
  dragoman tap --record session.ndjson -- my-agent; dragoman view session.ndjson

The file needs no server and no network. It holds the whole recording, and is readable by you alone. Findings
are those of `dragoman check trace`.
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    view = commands.add_parser(
        "view",
        help="show a recording as one HTML file",
        description="Show a recording as one HTML file.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    view.fill = _fill


def _fill(view: argparse.ArgumentParser) -> None:
    view.add_argument("recording", metavar="FILE", help="a recording: ours, another's, or plain frames")
    view.add_argument("-o", "--output", metavar="FILE", help="where to write (beside the recording)")
    view.add_argument("--open", action="store_true", help="open it in the browser")
    view.add_argument("--title", metavar="TEXT", help="what to call it (the file's name)")
    view.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from pathlib import Path

    from dragoman.cli.files import explain_error, open_private
    from dragoman.cli.recordings import read_entries
    from dragoman.errors import BadTranscript
    from dragoman.trace.view.page import make_page

    path = Path(chosen.recording)
    target = Path(chosen.output) if chosen.output else path.with_suffix(".html")
    try:
        entries = read_entries(path)
    except BadTranscript as error:
        say(f"dragoman view: {path} is no recording: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        say(f"dragoman view: {explain_error(error)}", file=sys.stderr)
        return 2
    page = make_page(entries, title=chosen.title or path.name, findings=_findings(entries))
    try:
        with open_private(target) as file:
            file.write(page)
    except OSError as error:
        say(f"dragoman view: {explain_error(error, act='write')}", file=sys.stderr)
        return 2
    say(target)
    if chosen.open:
        import webbrowser

        webbrowser.open(target.resolve().as_uri())
    return 0


def _findings(entries: list[Entry]) -> list[dict[str, Any]]:
    """What the rules of `check trace` say about both sides, at the first frame of each finding."""
    from dragoman.check.verdict import judge
    from dragoman.cli.recordings import recording_of

    recording = recording_of(entries)
    levels = {"failed": "fail", "warned": "warn"}
    found = [
        {
            "frame": finding.frames[0],
            "rule": verdict.requirement,
            "level": levels[verdict.status],
            "why": finding.why,
        }
        for side in ("agent", "client")
        for verdict in judge([recording], side)
        if verdict.status in levels
        for finding in verdict.findings
        if finding.frames
    ]
    return sorted(found, key=lambda one: one["frame"])
