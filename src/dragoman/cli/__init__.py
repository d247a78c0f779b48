"""The command `dragoman`: reads the command line and starts what it names.

Every failure says what happened, why, and what to do next, on standard error and with exit status 2 for a
mistaken command line and 1 for anything else, unless a command documents more. What a command does not need
is not imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    from dragoman.cli.parser import make_parser

    chosen = make_parser().parse_args(arguments)
    from dragoman.cli.log_lines import sanitize_log_lines  # not needed to show help

    sanitize_log_lines()
    try:
        status: int = chosen.run(chosen)
        if sys.stdout is not None:  # as it is for a program that was started with its output closed
            sys.stdout.flush()
    except BrokenPipeError:
        # `dragoman … | head`: nobody reads any more, and Python shall not complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141  # what a shell reports of a program that SIGPIPE ended
    return status
