"""The entries of a conversation, in order.

Entries change in place while a turn runs; `version` says that one did, so that nobody need compare.
They hold what was said as it came: those who draw sanitize it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from dragoman import ToolState
from dragoman.schema import v1

Speaker: TypeAlias = Literal["user", "agent", "thought"]
Level: TypeAlias = Literal["info", "warning", "error"]

LONGEST = 2 * 1024 * 1024
"""The most characters of one message; a longer one continues in another entry."""


class TranscriptEntry:
    """An entry in the conversation."""

    __slots__ = ("is_open", "version")

    def __init__(self) -> None:
        self.version = 0
        self.is_open: bool | None = None
        """Unfolded or folded by the person; None as it comes."""

    def touch(self) -> None:
        self.version += 1

    @property
    def size(self) -> int:
        """The approximate number of characters."""
        return 200


class SpeechEntry(TranscriptEntry):
    """A growing message."""

    __slots__ = ("_fresh", "_text", "is_done", "message_id", "who")

    def __init__(self, who: Speaker, text: str = "", *, message_id: str | None = None) -> None:
        super().__init__()
        self.who = who
        self.message_id = message_id
        self.is_done = False
        self._text = text
        self._fresh: list[str] = []

    def add(self, text: str) -> None:
        self._fresh.append(text)
        self.version += 1

    @property
    def text(self) -> str:
        if self._fresh:
            self._text += "".join(self._fresh)
            self._fresh.clear()
        return self._text

    def put_before(self, text: str) -> None:
        """Put text in front that was loaded later."""
        self._text = text + self.text
        self.version += 1

    @property
    def size(self) -> int:
        return len(self._text) + sum(map(len, self._fresh)) + 100


class ToolEntry(TranscriptEntry):
    """The current state of a tool call."""

    __slots__ = ("state",)

    def __init__(self, state: ToolState) -> None:
        super().__init__()
        self.state = state

    @property
    def is_running(self) -> bool:
        return self.state.status in ("pending", "in_progress")

    @property
    def terminals(self) -> list[str]:
        return [item.terminal_id for item in self.state.content if isinstance(item, v1.Terminal)]

    @property
    def size(self) -> int:
        return 400 + sum(_size(item) for item in self.state.content)


class PictureEntry(TranscriptEntry):
    """A picture in a message: base64 as received."""

    __slots__ = ("data", "mime_type", "who")

    def __init__(self, who: Speaker, mime_type: str, data: str) -> None:
        super().__init__()
        self.who = who
        self.mime_type = mime_type
        self.data = data

    @property
    def size(self) -> int:
        return 200 + len(self.data)


class PlannedSteps(TranscriptEntry):
    """The current plan."""

    __slots__ = ("steps",)

    def __init__(self, steps: Sequence[v1.PlanEntry]) -> None:
        super().__init__()
        self.steps = steps


class NoteEntry(TranscriptEntry):
    """A note from the client, or from the agent outside its answer."""

    __slots__ = ("level", "text")

    def __init__(self, text: str, level: Level = "info") -> None:
        super().__init__()
        self.text = text
        self.level = level


class CommandOutput(Protocol):
    """The current output of a command."""

    @property
    def text(self) -> str: ...
    @property
    def exit_text(self) -> str | None:
        """Return how it ended, in a word; None while it runs."""


class CommandEntry(TranscriptEntry):
    """A command of the user."""

    __slots__ = ("line", "output")

    def __init__(self, line: str, output: CommandOutput) -> None:
        super().__init__()
        self.line = line
        self.output = output


def _size(item: v1.ToolCallContent) -> int:
    match item:
        case v1.Diff():
            return len(item.new_text) + len(item.old_text or "")
        case v1.Content(content=v1.TextContent(text=text)):
            return len(text)
        case v1.Content(content=v1.ImageContent(data=data) | v1.AudioContent(data=data)):
            return len(data)
    return 100
