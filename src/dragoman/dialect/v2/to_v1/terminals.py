"""Terminals that a v2 agent shows: what its updates and chunks say, as text for v1."""

from __future__ import annotations

import binascii

from dragoman.dialect.message import Json, Object, as_object, as_text
from dragoman.dialect.shown_terminal import ShownTerminal, exit_text
from dragoman.dialect.v2.to_v1.fields import LossReporter


class V2Terminal(ShownTerminal):
    """One terminal of one session."""

    def update(self, fields: Object, report: LossReporter) -> None:
        """An upsert: what it does not name stays."""
        if any(fields.get(name) for name in ("size", "capabilities", "_meta")):
            report.note_loss("size, capabilities and _meta of a terminal", "left out: v1 is shown its text")
        if "command" in fields:
            self.command = as_text(fields["command"])
        if "cwd" in fields:
            self.cwd = as_text(fields["cwd"])
        if "output" in fields:
            self.output.clear()
            self.add(as_object(fields["output"]).get("data", ""), report)
        if "exitStatus" in fields:
            status = as_object(fields["exitStatus"])
            self.exit = exit_text(status.get("exitCode"), status.get("signal"))
        self.unsent = max(self.unsent, len(self.output) or 1)

    def add(self, data: Json, report: LossReporter) -> None:
        """A chunk of output in base64."""
        try:
            more = binascii.a2b_base64(as_text(data), strict_mode=True)
        except ValueError:
            report.note_loss("terminal output that is no base64", "left out")
            return
        if self.append(more):
            report.note_loss("terminal output beyond 256 KiB", "only the end of it is shown")
