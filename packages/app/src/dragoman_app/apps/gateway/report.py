"""The output of an agent in a turn: as events during the turn, and as a report at its end.

Everything in it is data of the agent: bounded here, and shown as it is by nobody. Whoever shows a line to a
person sanitizes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct
from msgspec.structs import replace

from dragoman.schema import v1
from dragoman.sdk.client.tool_state import ToolState
from dragoman_local.workspace.snapshots import FileChange

MOST_TEXT = 4 * 1024 * 1024
"""The most characters of the agent's text in a report; the rest was sent as events."""

MOST_CALLS = 1000
"""The most tool calls in a report."""

LONGEST_TITLE = 500
"""The most characters of a title, a step or a name; more would be a text in the wrong place."""

EventKind: TypeAlias = Literal["text", "thought", "tool", "plan", "notice"]


class TurnEvent(Struct, frozen=True, kw_only=True):
    """An event of the agent."""

    kind: EventKind
    text: str
    """The text; of a tool call its title, of a plan its steps, one per line."""
    call: ToolState | None = None
    """`tool`: the current state of the call."""


class CallSummary(Struct, frozen=True, kw_only=True):
    """The final state of a tool call."""

    id: str
    title: str
    kind: str
    status: str
    paths: list[str] = []


class PlanLine(Struct, frozen=True, kw_only=True):
    """A step of the agent's plan."""

    content: str
    status: str


class RefusalReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An action of the agent that was not allowed."""

    what: str
    why: str
    remedy: str = ""
    """The command line that allows it."""

    @property
    def text(self) -> str:
        return f"{self.what} ({self.why})" + (f"; to allow it: {self.remedy}" if self.remedy else "")


class TurnReport(Struct, frozen=True, kw_only=True):
    """The report of a turn."""

    session_id: str
    stop_reason: str
    text: str
    is_cut: bool
    """Whether `text` is only the beginning of the agent's text."""
    calls: list[CallSummary]
    plan: list[PlanLine]
    changes: Sequence[FileChange]
    refusals: list[RefusalReport]
    notes: list[str]
    usage: v1.Usage | None

    def shorten(self, most: int) -> TurnReport:
        """Return the same report with at most this many bytes of the agent's text."""
        data = self.text.encode()
        if len(data) <= most:
            return self
        return replace(self, text=data[:most].decode(errors="ignore"), is_cut=True)


class TurnCollector:
    """Collects the events of one turn for its report."""

    def __init__(self) -> None:
        self.plan: list[PlanLine] = []
        self.is_cut = False
        self._calls: dict[str, ToolState] = {}
        self._pieces: list[str] = []
        self._size = 0
        self._is_apart = False  # something else came between two pieces of text
        self._message_id: str | None = None

    @property
    def text(self) -> str:
        """The agent's text so far, without thoughts."""
        return "".join(self._pieces)

    @property
    def calls(self) -> list[CallSummary]:
        return [_call_report(call) for call in self._calls.values()]

    def take(self, update: v1.SessionUpdate) -> TurnEvent | None:
        """Return the event for an update; None if there is none."""
        match update:
            case v1.AgentMessageChunk():
                return self._text(update)
            case v1.AgentThoughtChunk(content=v1.TextContent(text=text)):
                return TurnEvent(kind="thought", text=text)
            case v1.ToolCall() | v1.ToolCallProgress():
                return self._tool(update)
            case v1.Plan(entries=entries) | v1.PlanUpdate(plan=v1.PlanItems(entries=entries)):
                return self._steps(entries)
            case v1.Notice():
                return TurnEvent(kind="notice", text=update.title)
        return None

    def _text(self, update: v1.AgentMessageChunk) -> TurnEvent | None:
        piece = _words_of(update.content)
        if not piece:
            return None
        message_id = update.message_id or None
        is_other_message = None not in (message_id, self._message_id) and message_id != self._message_id
        if self._pieces and (self._is_apart or is_other_message):
            piece = f"\n\n{piece}"  # two messages, which their words do not tell apart
        self._is_apart, self._message_id = False, message_id
        room = MOST_TEXT - self._size
        self.is_cut = self.is_cut or len(piece) > room
        self._pieces.append(piece[:room])
        self._size += min(len(piece), room)
        return TurnEvent(kind="text", text=piece)

    def _tool(self, update: v1.ToolCall | v1.ToolCallProgress) -> TurnEvent | None:
        self._is_apart = True
        before = self._calls.get(update.tool_call_id)
        if before is None and len(self._calls) >= MOST_CALLS:
            return None
        state = ToolState.of(update) if before is None else before.after(update)
        # Its output is for the agent: to keep it would keep everything that every tool has printed.
        state = ToolState(
            id=state.id, title=state.title, kind=state.kind, status=state.status, locations=state.locations
        )
        self._calls[state.id] = state
        if before is not None and (before.title, before.status) == (state.title, state.status):
            return None
        return TurnEvent(kind="tool", text=state.title, call=state)

    def _steps(self, entries: Sequence[v1.PlanEntry]) -> TurnEvent:
        self.plan = [
            PlanLine(content=entry.content[:LONGEST_TITLE], status=entry.status) for entry in entries
        ]
        self.plan = self.plan[:MOST_CALLS]
        return TurnEvent(kind="plan", text="\n".join(f"{step.status}: {step.content}" for step in self.plan))


def _words_of(content: v1.ContentBlock) -> str:
    match content:
        case v1.TextContent(text=text):
            return text
        case v1.ResourceLink(name=name, uri=uri):
            return f"[{name}: {uri}]"
        case v1.EmbeddedResource(resource=v1.TextResourceContents(text=text)):
            return text
        case v1.ImageContent(mime_type=kind) | v1.AudioContent(mime_type=kind):
            return f"[{kind}]"
    return ""


def _call_report(call: ToolState) -> CallSummary:
    paths = dict.fromkeys(location.path for location in call.locations[:MOST_CALLS])
    return CallSummary(
        id=call.id, title=call.title[:LONGEST_TITLE], kind=call.kind, status=call.status, paths=list(paths)
    )


def token_counts(usage: v1.Usage | None) -> dict[str, int] | None:
    """Return the agent's token counts, by their names in the protocol."""
    if usage is None:
        return None
    counts = {
        "totalTokens": usage.total_tokens,
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "thoughtTokens": usage.thought_tokens,
        "cachedReadTokens": usage.cached_read_tokens,
        "cachedWriteTokens": usage.cached_write_tokens,
    }
    return {name: count for name, count in counts.items() if count is not UNSET and count is not None}
