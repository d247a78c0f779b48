"""`dragoman diff`: two recordings compared by meaning."""

from __future__ import annotations

import argparse
import sys

from dragoman.apps.console import say, say_json
from dragoman.apps.files import explain_error
from dragoman.cli.recordings import read_entries
from dragoman.errors import BadTranscript
from dragoman.text.sanitize import sanitize_line
from dragoman.trace.compare.meaning import compare


def run(args: argparse.Namespace) -> int:
    try:
        differences = compare(read_entries(args.first), read_entries(args.second))
    except (OSError, BadTranscript) as error:
        say(f"dragoman diff: {explain_error(error)}", file=sys.stderr)
        return 2
    if args.json:
        say_json({"same": not differences, "differences": differences})
    else:
        for difference in differences:
            say(f"{difference.side} {sanitize_line(difference.line)}")
    return 1 if differences else 0
