"""Words in a conversation: the entries that contain them, and their marks on the screen. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from textual.content import Content

from dragoman.schema import v1
from dragoman_app.tui.model.entries import (
    CommandEntry,
    NoteEntry,
    PlannedSteps,
    SpeechEntry,
    ToolEntry,
    TranscriptEntry,
)

MARK = "reverse"
"""The style of a match, which is visible without colours."""


class Hit(NamedTuple):
    """A match in an entry, and its number there."""

    entry: TranscriptEntry
    number: int


def find_words(entries: Iterable[TranscriptEntry], words: str) -> list[Hit]:
    """Find every place with these words, ignoring case."""
    folded_words = words.casefold()
    if not folded_words:
        return []
    return [
        Hit(entry, number)
        for entry in entries
        for number in range("\n".join(_texts(entry)).casefold().count(folded_words))
    ]


def highlight_words(content: Content, words: str) -> Content:
    """Return the same line with the words marked."""
    for start, end in spans_of(content.plain, words):
        content = content.stylize(MARK, start, end)
    return content


def spans_of(text: str, words: str) -> Iterator[tuple[int, int]]:
    """Return the places of the words in a line. Letters with a longer lower case, such as
    İ, shift nothing.
    """
    folded_words = words.casefold()
    lower_text = text.casefold()
    if not folded_words or len(lower_text) != len(text):
        return
    at = lower_text.find(folded_words)
    while at >= 0:
        yield at, at + len(folded_words)
        at = lower_text.find(folded_words, at + len(folded_words))


def _texts(entry: TranscriptEntry) -> Iterator[str]:
    match entry:
        case SpeechEntry(text=text) | NoteEntry(text=text):
            yield text
        case PlannedSteps(steps=steps):
            yield from (step.content for step in steps)
        case CommandEntry(line=line, output=output):
            yield from (line, output.text)
        case ToolEntry(state=state):
            yield state.title or state.name or ""
            for item in state.content:
                if isinstance(item, v1.Diff):
                    yield from (item.path, item.old_text or "", item.new_text)
                elif isinstance(item, v1.Content) and isinstance(item.content, v1.TextContent):
                    yield item.content.text
