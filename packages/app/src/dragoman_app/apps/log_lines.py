"""Log output of commands: as lines that a terminal may show, or as JSON.

Apart from `console`, because `logging` takes as long to load as the rest of a command's start.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from dragoman.text.sanitize import sanitize
from dragoman.version import PACKAGES

SEVERITIES = {"DEBUG": 5, "INFO": 9, "WARNING": 13, "ERROR": 17, "CRITICAL": 21}
"""The numbers of OpenTelemetry's log model."""


def log_only_to(handler: logging.Handler) -> None:
    """Send the log of our modules to this handler only."""
    for name in PACKAGES:
        log = logging.getLogger(name)
        log.propagate = False
        log.addHandler(handler)


class SafeFormatter(logging.Formatter):
    """Log lines that a terminal may show: they may quote a peer's text."""

    def format(self, record: logging.LogRecord) -> str:
        return sanitize(super().format(record))


class JsonFormatter(logging.Formatter):
    """Log lines as JSON objects, one per line, with the names of OpenTelemetry's log model."""

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
    """Sanitize warnings of commands without a log: Python prints them to standard error by itself."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(SafeFormatter())
