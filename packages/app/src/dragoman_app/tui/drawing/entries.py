"""An entry as lines; only its changed part is drawn again.

Words grow at their end, so what was drawn of them stays (`MarkdownLines`). Much that comes at once is drawn
in several goes, so that no drawing takes long: `is_behind` says that there is more.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from textual.content import Content

from dragoman.text.sanitize import sanitize, sanitize_line
from dragoman_app.tui.drawing.pictures import draw_picture
from dragoman_app.tui.drawing.tools import GUTTER, LEVELS, OPEN_LINES, STEPS, Terminals, draw_tool
from dragoman_app.tui.model.entries import (
    CommandEntry,
    NoteEntry,
    PictureEntry,
    PlannedSteps,
    SpeechEntry,
    ToolEntry,
    TranscriptEntry,
)
from dragoman_app.tui.text.lines import block, cut, hanging, indent_lines, output_lines, plain, wrap_content
from dragoman_app.tui.text.markdown import MarkdownLines

SPEECH_CHARACTERS = 8192
"""The characters of one message that are drawn before the time is checked."""

LONG = 0.02
"""The most seconds for drawing one message at once."""


_BLANK = Content("")


class DrawingContext:
    """The settings of a drawing besides the entry."""

    def __init__(self, terminals: Terminals, *, cwd: str = "") -> None:
        self.terminals = terminals
        self.cwd = cwd
        self.thoughts_open = False
        self.has_colours = True


def gap_between(before: TranscriptEntry | None, after: TranscriptEntry) -> int:
    """Return the gap: none between tool calls, one line around everything else."""
    return 0 if before is None or (isinstance(before, ToolEntry) and isinstance(after, ToolEntry)) else 1


class DrawnEntry:
    """The lines of one entry at one width."""

    __slots__ = (
        "_around",
        "_fed",
        "_flow",
        "_settled_lines",
        "_version",
        "_width",
        "entry",
        "gap",
        "is_behind",
        "lines",
    )

    def __init__(self, entry: TranscriptEntry, width: int, around: DrawingContext, *, gap: int = 0) -> None:
        self.entry = entry
        self.gap = gap
        """Empty lines above it."""
        self.lines: Sequence[Content] = ()
        self.is_behind = False
        self._width = width
        self._around = around
        self._version = -1
        self._flow: MarkdownLines | None = None
        self._fed = 0
        self._settled_lines: list[Content] = []
        self.draw()

    def draw(self, *, force: bool = False) -> bool:
        """Draw the entry; return whether it has changed."""
        if self._version == self.entry.version and not (self.is_behind or force):
            return False
        self._version = self.entry.version
        self.lines = [*[_BLANK] * self.gap, *self._draw_entry()]
        return True

    def _draw_entry(self) -> list[Content]:
        match self.entry:
            case SpeechEntry(who="agent"):
                return self._speech(self.entry)
            case SpeechEntry(who="thought"):
                return self._thought(self.entry)
            case SpeechEntry():
                return _prompt(self.entry, self._width)
            case ToolEntry():
                around = self._around
                return draw_tool(
                    self.entry, self._width, around.terminals, cwd=around.cwd, coloured=around.has_colours
                )
            case PlannedSteps():
                return _plan(self.entry, self._width)
            case NoteEntry():
                return _note(self.entry, self._width)
            case PictureEntry():
                picture, coloured = self.entry, self._around.has_colours
                return draw_picture(picture.mime_type, picture.data, self._width, coloured=coloured)
            case CommandEntry():
                return _ran(self.entry, self._width)
        return []

    def _speech(self, entry: SpeechEntry) -> list[Content]:
        if self._flow is None:
            self._flow = MarkdownLines(self._width - GUTTER)
        flow, text, until = self._flow, entry.text, time.perf_counter() + LONG
        while self._fed < len(text) and time.perf_counter() < until:
            flow.feed(text[self._fed : self._fed + SPEECH_CHARACTERS])
            self._fed += SPEECH_CHARACTERS
        self.is_behind = self._fed < len(text)
        self._fed = min(self._fed, len(text))
        # A long speech has tens of thousands of lines: those that are settled are indented once.
        self._settled_lines += indent_lines(flow.settled_lines[len(self._settled_lines) :], " " * GUTTER)
        return [*self._settled_lines, *indent_lines(flow.open_lines, " " * GUTTER)]

    def _thought(self, entry: SpeechEntry) -> list[Content]:
        mark = plain("∴ ", "dim")
        is_open = self._around.thoughts_open if entry.is_open is None else entry.is_open
        text = entry.text.strip()
        if is_open:
            lines = block(text[-2 * SPEECH_CHARACTERS :], self._width - GUTTER, style="dim italic")
            return [mark + lines[0], *indent_lines(lines[1:], " " * GUTTER)]
        count = text.count("\n") + 1
        if entry.is_done:
            words = "Thought" if count == 1 else f"Thought, {count} lines"
            last = sanitize_line(text.partition("\n")[0])
        else:
            words, last = "Thinking", sanitize_line(text.rpartition("\n")[2])
        summary = cut(f"{words}: {last}", self._width - GUTTER)
        return [mark + plain(summary, "dim italic")]


def _prompt(entry: SpeechEntry, width: int) -> list[Content]:
    mark = plain("❯ ", "bold $text-primary")
    lines = block(entry.text.strip("\n"), width - GUTTER, style="bold")
    return [mark + lines[0], *indent_lines(lines[1:], " " * GUTTER)]


def _plan(plan: PlannedSteps, width: int) -> list[Content]:
    done_count = sum(step.status == "completed" for step in plan.steps)
    lines = [plain("≡ ", "dim") + plain(f"Plan {done_count}/{len(plan.steps)}", "bold")]
    if plan.is_open is False:
        return lines
    for step in plan.steps[:OPEN_LINES]:
        mark, style = STEPS.get(step.status, ("☐", ""))
        first = plain(f"  {mark} ", style)
        lines += hanging(plain(sanitize_line(step.content), style), width, first)
    return lines


def _note(entry: NoteEntry, width: int) -> list[Content]:
    mark, style = LEVELS[entry.level]
    lines = [
        line
        for part in sanitize(entry.text).split("\n")
        for line in wrap_content(plain(part, style), width - GUTTER)
    ]
    return [plain(f"{mark} ", style) + lines[0], *indent_lines(lines[1:], " " * GUTTER)]


def _ran(ran: CommandEntry, width: int) -> list[Content]:
    exit_text = ran.output.exit_text
    mark = plain(
        "$ ", "$text-success" if exit_text == "0" else "$text-error" if exit_text else "$text-warning"
    )
    drawn_lines = hanging(plain(sanitize_line(ran.line), "bold"), width, mark)
    lines = [part for line in output_lines(ran.output.text) for part in wrap_content(line, width - GUTTER)]
    most = OPEN_LINES if ran.is_open is not False else 0
    if len(lines) > most:
        drawn_lines.append(plain(f"  … {len(lines) - most} lines above", "dim"))
        lines = lines[len(lines) - most :]
    drawn_lines += indent_lines(lines if ran.output.text else [], " " * GUTTER)
    if exit_text not in (None, "0"):
        drawn_lines.append(plain(f"  ended: {exit_text}", "dim"))
    return drawn_lines
