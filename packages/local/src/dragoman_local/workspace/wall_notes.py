"""Explains a failure in the sandbox: which paths of the command the sandbox hides or protects.

The kernel tells nobody which path it refused, and what a program prints about it is its own. So this looks
at what was asked to be run, and never at the output: a path among its words that is hidden or cannot be
written is a fact about the sandbox. It may not be why the command failed.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from dragoman.text.sanitize import sanitize_line
from dragoman_local.sandbox.boundary import Boundary
from dragoman_local.workspace.commands import PlannedCommand

MOST_WORDS: Final = 300
"""The most words to look up on the disk."""

_OWN: Final = ("/tmp", "/var/tmp", "/dev", "/proc")  # noqa: S108
"""Where a command has places of its own in the sandbox."""

_READERS: Final = frozenset(
    {
        *("[", "test", "ls", "tree", "find", "fd", "file", "stat", "du", "wc", "cat", "bat", "head", "tail"),
        *("grep", "rg", "awk", "cut", "jq", "less", "uniq", "cmp", "diff"),
    }
)
"""Programs that write nothing where they look."""


def wall_note(command: PlannedCommand, boundary: Boundary) -> str:
    """Return one sentence for readers of the output; empty if no word names such a path. Reads the disk. Of
    several paths the last one counts: what is read stands before what is written.
    """
    found = list(_refused(command, boundary))
    if not found:
        return ""
    path, how = next((each for each in found if each[1] == "is hidden"), found[-1])
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    can_add = how == "cannot be written" and not _is_below(path, boundary.read_only)
    remedy = f"--add-dir {folder} or --sandbox off" if can_add else "--sandbox off"
    return sanitize_line(
        f"[dragoman: {path} {how} in the sandbox ({boundary.profile}); your user can allow it with {remedy}]"
    )


def _refused(command: PlannedCommand, boundary: Boundary) -> Iterator[tuple[str, str]]:
    words = list(command.words) if command.shell_line is None else _split(command.shell_line)
    # A shell's own line is one of its words.
    words = [part for word in words for part in (_split(word) if any(map(str.isspace, word)) else [word])]
    is_reader = command.shell_line is None and os.path.basename(command.words[0]) in _READERS
    writable = [place.path for place in boundary.writable]
    for path in _paths_in(words[1:MOST_WORDS], command.cwd):
        is_kept = _is_below(path, boundary.read_only) or not _is_below(path, writable)
        if _is_below(path, boundary.hidden):
            yield path, "is hidden"
        elif is_kept and not is_reader and not _is_below(path, _OWN):
            yield path, "cannot be written"


def _split(line: str) -> list[str]:
    """The words of a line, as far as text shows: operators are separate words."""
    try:
        return list(shlex.shlex(line, posix=True, punctuation_chars=True))
    except ValueError:
        return []


def _paths_in(words: Sequence[str], cwd: str) -> Iterator[str]:
    """Only what is spelled as a path: any word may name a file in the folder, and that can be written."""
    for word in words:
        value = word.partition("=")[2] if word.startswith("-") else word
        if "/" not in value or "://" in value or not value.isprintable() or not _OPEN.isdisjoint(value):
            continue
        path = os.path.realpath(os.path.join(cwd, os.path.expanduser(value)))
        parent = os.path.dirname(path)
        # Patterns have slashes, too.
        if path != "/" and (os.path.lexists(path) or (parent != "/" and os.path.isdir(parent))):
            yield path


_OPEN: Final = frozenset("$`*?{}")
"""What a shell puts something else for."""


def _is_below(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith(f"{place.rstrip('/')}/") for place in places)
