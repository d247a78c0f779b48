"""The errors that an agent reports when it fails: how its process ended, and its last lines of output.

Pure. What an agent wrote to its standard error is shown to clients, in the status and in the log, so it is
bounded, free of control sequences, and without what looks like a secret or is known to be one. The errors
that it answers with go to clients too: as they were said, but for such secrets. Lines of our own programs
that stand between (agent host, interpreter) are not the agent's words: they count only if it had none.
"""

from __future__ import annotations

import re
import signal
from collections import deque
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from dragoman.decoders import json_decoder
from dragoman.text.sanitize import sanitize
from dragoman.wire import ErrorObject
from dragoman_hub.session.frames import encode_json
from dragoman_local.secrets.frames import redact_frame
from dragoman_local.secrets.names import REDACTED
from dragoman_local.secrets.search import redact

LINES = 20
LINE = 500
"""The lines of standard error to keep, and the most characters of each: the end of a traceback."""

HEADLINE = 200
"""The most characters of the line in a message; the details hold everything."""

SHORTEST_SECRET = 6
"""Shorter secrets are not hidden, because they would appear in too many words."""

_OWN = re.compile(r"(?:dragoman translate|agent host|keeper): ")
_NOISE = re.compile(r"\s+at .*|Node\.js v[\d.]+|[\s^~]*")
"""What runtimes print below an error: the stack, the version, the mark under a column."""
_CONTROL = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?")
_CANNOT_START = "cannot start "

_error = json_decoder(ErrorObject)


class AgentSecrets:
    """Secret values that an agent was given, which must not be shown to anyone."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = sorted(
            (value for value in values if len(value) >= SHORTEST_SECRET), key=len, reverse=True
        )

    def cover(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, REDACTED)
        return redact(text)

    def cover_error(self, error: ErrorObject) -> ErrorObject:
        """Return the error with hidden secrets, as the journal would store it: clients get it before that."""
        text = encode_json(error)
        for value in self._values:
            text = text.replace(encode_json(value)[1:-1], REDACTED.encode())
        return _error.decode(redact_frame(text))


class StderrLines:
    """The last lines of an agent's standard error, safe to show."""

    def __init__(self, secrets: AgentSecrets) -> None:
        self.secrets = secrets
        self._lines: deque[str] = deque(maxlen=LINES)

    def add(self, line: bytes) -> None:
        # Secrets are covered before the line is cut: half of one would not be recognised.
        text = _CONTROL.sub("", line.decode(errors="replace")).rstrip()
        self._lines.append(sanitize(self.secrets.cover(text))[:LINE])

    def lines(self) -> tuple[str, ...]:
        return tuple(self._lines)


class AgentEnd(Struct, frozen=True, kw_only=True):
    """How one process of an agent ended."""

    agent: str
    exit_status: int | None = None
    """Negative for a signal; None if unknown."""
    reason: str = ""
    """The reason, from the process that watched the agent."""
    stderr: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """One line: the agent, how it ended, and the agent's reason if there is one."""
        headline = headline_of(self.stderr)
        if headline.startswith(_CANNOT_START):  # an interpreter before it found no program
            return f"agent {self.agent}: {headline}"
        if self.exit_status is None:
            return f"agent {self.agent} ended: {headline or self.reason or 'no output'}"
        circumstance = self.reason.partition("; ")[2]
        words = "; ".join(part for part in (headline, circumstance) if part)
        return f"agent {self.agent} ended with {self._how()}" + (f": {words}" if words else "")

    def details(self) -> dict[str, Any]:
        """The same for programs, with all kept output."""
        return {
            "agent": self.agent,
            "exitStatus": None if self.exit_status is None or self.exit_status < 0 else self.exit_status,
            "signal": self._signal(),
            "stderr": "\n".join(self.stderr),
        }

    def _how(self) -> str:
        name, status = self._signal(), self.exit_status
        if name is None:
            return f"status {status}"
        return f"signal {name}" if status is not None and status < 0 else f"status {status} ({name})"

    def _signal(self) -> str | None:
        """The signal of an exit status: a shell or wrapper reports 128 plus its number."""
        status = self.exit_status
        number = 0 if status is None else -status if status < 0 else status - 128
        try:
            return signal.Signals(number).name
        except ValueError:
            return None


def headline_of(lines: Iterable[str]) -> str:
    """Return the line that best explains the end: the agent's last line without decoration."""
    visible = [line for line in lines if not _NOISE.fullmatch(line)]
    own = [line for line in visible if not _OWN.match(line)]
    headline = own[-1] if own else _OWN.sub("", visible[-1]) if visible else ""
    headline = headline.strip()
    return headline if len(headline) <= HEADLINE else headline[: HEADLINE - 1] + "…"
