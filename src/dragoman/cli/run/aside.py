"""Standard error: where a run speaks to people, aside from what standard output promises.

Whoever closed it wants to hear nothing. What is said here is sanitized already.
"""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """A line."""
    write(f"{text}\n")


def write(text: str) -> None:
    """Text as it is, at once."""
    if sys.stderr is None:  # `2>&-`; printing to nothing would print to standard output
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # it went away
        pass
