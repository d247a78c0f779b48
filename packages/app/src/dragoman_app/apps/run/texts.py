"""`--format text`: the output for people.

In a terminal the agent's Markdown is styled, its thoughts are dimmed, tool calls come with their status and
their diff, and plan, usage and changes are shown. Into a pipe go the same words without any styling, and
less of them: no thoughts, no plan, no usage, and each tool call once, when it has ended or the turn has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman.sdk.client.subagents import MARKS
from dragoman.text.diff import changed_lines, split_lines
from dragoman.text.sanitize import SanitizedStream, sanitize, sanitize_line
from dragoman_app.apps.console import counted
from dragoman_app.apps.run import events
from dragoman_app.apps.run.events import AnyEvent
from dragoman_app.apps.terminals import Paint
from dragoman_app.tui.model.faces import TurnLines, without_fence

if TYPE_CHECKING:
    from dragoman_app.apps.run.markdown import MarkdownPrinter

LINES = 12
"""The most lines of a tool's output to show; the others are counted."""

DIFF_LINES = 200
"""The most lines of a diff to show; the change set at the end of the run shows all."""

MOST_UNASKED = 50
"""The most files without approval to name; the event has all."""

COMPARED = 3000
"""The most lines to compare, of both texts together: the time grows with their square."""

_MARKS = {"completed": ("✓", "green"), "failed": ("✗", "red"), "in_progress": ("…", "yellow")}
_STEPS = {"completed": "☑", "in_progress": "◐", "pending": "☐"}


