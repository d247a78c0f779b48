"""The files that an agent names in a turn: in a diff, as the location of an edit, or by writing to them."""

from __future__ import annotations

import os
from collections.abc import Collection

import msgspec
from msgspec import Raw, Struct

from dragoman.decoders import decode_json
from dragoman_hub.session.frames import value_of

PATHS = 10_000
"""The most files that one turn names; above it, they are not distinguished."""

WRITING = frozenset({"edit", "delete", "move"})
"""Kinds of tool calls that change the files at their locations."""


class _Part(Struct):
    """As much of a location, or of the content of a tool call, as is needed here: diffs can be large."""

    type: str = ""
    path: str = ""


class NamedFiles:
    """The files that the agent of a turn names."""

    def __init__(self, cwd: str, *, place: str) -> None:
        self._cwd = cwd
        self._place = place
        self._paths: dict[str, set[str]] = {}  # by tool call
        self._kinds: dict[str, str] = {}
        self._count = 0

    def see_tool_call(self, update: dict[str, Raw]) -> None:
        """Note the files that a tool call changes. A failed call has changed none."""
        call = value_of(update.get("toolCallId"))
        if not isinstance(call, str) or self._count >= PATHS:
            return
        kind = value_of(update.get("kind"))
        if isinstance(kind, str):
            self._kinds[call] = kind
        if value_of(update.get("status")) == "failed":
            self._paths.pop(call, None)
            return
        paths = [part.path for part in _parts(update.get("content")) if part.type == "diff"]
        if self._kinds.get(call) in WRITING:
            paths += [part.path for part in _parts(update.get("locations"))]
        for path in paths:
            self.name(path, call=call)

    def name(self, path: str, *, call: str = "") -> None:
        """Note that the turn's agent writes to this file."""
        if path and "\0" not in path:
            self._count += 1
            self._paths.setdefault(call, set()).add(path)

    def paths(self, names: Collection[str]) -> set[str]:
        """Return the files with these names on the disk. Reads the disk, in any thread."""
        every_path = [path for paths in list(self._paths.values()) for path in list(paths)]
        return {
            self._locate(path) for path in every_path if os.path.basename(os.path.normpath(path)) in names
        }

    def _locate(self, path: str) -> str:
        """A path as a look finds it: links on the way are followed, a link at its end is not."""
        whole = os.path.normpath(os.path.join(self._cwd, path))
        return os.path.join(real_folder(self._place, os.path.dirname(whole)), os.path.basename(whole))


def real_folder(place: str, folder: str) -> str:
    """Resolve links. Links on another machine can't be resolved here. Reads the disk."""
    return os.path.normpath(folder) if place else os.path.realpath(folder)


def _parts(raw: Raw | None) -> list[_Part]:
    try:
        return [] if raw is None else decode_json(raw, list[_Part] | None) or []
    except msgspec.MsgspecError:  # an agent that does not follow the schema names nothing
        return []
