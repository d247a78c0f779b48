"""The last line of a terminal while an agent works: the current step, the plan's progress, the time, and the
cost.

The line is there only while nothing else is being written, and is gone before anything is: what a run leaves
on the screen is the same with and without it. It waits while a person is asked something. A pipe, a
terminal without control sequences, and a person who wants no colours never see it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from dragoman.text.cells import fit
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.run import events
from dragoman_app.apps.run.events import AnyEvent
from dragoman_app.apps.run.output import STDOUT, OutputWriter
from dragoman_app.apps.terminals import Paint
from dragoman_app.tui.model.facts import cost_text

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PERIOD = 0.1
"""The seconds between two pictures of the spinner."""

QUIET = 0.4
"""The seconds without output before the line appears: flowing text needs none."""

ERASE = b"\r\x1b[2K"
NARROWEST = 20
"""The columns below which the line would say nothing."""


class ProgressLine:
    """The state of the run in one line."""

    def __init__(self, paint: Paint, *, now: Callable[[], float] = time.monotonic) -> None:
        self._paint = paint
        self._now = now
        self._began = now()
        self._last_output = now()
        self._doing = "starting the agent"
        self._calls: dict[str, str] = {}  # titles of tool calls that run
        self._step = ""
        self._cost = ""
        self._children: set[str] = set()  # subagents that work
        self._is_shown = False
        self._is_over = False

    def on_event(self, event: AnyEvent) -> None:
        """Read an event of the run."""
        if getattr(event, "phase", "turn") == "replay":
            return
        match event:
            case events.StartEvent():
                self._doing = f"starting {sanitize_line(event.agent)}"
            case events.SessionEvent():
                self._doing, self._began = "waiting for the agent", self._now()
            case events.ThoughtEvent():
                self._doing = "thinking"
            case events.TextEvent() | events.ContentEvent():
                self._doing = "writing"
            case events.ToolEvent():
                self._on_call(event)
            case events.PlanEvent():
                self._on_plan(msgspec.json.decode(event.entries))
            case events.UsageEvent(cost=cost) if cost is not msgspec.UNSET:
                amount = msgspec.json.decode(cost)
                self._cost = cost_text((amount["amount"], sanitize_line(amount["currency"])))
            case events.SubagentEvent():
                (self._children.add if event.state == "running" else self._children.discard)(event.session_id)
            case events.ChangesEvent() | events.EndEvent():
                self._is_over = True

    def _on_call(self, event: events.ToolEvent) -> None:
        self._calls.pop(event.id, None)
        if event.status in ("pending", "in_progress"):
            self._calls[event.id] = sanitize_line(event.title or event.name or event.id)
        else:
            self._doing = "waiting for the agent"

    def _on_plan(self, steps: list[dict[str, str]]) -> None:
        current = next((number for number, step in enumerate(steps, 1) if step["status"] != "completed"), 0)
        self._step = f"step {current} of {len(steps)}" if current else ""

    def text(self) -> str:
        """The line without its spinner."""
        titles = list(self._calls.values())
        doing = titles[-1] if titles else self._doing
        more = f"+{len(titles) - 1} more" if len(titles) > 1 else ""
        children = len(self._children)
        helpers = f"{children} subagent{'s' * (children > 1)}" if children else ""
        seconds = self._now() - self._began
        clock = f"{seconds:.0f} s" if seconds < 100 else f"{seconds // 60:.0f}:{seconds % 60:02.0f} min"
        return " · ".join(part for part in (doing, more, self._step, helpers, clock, self._cost) if part)

    def draw(self, columns: int) -> bytes:
        """Return the current line in place of the one before it; nothing while text flows."""
        if self._is_over or columns < NARROWEST or self._now() - self._last_output < QUIET:
            return self.erase()
        mark = SPINNER[int(self._now() / PERIOD) % len(SPINNER)]
        line = self._paint.dim(fit(self.text(), columns - 4).rstrip())
        self._is_shown = True
        return ERASE + f"{self._paint.in_colour(mark, 'cyan')} {line}".encode(errors="replace")

    def erase(self) -> bytes:
        """Return the characters that remove the line, if it is there."""
        was_shown, self._is_shown = self._is_shown, False
        return ERASE if was_shown else b""

    def on_output(self) -> bytes:
        """Note other output; return the characters that remove the line before it."""
        self._last_output = self._now()
        return self.erase()


@asynccontextmanager
async def shown_progress(
    line: ProgressLine | None, output: OutputWriter, *, is_free: Callable[[], bool]
) -> AsyncIterator[None]:
    """Draw the line again and again. `is_free`: the cursor is at the start of a line, and no question is
    open.
    """
    if line is None:
        yield
        return
    task = asyncio.create_task(_draw(line, output, is_free), name="progress")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,))
        output.put(line.erase())


async def _draw(line: ProgressLine, output: OutputWriter, is_free: Callable[[], bool]) -> None:
    while True:
        await asyncio.sleep(PERIOD)
        if not output.is_behind:
            output.put(line.draw(_columns()) if is_free() else line.erase())


def _columns() -> int:
    try:
        return os.get_terminal_size(STDOUT).columns
    except OSError:  # the terminal is gone
        return 0
