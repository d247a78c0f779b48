"""Terminals that a v2 agent shows, as text for v1.

In v1 a terminal belongs to the client; an agent's own can only be told. A terminal here collects what the
agent says of it; `text` is all of that, for the tool call that shows it. It says when it has grown enough to
be told again: each telling is the whole, and telling it at each chunk would cost the square of the output.
"""

from __future__ import annotations

import binascii
import re

from dragoman.dialect.message import Json, Object, as_object, as_text
from dragoman.dialect.v2.to_v1.diffs import as_code_block
from dragoman.dialect.v2.to_v1.fields import LossReporter, fits

KEPT = 256 * 1024
"""Bytes of a terminal's output that are shown: enough to read, and a bound for what one telling weighs."""
GROWTH = 8
"""A terminal is told again when it has grown by one part in so many."""

# CSI, OSC, other escapes of two characters, and what erases or rings.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])|[\x00-\x08\x0e-\x1a]"
)


class V2Terminal:
    """One terminal of one session."""

    def __init__(self) -> None:
        self.command = ""
        self.cwd = ""
        self.exit = ""
        self.cut = False
        self._output = bytearray()
        self._since = 0  # bytes that were not told yet

    def update(self, fields: Object, report: LossReporter) -> None:
        """An upsert: what it does not name stays."""
        if any(fields.get(name) for name in ("size", "capabilities", "_meta")):
            report.note_loss("size, capabilities and _meta of a terminal", "left out: v1 is shown its text")
        if "command" in fields:
            self.command = as_text(fields["command"])
        if "cwd" in fields:
            self.cwd = as_text(fields["cwd"])
        if "output" in fields:
            self._output.clear()
            self.add(as_object(fields["output"]).get("data", ""), report)
        if "exitStatus" in fields:
            self.exit = _exit(as_object(fields["exitStatus"]))
        self._since = max(self._since, len(self._output) or 1)

    def add(self, data: Json, report: LossReporter) -> None:
        """A chunk of output in base64."""
        try:
            more = binascii.a2b_base64(as_text(data), strict_mode=True)
        except ValueError:
            report.note_loss("terminal output that is no base64", "left out")
            return
        self._output += more
        self._since += len(more)
        if len(self._output) > KEPT:
            report.note_loss("terminal output beyond 256 KiB", "only the end of it is shown")
            self.cut = True
            del self._output[:-KEPT]

    @property
    def has_grown(self) -> bool:
        """Whether enough is new to tell all again."""
        return self._since * GROWTH >= len(self._output) and self._since > 0

    @property
    def is_stale(self) -> bool:
        """Whether anything is new."""
        return self._since > 0

    @property
    def is_empty(self) -> bool:
        return not (self._output or self.command or self.exit)

    def text(self) -> str:
        """All of it. What was told is not new any more."""
        self._since = 0
        output = _ESCAPES.sub("", self._output.decode("utf-8", "replace")).replace("\r\n", "\n")
        lines = [f"{self.cwd} $ {self.command}".lstrip()] if self.command else []
        lines += ["[…]"] if self.cut else []
        lines += [output.rstrip("\n")] if output else []
        lines += [f"[{self.exit}]"] if self.exit else []
        return as_code_block("\n".join(lines), "console")


def _exit(status: Object) -> str:
    if fits(status.get("signal"), str):
        return f"ended by signal {status['signal']}"
    if fits(status.get("exitCode"), int):
        return f"exit code {status['exitCode']}"
    return ""
