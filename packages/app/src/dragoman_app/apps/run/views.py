"""The formats of standard output: the interface of a view, and the two simple formats.

A view turns an event into text for standard output, or into nothing. It does no IO and knows no session, so
that each is tested with a list of events.
"""

from __future__ import annotations

from typing import Protocol

from dragoman.text.json_values import encode_json
from dragoman.text.sanitize import SanitizedStream
from dragoman_app.apps.run import events
from dragoman_app.apps.run.events import AnyEvent


class EventView(Protocol):
    """Shows events in the order in which they happened."""

    def show(self, event: AnyEvent) -> bytes: ...
    def finish(self) -> bytes:
        """What ends the line that is being written, if one is. More may happen afterwards."""
        ...


class JsonView:
    """`--format json`: every event as one line of JSON."""

    def show(self, event: AnyEvent) -> bytes:
        return encode_json(event) + b"\n"

    def finish(self) -> bytes:
        return b""


class QuietView:
    """`--format quiet`: what the agent says, and nothing else."""

    def __init__(self) -> None:
        self._stream = SanitizedStream()
        self._apart = False  # something else happened since it last spoke
        self._spoke = False
        self._at_line_start = True

    def show(self, event: AnyEvent) -> bytes:
        if isinstance(event, events.ToolEvent | events.PlanEvent | events.HandoverEvent) and self._spoke:
            self._apart = True
        if not isinstance(event, events.TextEvent) or event.phase in ("replay", "before"):
            return b""
        text = self._stream.feed(event.text)
        if not text:
            return b""
        if self._apart:  # two messages, and no agent says so with a line break
            text = ("\n" if self._at_line_start else "\n\n") + text.lstrip("\n")
            self._apart = False
        self._spoke = True
        self._at_line_start = text.endswith("\n")
        return text.encode()

    def finish(self) -> bytes:
        rest = self._stream.finish()
        end = "" if self._at_line_start and not rest else "\n"
        self._at_line_start = True
        return (rest + end).encode()
