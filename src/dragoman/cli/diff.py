"""`dragoman diff`: two recordings compared by meaning."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from dragoman.cli.console import say, say_json
from dragoman.text.sanitize import sanitize_line

EPILOG = """examples:
  dragoman diff before.ndjson after.ndjson
  dragoman diff --json a.ndjson b.ndjson

Times, ids and how text was cut into pieces mean nothing; what was said, asked, decided, written and how each
turn ended does.

exit status:
    0  both mean the same
    1  they differ
    2  a file cannot be read
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    diff = commands.add_parser(
        "diff",
        help="compare two recordings by meaning",
        description="Compare two recordings by meaning.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    diff.fill = _fill


def _fill(diff: argparse.ArgumentParser) -> None:
    diff.add_argument("first", metavar="A", help="a recording")
    diff.add_argument("second", metavar="B", help="another")
    diff.add_argument("--json", action="store_true", help="the differences as JSON")
    diff.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    import msgspec

    from dragoman.cli.files import explain_error
    from dragoman.cli.recordings import read_entries
    from dragoman.errors import BadTranscript
    from dragoman.trace.compare.meaning import compare

    try:
        found = compare(read_entries(chosen.first), read_entries(chosen.second))
    except (OSError, BadTranscript) as error:
        say(f"dragoman diff: {explain_error(error)}", file=sys.stderr)
        return 2
    if chosen.json:
        say_json(msgspec.json.encode({"same": not found, "differences": found}))
    else:
        for one in found:
            say(f"{one.side} {sanitize_line(one.line)}")
    return 1 if found else 0
