"""What commands print, and what they log. Whatever a peer, a file or a hub put into a text is sanitized here.

A text is sanitized as many lines. Whoever puts a name or a title into a line sanitizes it as one line
first, so that it cannot pretend to be another line.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

from dragoman.errors import LocalMistake
from dragoman.text.sanitize import sanitize, sanitize_json

SEVERITIES = {"DEBUG": 5, "INFO": 9, "WARNING": 13, "ERROR": 17, "CRITICAL": 21}
"""The numbers of OpenTelemetry's model of logs."""


class UsageMistake(LocalMistake):
    """A command cannot do what its arguments say: what is wrong, and what to do next."""

    def __init__(self, what: str, next_step: str = "dragoman run --help") -> None:
        super().__init__(what)
        self.next_step = next_step


def say(text: object = "", *, file: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print a text, to standard output unless `file` is another one."""
    print(sanitize(str(text)), file=file, end=end, flush=flush)


def tell_person(command: str, text: object) -> None:
    """Print what goes on in a command to standard error, at once."""
    say(f"dragoman {command}: {text}", file=sys.stderr, flush=True)


def say_json(data: bytes, *, flush: bool = False) -> None:
    """Print encoded JSON to standard output; its value stays the same."""
    print(sanitize_json(data).decode(), flush=flush)


def write_stderr(text: str) -> None:
    """Write a text that is sanitized already to standard error, at once. A closed standard error is no
    failure: its owner wants to read nothing.
    """
    if sys.stderr is None:  # `2>&-`; printing to nothing would print to standard output
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # it was closed meanwhile
        pass


class SafeFormatter(logging.Formatter):
    """Log lines that a terminal may show: they may quote what a peer sent."""

    def format(self, record: logging.LogRecord) -> str:
        return sanitize(super().format(record))


class JsonFormatter(logging.Formatter):
    """Log lines as JSON objects, one a line, with the names of OpenTelemetry's model of logs."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "severity_text": record.levelname,
            "severity_number": SEVERITIES.get(record.levelname, 9),
            "body": record.getMessage(),
            "service.name": self._service,
            "logger.name": record.name,
            "process.pid": record.process,
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception.type"] = record.exc_info[0].__name__
            line["exception.stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(line)  # escapes everything that a terminal could take for a command


def sanitize_log_lines() -> None:
    """For commands that set up no log: Python then prints warnings to standard error by itself."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(SafeFormatter())
