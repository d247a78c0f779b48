"""The files for `dragoman review`, listed and read at once.

Whatever a file is like, reading it gives a text or a note that says why there is none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.errors import LocalMistake
from dragoman.system.git_files import list_git_files
from dragoman_review.places import find_program
from dragoman_review.source import ReviewNote
from dragoman_review.source_files import SourceText, decode, files_below, is_worth_it, read_text

_SECONDS = 30.0
"""For a command of git; all of ours take a fraction of one."""


class NothingThere(LocalMistake):
    """A path on the command line does not exist."""


class ReviewFile(NamedTuple):
    """A file, or standard input."""

    name: str
    """The name in findings."""
    path: Path | None
    """The path for writing; None if it is not on the disk."""
    content: SourceText | ReviewNote


def read_files(names: Sequence[str], *, stdin_name: str) -> list[ReviewFile]:
    """Return the files in some files and folders, each once; `-` is standard input. Raises `NothingThere`."""
    files: dict[str, ReviewFile] = {}
    for name in names:
        if name == "-":
            content = decode(sys.stdin.buffer.read()) or ReviewNote(
                stdin_name, "not reviewed: it is not text"
            )
            files[stdin_name] = ReviewFile(stdin_name, None, content)
        else:
            for path in _expand(Path(name)):
                if (short := short_path(path)) not in files and path.exists():
                    files[short] = ReviewFile(short, path, read_text(path))
    return list(files.values())


def _expand(path: Path) -> Iterable[Path]:
    """The files that a path stands for. One that somebody named is reviewed, whatever it is called."""
    if not path.exists():
        raise NothingThere(f"no file or folder {path}")
    if not path.is_dir():
        return [path]
    git = find_program("git")
    listed_files = None if git is None else list_git_files(git, str(path), seconds=_SECONDS)
    if not listed_files:
        return files_below(path)
    # Git also lists what was deleted, and links, which may lead anywhere.
    return [file for name in listed_files if is_worth_it(name) and not (file := path / name).is_symlink()]


def short_path(path: Path) -> str:
    """Return the shortest path from here, with slashes."""
    # What does not begin at the root is relative to here already; to ask the system where that is takes time.
    here = os.path.relpath(path) if path.is_absolute() else os.path.normpath(path)
    return (str(path) if here.startswith("..") else here).replace(os.sep, "/")
