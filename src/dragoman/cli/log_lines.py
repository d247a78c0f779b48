"""Log lines on standard error: they may quote what a peer sent, so they are sanitized as all texts are."""

from __future__ import annotations

import logging

from dragoman.text.sanitize import sanitize


class SafeFormatter(logging.Formatter):
    """Log lines that a terminal may show."""

    def format(self, record: logging.LogRecord) -> str:
        return sanitize(super().format(record))


def sanitize_log_lines() -> None:
    """For commands that set up no log: Python then prints warnings to standard error by itself."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(SafeFormatter())
