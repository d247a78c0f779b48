"""A conversation as entries: reads updates, and reports what changed.

Chunks of one speaker that follow each other become one entry, a tool call is one entry however often it is
mentioned, and a turn has one plan. What would hold too much lets its oldest entries go; `is_cut` says so.

It neither draws nor waits. `take_changes` gives what is new since it was last asked, however many updates
that were: this is where a thousand updates a second become twenty drawings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias, cast

from dragoman import ToolState
from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman_app.tui.model.entries import (
    LONGEST,
    Level,
    NoteEntry,
    PictureEntry,
    PlannedSteps,
    Speaker,
    SpeechEntry,
    ToolEntry,
    TranscriptEntry,
)
from dragoman_app.tui.model.faces import TurnLines, line_of, name_of
from dragoman_app.tui.model.facts import Facts

MOST_ENTRIES = 50_000
MOST_CHARACTERS = 64 * 1024 * 1024
"""The most characters to keep in memory; the history on disk has everything."""

_Chunk: TypeAlias = v1.AgentMessageChunk | v1.AgentThoughtChunk | v1.UserMessageChunk

_TOOLS = (v1.ToolCall, v1.ToolCallProgress)

_ROLES: dict[type, Speaker] = {
    v1.AgentMessageChunk: "agent",
    v1.AgentThoughtChunk: "thought",
    v1.UserMessageChunk: "user",
}


class TranscriptChange(NamedTuple):
    """The changes since the last call."""

    touched_entries: set[TranscriptEntry]
    cut: int
    """Entries that were removed at the beginning."""
    added_before: int
    """Entries that were added at the beginning."""


class Transcript:
    """One conversation."""

    def __init__(self, *, most_entries: int = MOST_ENTRIES, most_characters: int = MOST_CHARACTERS) -> None:
        self.entries: list[TranscriptEntry] = []
        self.facts = Facts()
        self.is_cut = False
        self.wake: Callable[[], None] = _no_listener
        """Called when there is something to take; often."""
        self._tools: dict[str, ToolEntry] = {}
        self._plan: PlannedSteps | None = None
        self._plan_note: NoteEntry | None = None
        self._subagents_note: NoteEntry | None = None
        self._lines = TurnLines()
        self._last: SpeechEntry | None = None
        self._expected_text = ""
        self._touched_entries: set[TranscriptEntry] = set()
        self._cut = 0
        self._before = 0
        self._characters = 0
        self._most = (most_entries, most_characters)

    # What comes in.

    def hear(self, update: v1.SessionUpdate | Unknown) -> None:
        """Read one update of the session."""
        speaker = _ROLES.get(type(update))
        if speaker is not None:
            self._chunk(speaker, cast("_Chunk", update))
        elif isinstance(update, _TOOLS):
            self._tool(update)
        elif isinstance(update, v1.Plan):
            self._set_plan(update.entries)
        elif isinstance(update, v1.PlanUpdate) and isinstance(update.plan, v1.PlanItems):
            self._set_plan(update.plan.entries)
        elif isinstance(update, v1.PlanUpdate):
            self._plan_text(update)
        elif isinstance(update, v1.Notice):
            self.note(line_of(update) or "", "warning" if update.severity in ("warning", "error") else "info")
        elif self.facts.learn(update):
            self.wake()
        elif (line := self._lines.new_line(update)) is not None:
            self._add(NoteEntry(line))  # below what is being said, which goes on

    def show_subagents(self, tree: str) -> None:
        """Show the subagents: one entry per turn, which changes in place."""
        if self._subagents_note is None:
            self._subagents_note = NoteEntry("")
            self._add(self._subagents_note)
        self._subagents_note.text = f"Subagents:\n{tree}"
        self.touch(self._subagents_note)

    def prompt(self, text: str) -> None:
        """Add the user's prompt; some agents repeat it, which is not shown twice."""
        self._end_speech()
        self._end_plan()
        self._subagents_note = None
        self.facts.plan = ()
        entry = SpeechEntry("user", text)
        entry.is_done = True
        self._expected_text = text
        self._add(entry)

    def note(self, text: str, level: Level = "info") -> None:
        self._end_speech()
        self._add(NoteEntry(text, level))

    def add(self, entry: TranscriptEntry) -> None:
        self._end_speech()
        self._add(entry)

    def end_turn(self) -> None:
        """End the current message."""
        self._end_speech()
        self._expected_text = ""
        self._end_plan()

    def touch(self, entry: TranscriptEntry) -> None:
        entry.touch()
        self._touched_entries.add(entry)
        self.wake()

    def clear(self) -> None:
        """Start another conversation."""
        self._cut += len(self.entries)
        self.entries.clear()
        self._tools.clear()
        self._touched_entries.clear()
        self._last = None
        self._subagents_note = None
        self._end_plan()
        self._characters = 0
        self.facts = Facts()
        self.wake()

    def prepend(self, earlier: Transcript) -> None:
        """Add an earlier part. The cut between the two may be inside a message or a tool call."""
        earlier._end_speech()
        older = earlier.entries
        if older and self.entries:
            last, first = older[-1], self.entries[0]
            if (
                isinstance(last, SpeechEntry)
                and isinstance(first, SpeechEntry)
                and (last.who, last.message_id) == (first.who, first.message_id)
                and last.who != "user"
            ):
                first.put_before(last.text)
                self._touched_entries.add(first)
                older.pop()
        for ident, entry in earlier._tools.items():
            later = self._tools.get(ident)
            if later is None:
                self._tools[ident] = entry
            elif later in self.entries:
                later.state = _join_states(entry.state, later.state)
                self._touched_entries.add(later)
                later.touch()
                older.remove(entry)
        self.entries[:0] = older
        self._before += len(older)
        self.wake()

    # What goes out.

    def take_changes(self) -> TranscriptChange:
        self._trim()
        change = TranscriptChange(self._touched_entries, self._cut, self._before)
        self._touched_entries, self._cut, self._before = set(), 0, 0
        return change

    @property
    def last_answer(self) -> str:
        """Return the agent's last message, as written."""
        for entry in reversed(self.entries):
            if isinstance(entry, SpeechEntry) and entry.who == "agent":
                return entry.text
        return ""

    @property
    def prompts(self) -> list[str]:
        return [
            entry.text for entry in self.entries if isinstance(entry, SpeechEntry) and entry.who == "user"
        ]

    def running_terminals(self) -> list[ToolEntry]:
        """Return tool calls whose terminals may have new output."""
        return [entry for entry in self._tools.values() if entry.is_running and entry.terminals]

    # One by one.

    def _chunk(self, speaker: Speaker, update: _Chunk) -> None:
        content = update.content
        if isinstance(content, v1.TextContent):  # nearly always
            text = content.text
        elif isinstance(content, v1.ImageContent):
            self.add(PictureEntry(speaker, content.mime_type, content.data))
            return
        else:
            text = f"[{name_of(content)}]"
        if speaker == "user" and self._is_expected(text):
            return
        message_id = update.message_id or None
        last = self._last
        if last is None or last.who != speaker or last.message_id != message_id or len(last._text) > LONGEST:
            self._end_speech()
            last = self._last = SpeechEntry(speaker, message_id=message_id)
            self._add(last)
        last.add(text)
        self._characters += len(text)
        self._touched_entries.add(last)
        self.wake()

    def _is_expected(self, text: str) -> bool:
        if self._expected_text and self._expected_text.startswith(text):
            self._expected_text = self._expected_text[len(text) :]
            return True
        return False

    def _tool(self, update: v1.ToolCall | v1.ToolCallProgress) -> None:
        tool_entry = self._tools.get(update.tool_call_id)
        if tool_entry is not None:
            tool_entry.state = tool_entry.state.after(update)
            self.touch(tool_entry)
            return
        self._end_speech()
        entry = self._tools[update.tool_call_id] = ToolEntry(ToolState.of(update))
        self._add(entry)

    def _set_plan(self, steps: list[v1.PlanEntry]) -> None:
        self.facts.plan = steps
        if self._plan is None:
            self._end_speech()
            self._plan = PlannedSteps(steps)
            self._add(self._plan)
        else:
            self._plan.steps = steps
            self.touch(self._plan)

    def _plan_text(self, update: v1.PlanUpdate) -> None:
        """A plan that has no steps: told once in a turn, as it stands."""
        if self._plan_note is None:
            self._plan_note = NoteEntry("")
            self._add(self._plan_note)
        self._plan_note.text = line_of(update) or ""
        self.touch(self._plan_note)

    def _end_plan(self) -> None:
        self._plan = self._plan_note = None
        self._lines.begin_turn()

    def _add(self, entry: TranscriptEntry) -> None:
        self.entries.append(entry)
        self._characters += entry.size
        self._touched_entries.add(entry)
        self.wake()

    def _end_speech(self) -> None:
        if self._last is not None:
            self._last.is_done = True
            self._touched_entries.add(self._last)
            self._last.touch()
            self._last = None

    def _trim(self) -> None:
        entries, characters = self._most
        if len(self.entries) <= entries and self._characters <= characters:
            return
        removed_count = max(0, len(self.entries) - entries + entries // 10)
        self._characters = sum(entry.size for entry in self.entries[removed_count:])
        while self._characters > characters and removed_count < len(self.entries) - 1:
            self._characters -= self.entries[removed_count].size
            removed_count += 1
        for entry in self.entries[:removed_count]:
            if isinstance(entry, ToolEntry):
                self._tools.pop(entry.state.id, None)
            self._touched_entries.discard(entry)
        del self.entries[:removed_count]
        self._cut += removed_count
        self.is_cut = True


def _no_listener() -> None:
    """Does nothing: no view listens yet."""


def _join_states(before: ToolState, after: ToolState) -> ToolState:
    """The state of a tool call whose beginning was loaded after its end."""
    progress = v1.ToolCallProgress(
        tool_call_id=after.id,
        **{
            name: value
            for name in ("title", "kind", "status", "name", "content", "locations", "raw_input", "raw_output")
            if (value := getattr(after, name)) not in ("", None, [], "other")
        },
    )
    return before.after(progress)
