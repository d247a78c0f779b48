"""`dragoman diff`: compares two recordings by meaning."""

from __future__ import annotations

import argparse

from dragoman.errors import BadTranscript
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import MISTAKEN, ErrorStatus, say, say_json
from dragoman_app.cli.recordings import read_entries
from dragoman_check.trace.compare.meaning import compare


def run(args: argparse.Namespace) -> int:
    with ErrorStatus(OSError, BadTranscript, status=MISTAKEN):
        differences = compare(read_entries(args.first), read_entries(args.second))
    if args.json:
        say_json({"same": not differences, "differences": differences})
    else:
        for difference in differences:
            say(f"{difference.side} {sanitize_line(difference.line)}")
    return 1 if differences else 0
