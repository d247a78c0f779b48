"""Updates and content without an entry of their own, each in a line: unknown kinds are named, not dropped.

`dragoman run` shows the same lines. A kind that repeats fast is told a few times in a turn and no more, so
that it cannot fill the screen.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from dragoman.schema import v1
from dragoman.schema.base import Unknown

MOST_LINES: Final = 20
"""The most lines of one known kind in one turn; an unknown kind has one."""

MOST_KINDS: Final = 10
"""The most unknown kinds to name in one turn."""

FACTS: Final = (
    v1.AvailableCommandsUpdate,
    v1.CurrentModeUpdate,
    v1.ConfigOptionUpdate,
    v1.SessionInfoUpdate,
    v1.UsageUpdate,
)
"""Updates that only change the session: they have no line."""


def line_of(update: v1.SessionUpdate | Unknown) -> str | None:
    """Return the update as a line, not sanitized; None for an update without a line."""
    match update:
        case v1.Notice():
            title = update.title.removesuffix(":")
            return f"{title}: {update.description}" if update.description else str(update.title)
        case v1.PlanUpdate(plan=plan):
            return _plan(plan)
        case v1.PlanRemoved():
            return "plan removed"
        case v1.CompactionUpdate():
            why = f": {update.error}" if update.error else ""
            return f"compaction of the context {update.status.replace('_', ' ')}{why}"
        case v1.CompactionSummaryChunk():
            return "compaction summary"
        case v1.SubagentUpdate():
            return _subagent(update)
        case v1.SessionMessage():
            blocks = update.content if isinstance(update.content, list) else []
            return f"message between sessions: {' '.join(map(name_of, blocks))}".removesuffix(": ")
        case v1.SessionMessageChunk():
            return "message between sessions"
    if isinstance(update, FACTS):
        return None
    return f'unknown update "{kind_of(update)}"'


def kind_of(update: v1.SessionUpdate | Unknown) -> str:
    """Return its name on the wire."""
    return update.tag if isinstance(update, Unknown) else str(update.__struct_config__.tag)


def without_fence(text: str) -> str:
    """Return an output without the fence that agents add for clients that draw Markdown."""
    first, _, rest = text.strip("\n").partition("\n")
    inside, _, last = rest.rpartition("\n")
    is_fenced = len(last) >= 3 and not last.strip("`") and first.startswith(last) and last not in inside
    return inside if is_fenced else text


def name_of(block: v1.ContentBlock | Unknown) -> str:
    """Name a block of content in a few words, where it can't be shown; of a text, return all."""
    match block:
        case v1.TextContent(text=text):
            return text
        case v1.ResourceLink(name=name, uri=uri):
            return f"{name}: {uri}"
        case v1.EmbeddedResource(resource=resource):
            return f"resource {resource.uri}"
        case v1.ImageContent(mime_type=kind) | v1.AudioContent(mime_type=kind):
            return kind
    return f'unknown content "{block.tag}"'


def _plan(plan: v1.PlanUpdateContent) -> str:
    match plan:
        case v1.PlanFile(uri=uri):
            return f"plan: {uri}"
        case v1.PlanMarkdown(content=content):
            return f"plan:\n{content}"
        case v1.PlanItems(entries=entries):
            return f"plan of {len(entries)} steps"
    return f'unknown plan "{plan.tag}"'


def _subagent(update: v1.SubagentUpdate) -> str:
    state = update.state
    state_name = (
        "" if not state else state.tag if isinstance(state, Unknown) else str(state.__struct_config__.tag)
    )
    name = f"subagent {update.title}" if update.title else "a subagent"
    return f"{name}: {state_name.replace('_', ' ')}".removesuffix(": ")


class TurnLines:
    """The lines of one turn, each once."""

    def __init__(self) -> None:
        self._lines: set[str] = set()
        self._counts: Counter[str] = Counter()

    def begin_turn(self) -> None:
        self._lines.clear()
        self._counts.clear()

    def new_line(self, update: v1.SessionUpdate | Unknown) -> str | None:
        """Return a line that is new in this turn."""
        line = line_of(update)
        if line is None or line in self._lines:
            return None
        is_unknown = line.startswith("unknown ")
        kind = "unknown" if is_unknown else kind_of(update)
        self._counts[kind] += 1
        most = MOST_KINDS if is_unknown else MOST_LINES
        if self._counts[kind] > most:
            return None
        self._lines.add(line)
        return line if self._counts[kind] < most else f"{line} (and more that is not shown)"
