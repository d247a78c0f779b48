"""Subagents in `--format text`: lines beside what the agent says, and the whole tree at the end of a run.

In a terminal each change and the words of each subagent are shown as they come; into a pipe goes one line for
each subagent, when it has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dragoman.sdk.client.subagents import MARKS
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.run import events

LONGEST = 4000
"""Characters of a line of a subagent that are kept until the line ends."""


class SubagentLines:
    """The lines of one run."""

    def __init__(self, *, is_terminal: bool) -> None:
        self._terminal = is_terminal
        self._latest: dict[str, events.SubagentEvent] = {}
        self._shown_standing: dict[str, str] = {}
        self._words: dict[str, str] = {}  # of lines that have not ended

    def standing(self, event: events.SubagentEvent, remark: Callable[[str], str]) -> str:
        """How a subagent stands now, if that is news."""
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
        """What a subagent says and does, line by line."""
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
        """Who worked for whom, a line each."""
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