class TextView:
    """Shows one run as text."""

    def __init__(self, paint: Paint, *, is_terminal: bool) -> None:
        self.paint = paint
        self._terminal = is_terminal
        self._speaker = ""  # whose text the last one was
        self._stream = SanitizedStream()
        self._markdown: MarkdownPrinter | None = None
        self.is_at_line_start = True
        self._lines = TurnLines()
        self._remarks = ""
        self._shown_status: dict[str, str] = {}
        self._contents: dict[str, Any] = {}  # of tool calls that have not ended
        self._waiting_tools: dict[str, events.ToolEvent] = {}  # those that are shown when they have ended
        self._plan: list[Any] = []
        self._usage: events.UsageEvent | None = None
        self._subagents = SubagentLines(is_terminal=is_terminal)

    def show(self, event: AnyEvent) -> bytes:
        if getattr(event, "phase", "turn") == "replay":
            return b""
        text = self._text_of(event)
        if text:
            self.is_at_line_start = text.endswith("\n")
        return text.encode(errors="replace")

    def finish(self) -> bytes:
        text = self._break()
        self.is_at_line_start = True
        return text.encode(errors="replace")

    def _text_of(self, event: AnyEvent) -> str:
        match event:
            case events.TextEvent():
                return self._say("agent", event.text)
            case events.ThoughtEvent():
                return self._say("thought", event.text) if self._terminal else ""
            case events.UserEvent():
                return self._say("user", event.text) if self._terminal else ""
            case events.ContentEvent():
                return self._line(f"[{_describe_block(msgspec.json.decode(event.block))}]")
            case events.ToolEvent():
                return self._tool(event)
            case events.PlanEvent():
                return self._show_plan(event)
            case events.UsageEvent():
                self._usage = event
            case events.ChangesEvent():
                return self._changes(event)
            case events.EndEvent():
                return self._end(event)
        return self._beside(event)

    def _beside(self, event: AnyEvent) -> str:
        """What is shown as a line beside the conversation."""
        match event:
            case events.NoticeEvent():
                about = f": {event.description}" if event.description else ""
                return self._remark(f"{event.severity}: {event.title.removesuffix(':')}{about}")
            case events.SubagentEvent():
                return self._subagents.standing(event, self._remark)
            case events.ChildEvent():
                return self._subagents.words(event, self._remark)
            case events.HandoverEvent():
                return self._break()  # what follows is another agent's
            case events.UpdateEvent(kind="subagent_update" | "subagent_spawned" | "subagent_state_update"):
                return ""  # a `subagent` event says it better
            case events.UpdateEvent():
                line = self._lines.new_line(read(event.update, v1.SessionUpdate))
                return "" if line is None else self._remark(line)
        return ""

    # What is said.

    def _say(self, speaker: str, text: str) -> str:
        if not text:
            return ""
        out = ""
        if speaker != self._speaker:
            out = self._break()
            self._speaker = speaker
            self._markdown = _printer() if self.paint.colours and speaker == "agent" else None
        if self._markdown is not None:
            return out + self._markdown.feed(text)
        piece = self._stream.feed(text)
        return out + self.paint.dim(piece) if speaker != "agent" else out + piece

    def _break(self) -> str:
        """End what was being said, at the end of a line."""
        out = self._stream.finish()
        if self._markdown is not None:
            out += self._markdown.finish()
            self._markdown = None
        open_line = not out.endswith("\n") if out else not self.is_at_line_start
        remarks, self._speaker, self._remarks = self._remarks, "", ""
        return out + ("\n" if open_line else "") + remarks

    def _line(self, text: str) -> str:
        return f"{self._break()}{text}\n"

    def _remark(self, text: str) -> str:
        """Lines beside what is said; they wait until it is, because a word may be cut in two."""
        lines = f"· {sanitize(text)}".replace("\n", "\n  ").split("\n")
        remark = "".join(f"{self.paint.dim(line)}\n" for line in lines)
        if self._speaker:
            self._remarks += remark
            return ""
        return self._break() + remark

    # What is done.

    def _tool(self, event: events.ToolEvent) -> str:
        if event.content is not msgspec.UNSET:
            self._contents[event.id] = event.content
        has_ended = event.status in ("completed", "failed")
        before = self._shown_status.get(event.id)
        if before is None and not has_ended and not self._terminal:
            self._waiting_tools[event.id] = event
            return self._break()  # what is said after it began is not a part of what was said before
        if before == event.status or (not has_ended and (before is not None or not self._terminal)):
            return ""
        self._shown_status[event.id] = event.status
        self._waiting_tools.pop(event.id, None)
        return self._tool_line(event) + (self._outcome(event) if has_ended else "")

    def _tool_line(self, event: events.ToolEvent) -> str:
        mark, colour = _MARKS.get(event.status, ("•", "yellow"))
        title = sanitize_line(event.title or event.name or event.id)
        kind = "" if event.kind == "other" else f" ({sanitize_line(event.kind)})"
        return self._line(f"{self.paint.in_colour(mark, colour)} {title}{self.paint.dim(kind)}")

    def _show_waiting_tools(self) -> str:
        """The tool calls whose end the agent never told: the turn is over."""
        lines = ""
        for event in self._waiting_tools.values():
            lines += self._tool_line(event)
            self.is_at_line_start = True
        self._waiting_tools.clear()
        return lines

    def _outcome(self, event: events.ToolEvent) -> str:
        content = self._contents.pop(event.id, None)
        if content is None:
            return ""
        out = []
        for item in msgspec.json.decode(content):
            if not isinstance(item, dict):
                continue
            if item.get("type") == "diff":
                out.append(show_diff(item, self.paint))
            elif self._terminal or event.status == "failed":
                out.append(self._excerpt(item))
        return "".join(out)

    def _excerpt(self, item: dict[str, Any]) -> str:
        block = item.get("content")
        text = block.get("text") if isinstance(block, dict) else None
        if not isinstance(text, str):
            return f"  {self.paint.dim(f'[{_describe_block(block or item)}]')}\n"
        if not text.strip():
            return ""
        lines = sanitize(without_fence(text)).strip("\n").split("\n")
        shown_lines = lines[:LINES] + ([f"… {len(lines) - LINES} more lines"] if len(lines) > LINES else [])
        return "".join(f"  {self.paint.dim(line)}\n" for line in shown_lines)

    def _show_plan(self, event: events.PlanEvent) -> str:
        entries = msgspec.json.decode(event.entries)
        if not self._terminal or entries == self._plan:
            return ""
        self._plan = entries
        lines = [
            f"{_STEPS.get(entry['status'], '☐')} {sanitize_line(entry['content'])}\n" for entry in entries
        ]
        return self._break() + "".join(self.paint.dim(line) for line in lines)

    # How it ended.

    def _changes(self, event: events.ChangesEvent) -> str:
        tools = self._show_waiting_tools()
        if not event.files:  # what could not be looked at matters to those who look at what was
            return tools
        out = [tools + self._break()]
        if self._terminal:
            out += [self.paint.diff(sanitize(file.diff)) for file in event.files if file.diff is not None]
        out.append(self.paint.bold("Changed on disk:") + "\n")
        for file in event.files:
            size = "binary" if file.binary else f"+{file.lines_added} -{file.lines_removed}"
            undone = ", reverted" if file.reverted else ""
            out.append(f"  {file.kind} {sanitize_line(file.path)} ({size}{undone})\n")
        out += [f"  note: {sanitize_line(note)}\n" for note in event.notes]
        return "".join(out) + self._list_unasked(event)

    def _list_unasked(self, event: events.ChangesEvent) -> str:
        if not event.unasked:
            return ""
        denied_paths = {file.path for file in event.files if file.decision == "denied"}
        heading = f"{counted(len(event.unasked), 'file')} changed without approval:"
        out = [self.paint.bold(heading) + "\n"]
        out += [
            f"  {sanitize_line(path)}{' (it was denied)' if path in denied_paths else ''}\n"
            for path in event.unasked[:MOST_UNASKED]
        ]
        if len(event.unasked) > MOST_UNASKED:
            out.append(f"  and {len(event.unasked) - MOST_UNASKED} more\n")
        if event.asking_mode is not None:
            out.append(
                f"  To be asked first, use this agent's mode: --mode {sanitize_line(event.asking_mode)}\n"
            )
        return "".join(out)

    def _end(self, event: events.EndEvent) -> str:
        if not self._terminal:
            return self._show_waiting_tools() + self._break()
        lines = "\n".join(self._subagents.tree())
        tree = self._line(lines) if lines else ""
        parts = [
            {"end_turn": "done", "agent_died": "agent ended early"}.get(
                event.outcome, event.outcome.replace("_", " ")
            ),
            f"{event.seconds:.1f} s",
        ]
        if event.usage is not msgspec.UNSET:
            used = msgspec.json.decode(event.usage)
            parts.append(f"{used.get('inputTokens', 0):,} tokens in, {used.get('outputTokens', 0):,} out")
        if self._usage is not None:
            parts.append(f"context {self._usage.used:,} of {self._usage.size:,}")
            if self._usage.cost is not msgspec.UNSET:
                cost = msgspec.json.decode(self._usage.cost)
                parts.append(f"{cost['amount']:g} {sanitize_line(cost['currency'])}")
        self.is_at_line_start = self.is_at_line_start or bool(tree)
        return tree + self._line(self.paint.dim(" · ".join(parts)))


