"""Places in files, as agents write them: `src/a.py:12`, `src/a.py:12:5`, `a.py#L12`, `file:///home/ann/a.py`.

Pure. A name counts as a place if it has a folder or a line and an ending, so that `e.g.` and `3.11` are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from dragoman.schema import v1
from dragoman_app.tui.model.entries import NoteEntry, SpeechEntry, ToolEntry, TranscriptEntry

MOST: Final = 200
"""The most places of one entry to offer."""

LONGEST: Final = 200_000
"""The most characters of one text to search."""

_PLACE = re.compile(
    r"(?<![\w/.:@~+-])"  # a whole word, and no part of an address
    r"(?P<scheme>file://(?:localhost)?(?=/))?"
    r"(?P<path>(?:~?/|\.{1,2}/)?(?:[\w@+.%-]{1,100}/){0,40}[\w@+%.-]{0,100}\.[A-Za-z]\w{0,11})"
    r"(?:#L(?P<mark>\d{1,9})(?:-L?\d+)?|:(?P<line>\d{1,9})(?:[:-]\d+)*)?"
    r"(?![\w/])"
)


class FilePlace(NamedTuple):
    """A file and a line of it; 0 means no particular line."""

    path: str
    line: int = 0


class NamedPlace(NamedTuple):
    """A place, and its position in a text."""

    place: FilePlace
    start: int
    end: int


def places_in(text: str) -> Iterator[NamedPlace]:
    """Return all places in a text."""
    for match in _PLACE.finditer(text[:LONGEST]):
        path, line = match["path"], int(match["mark"] or match["line"] or 0)
        if match["scheme"]:
            path = unquote(path)
        if line or "/" in path:
            yield NamedPlace(FilePlace(path, line), match.start(), match.end())


def place_at(text: str, index: int) -> FilePlace | None:
    """Return the place at this character."""
    return next(
        (
            named_place.place
            for named_place in places_in(text)
            if named_place.start <= index < named_place.end
        ),
        None,
    )


def places_of(entry: TranscriptEntry) -> list[FilePlace]:
    """Return the places of an entry, each once: a tool call's locations and changes first, then those in its
    text.
    """
    places = dict.fromkeys(_places_of(entry))
    paths_with_line = {place.path for place in places if place.line}
    return [place for place in places if place.line or place.path not in paths_with_line][:MOST]


def _places_of(entry: TranscriptEntry) -> Iterator[FilePlace]:
    match entry:
        case SpeechEntry(text=text) | NoteEntry(text=text):
            yield from _named_places(text)
        case ToolEntry(state=state):
            for location in state.locations:
                yield FilePlace(location.path, location.line or 0)
            yield from _changed_places(state.content)
            yield from _named_places(state.title or "")
            for item in state.content:
                if isinstance(item, v1.Content) and isinstance(item.content, v1.TextContent):
                    yield from _named_places(item.content.text)


def _named_places(text: str) -> Iterator[FilePlace]:
    return (named_place.place for named_place in places_in(text))


def _changed_places(content: Iterable[object]) -> Iterator[FilePlace]:
    for item in content:
        if isinstance(item, v1.Diff):
            old = item.old_text.split("\n") if isinstance(item.old_text, str) else []
            new = item.new_text.split("\n")
            same = next((at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), 0)
            yield FilePlace(item.path, same + 1)
