"""Reports all events of a run: to the view on standard output, and to people on standard error.

Events go to the view. Notes also go to standard error where standard output is not JSON, because standard
output holds nothing but what the format promises. Everything that comes from an agent is sanitized first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

from dragoman.text.json_values import encode_json
from dragoman.text.sanitize import SanitizedStream, sanitize, sanitize_line
from dragoman_app.apps.console import write_stderr
from dragoman_app.apps.run import events
from dragoman_app.apps.run.events import AnyEvent
from dragoman_app.apps.run.narrate import now
from dragoman_app.apps.run.output import OutputWriter
from dragoman_app.apps.terminals import are_one_file
from dragoman_local.sandbox.boundary import SAYS

if TYPE_CHECKING:
    from dragoman_app.apps.run.progress import ProgressLine


class RunListener(Protocol):
    """Receives all events of a run. It raises no error, and does not wait."""

    def on_event(self, event: AnyEvent) -> None: ...

    def on_prompt(self, session_id: str) -> Mapping[str, Any] | None:
        """The turn begins; return the `_meta` for its prompt."""

    async def aclose(self) -> None:
        """The run is over."""


class RunReporter:
    """Reports the events of one run."""

    def __init__(
        self,
        view: EventView,
        output: OutputWriter,
        *,
        verbose: bool,
        progress: ProgressLine | None = None,
        listener: RunListener | None = None,
    ) -> None:
        self._view = view
        self._progress = progress
        self.listener = listener
        self.question_lock = asyncio.Lock()
        """Held by whoever asks the person at the terminal something."""
        self._output = output
        self._verbose = verbose
        self._for_people = not isinstance(view, JsonView)
        self._stderr_rest = b""
        self._is_one_stream = are_one_file(1, 2)

    def emit(self, event: AnyEvent) -> None:
        """Report an event without waiting; see `OutputWriter.flow`."""
        if self.listener is not None:
            self.listener.on_event(event)
        data = self._view.show(event)
        if self._progress is not None:
            self._progress.on_event(event)
            if data:
                self._output.put(self._progress.on_output())
        self._output.put(data)

    def note(self, message: str, *, level: Literal["info", "warning", "error"] = "info") -> None:
        """Tell the user something that does not come from the agent."""
        self.emit(events.NoteEvent(time=now(), level=level, message=message))
        if self._for_people or level == "error":
            self.say(f"dragoman run: {sanitize(message)}")

    def warn(self, message: str) -> None:
        """Call `note` for a fact that may explain a later failure."""
        self.note(message, level="warning")

    def tell(self, message: str) -> None:
        """Call `note` for a fact that was already emitted as an event."""
        if self._for_people:
            self.say(f"dragoman run: {sanitize(message)}")

    def tell_json(self, line: str) -> None:
        """Write JSON for programs that read standard error, when standard output is not for them."""
        if self._for_people:
            self.say(line)

    def say(self, text: str) -> None:
        """Write a line to standard error unchanged."""
        self.write(f"{text}\n")

    def write(self, text: str) -> None:
        """Write a text to standard error unchanged, after removing the progress line. If both streams are the
        same, as with `2>&1`, it begins a new line.
        """
        if self._progress is not None:
            self._output.put(self._progress.on_output())
        if self._is_one_stream:
            self._output.put(self._view.finish())
        self._output.flush()
        write_stderr(text)

    def stderr(self, chunk: bytes) -> None:
        """Handle standard error of the agent: it is shown if the user asked for it. Refusals of the sandbox
        are always shown.
        """
        *lines, self._stderr_rest = (self._stderr_rest + chunk).split(b"\n")
        if len(self._stderr_rest) > 64 * 1024:  # a line without an end
            lines, self._stderr_rest = [*lines, self._stderr_rest], b""
        for line in lines:
            if not self._verbose and not line.startswith(SAYS):
                continue
            text = line.decode(errors="replace").rstrip("\r")
            self.emit(events.StderrEvent(time=now(), text=text))
            if self._for_people:
                self.say(f"agent: {sanitize_line(text)}")

    def finish(self) -> None:
        if self._stderr_rest:
            self.stderr(b"\n")
        self._output.put(self._view.finish())


# The formats of standard output: the interface of a view, and the two simple formats.
#
# A view turns an event into text for standard output, or into nothing. It does no IO and knows no session,
# so that each is tested with a list of events.


class EventView(Protocol):
    """Shows events in the order in which they happened."""

    def show(self, event: AnyEvent) -> bytes: ...
    def finish(self) -> bytes:
        """End the current line, if there is one. More events may follow."""
        ...


class JsonView:
    """`--format json`: every event as one line of JSON."""

    def show(self, event: AnyEvent) -> bytes:
        return encode_json(event) + b"\n"

    def finish(self) -> bytes:
        return b""


class QuietView:
    """`--format quiet`: only the agent's text."""

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