def _printer() -> MarkdownPrinter | None:
    """None where nothing is installed that reads Markdown: then it is shown as it was written."""
    try:
        from dragoman_app.apps.run.markdown import MarkdownPrinter
    except ModuleNotFoundError:
        return None
    return MarkdownPrinter()


def _describe_block(fields: object) -> str:
    """What a block is, where it cannot be shown."""
    what = fields.get("type") if isinstance(fields, dict) else None
    inner = fields.get("resource") if isinstance(fields, dict) else None
    details = inner if isinstance(inner, dict) else fields
    about = [details.get(name) for name in ("name", "uri", "mimeType")] if isinstance(details, dict) else []
    return sanitize_line(" ".join(str(part) for part in [what or "content", *about] if part))


def show_diff(item: Mapping[str, object], paint: Paint) -> str:
    """The diff of a tool call from its two texts, with its path above it."""
    path, old, new = item.get("path"), item.get("oldText"), item.get("newText")
    name = sanitize_line(path) if isinstance(path, str) else "a file"
    before, after = _safe_text(old), _safe_text(new)
    count, new_count = len(split_lines(before)), len(split_lines(after))
    if count + new_count > COMPARED:
        return f"  {name}: {count} lines become {new_count}\n"
    changes = changed_lines(before, after, most_work=COMPARED**2)
    old_name = name if isinstance(old, str) else "/dev/null"
    lines = [f"--- {old_name}", f"+++ {name}", *changes] if changes else []
    if len(lines) > DIFF_LINES:
        lines = [*lines[:DIFF_LINES], f"… {len(lines) - DIFF_LINES} more lines"]
    return paint.diff("".join(f"{line}\n" for line in lines))


