"""Finds changes on disk without approval: compares the decisions with the differences.

An agent that writes files by itself may ask for permission, or not. A decision that names a file covers the
file, and one that names a folder all that is in it. A command that was allowed may have changed anything, so
with one a change that no other decision names is not held against the agent. What was denied and is different
all the same is. Whoever else changes files in the folder meanwhile looks the same from here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from dragoman.schema import v1

if TYPE_CHECKING:
    from dragoman_local.workspace.policy.audit import AuditEntry

ChangeDecision: TypeAlias = Literal["file", "command", "denied", "none"]
"""The decision about a changed file: the file was allowed, a command was allowed, it was denied, or there was
none.
"""

HARMLESS: Final = frozenset({"read", "search", "think", "fetch", "switch_mode"})
"""Kinds of tool calls that change no files."""

ASKING: Final = ("ask", "approv", "confirm", "prompt", "permission", "read-only", "read only", "plan")
NOT_ASKING: Final = ("bypass", "without", "skip", "accept", "never", "auto", "full", "yolo", "don't", "dont")


class ChangesReport(NamedTuple):
    """The report on the changes of a run."""

    unasked: list[str] | None
    """The changed files without approval; None if unknown."""
    stuck: int = 0
    """The number of files that could not be reverted."""


class DecidedEffects:
    """The decisions of one run about changes."""

    def __init__(self) -> None:
        self._permitted_paths: set[str] = set()
        self._denied_paths: set[str] = set()
        self._has_command = False

    def add(self, line: AuditEntry, *, cwd: str) -> None:
        """Add a decision from the audit log."""
        if line.method == "fs/read" or line.kind in HARMLESS:
            return
        paths = {os.path.realpath(os.path.join(cwd, path)) for path in line.paths}
        if line.outcome != "allow":
            self._denied_paths |= paths
        elif line.command is not None or line.method in ("terminal", "mcp") or not paths:
            self._has_command = True
        else:
            self._permitted_paths |= paths

    def decision_about(self, path: str) -> ChangeDecision:
        """Return the decision about a changed file."""
        place = os.path.realpath(path)
        if _covers(self._permitted_paths, place):
            return "file"
        if _covers(self._denied_paths, place):
            return "denied"
        return "command" if self._has_command else "none"


def mode_that_asks(modes: v1.SessionModeState | None) -> str | None:
    """Return the id of a mode in which the agent asks first; None if it has none, or is in it."""
    for mode in [] if modes is None else modes.available_modes:
        description = mode.description if isinstance(mode.description, str) else ""
        words = f"{mode.id} {mode.name} {description}".casefold()
        asks = any(word in words for word in ASKING) and not any(word in words for word in NOT_ASKING)
        if asks and modes is not None and mode.id != modes.current_mode_id:
            return mode.id
    return None


def _covers(paths: set[str], place: str) -> bool:
    return any(place == path or place.startswith(path.rstrip(os.sep) + os.sep) for path in paths)