def _safe_text(text: object) -> str:
    return sanitize(text) if isinstance(text, str) else ""


# Subagents in `--format text`: lines beside what the agent says, and the whole tree at the end of a run.
#
# In a terminal each change and the words of each subagent are shown as they come; into a pipe goes one line
# for each subagent, when it has ended.

LONGEST = 4000
"""The most characters of a subagent's unfinished line to keep."""


class SubagentLines:
    """The subagents' lines of one run."""

    def __init__(self, *, is_terminal: bool) -> None:
        self._terminal = is_terminal
        self._latest: dict[str, events.SubagentEvent] = {}
        self._shown_standing: dict[str, str] = {}
        self._words: dict[str, str] = {}  # of lines that have not ended

    def standing(self, event: events.SubagentEvent, remark: Callable[[str], str]) -> str:
        """Return a subagent's state, if it is new."""
        before = self._shown_standing.get(event.session_id)
        self._latest[event.session_id] = event
        words = self._rest(event.session_id, event.name, remark)
        has_ended = event.state in ("idle", "unknown")
        if before == event.standing or not (self._terminal or has_ended):
            return words
        self._shown_standing[event.session_id] = event.standing
        last = f": {event.last_line}" if has_ended and isinstance(event.last_line, str) else ""
        return words + remark(sanitize_line(f"{event.requester}: {event.standing}{last}"))

    def words(self, event: events.ChildEvent, remark: Callable[[str], str]) -> str:
        """Return a subagent's text and actions, line by line."""
        if not self._terminal:
            return ""
        match event.inner:
            case events.TextEvent(text=text):
                *lines, rest = (self._words.get(event.session_id, "") + text).split("\n")
                if len(rest) > LONGEST:
                    lines, rest = [*lines, rest], ""
                self._words[event.session_id] = rest
                return "".join(self._remarks(event.name, lines, remark))
            case events.ToolEvent(status="completed" | "failed" as status, title=title):
                mark = "✓" if status == "completed" else "✗"
                done = remark(sanitize_line(f"{event.name}: {mark} {title}"))
                return self._rest(event.session_id, event.name, remark) + done
        return ""

    def tree(self) -> Iterator[str]:
        """Return the tree of subagents, one per line."""
        for event in self._in_order():
            mark = MARKS.get(event.standing, "·")
            last = f" — {event.last_line}" if isinstance(event.last_line, str) else ""
            indent = "  " * event.level
            yield f"{indent}{mark} {sanitize_line(f'{event.name}: {event.standing}{last}')}"

    def _in_order(self, parent: str | None = None) -> Iterator[events.SubagentEvent]:
        for event in self._latest.values():
            is_child = event.level == 1 if parent is None else event.parent_id == parent
            if is_child:
                yield event
                yield from self._in_order(event.session_id)

    def _rest(self, session_id: str, name: str, remark: Callable[[str], str]) -> str:
        """The last words of a subagent that it did not end with a line break."""
        return "".join(self._remarks(name, [self._words.pop(session_id, "")], remark))

    def _remarks(self, name: str, lines: list[str], remark: Callable[[str], str]) -> Iterator[str]:
        for line in lines:
            if line.strip():
                yield remark(sanitize_line(f"{name}: {line.strip()}"))
