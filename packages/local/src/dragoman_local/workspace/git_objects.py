"""Reads a git repository: the files of a commit, contents of objects, and the lines that commits add.

Asked by commands that run nothing of the repository's: no filter, no driver, no hook.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragoman.system.git import ask_repository
from dragoman.system.git_process import GitFailed, git_program, run_git
from dragoman_local.workspace.snapshot_entries import Kind

GIT_SECONDS = 60.0
"""The most seconds of one git command."""

BATCH = 200
"""The contents to request together."""

_KINDS: dict[str, Kind] = {"100644": "file", "100755": "program", "120000": "link"}

_HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")


class AddedLines(NamedTuple):
    """Lines that commits add to one file."""

    path: str
    """The path in the repository, with slashes."""
    object: str
    """The file's later content."""
    lines: Sequence[int]
    """The numbers of its new lines, counted from 1."""


def ask_git(root: str, *words: str, feed: bytes = b"") -> str:
    """Return the output of a git command that only reads; `GitFailed` or `GitTimeout`."""
    return os.fsdecode(
        run_git(ask_repository(git_program(), words), cwd=root, seconds=GIT_SECONDS, feed=feed)
    )


def tracked_files(root: str, commit: str) -> dict[str, tuple[Kind, str]]:
    """Return the files of a commit, by path, with their objects. Entries that are not files are left out."""
    found: dict[str, tuple[Kind, str]] = {}
    for line in ask_git(root, "ls-tree", "-r", "-z", "--full-tree", commit).split("\0")[:-1]:
        head, _, path = line.partition("\t")
        mode, _, name = head.split(" ")
        if mode in _KINDS:
            found[path] = _KINDS[mode], name
    return found


def read_objects(root: str, names: Sequence[str]) -> Iterator[bytes]:
    """Return the content of these objects, in order."""
    command = ask_repository(git_program(), ("cat-file", "--batch"))
    for start in range(0, len(names), BATCH):
        feed = "".join(f"{name}\n" for name in names[start : start + BATCH]).encode()
        output, at = run_git(command, cwd=root, seconds=GIT_SECONDS, feed=feed), 0
        while at < len(output):
            end = output.index(b"\n", at)
            words = output[at:end].split(b" ")
            if len(words) != 3:
                raise GitFailed("a content is missing in the repository")
            at = end + int(words[2]) + 2
            yield output[end + 1 : at - 1]


def commit_span(root: str, name: str) -> tuple[str, str]:
    """Return the two trees of `COMMIT`, `OLD..NEW`, or `OLD...NEW`, which begins where both parted; a commit
    means its additions to its first parent.
    """

    def commit(name: str) -> str:
        return ask_git(root, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}").strip()

    old, dots, new = name.partition("..")
    last = commit((new.removeprefix(".") or "HEAD") if dots else name)
    if dots:
        first = commit(old or "HEAD")
        return ask_git(root, "merge-base", first, last).strip() if new.startswith(".") else first, last
    parents = ask_git(root, "rev-list", "--parents", "-1", last).split()[1:]
    return parents[0] if parents else ask_git(root, "hash-object", "-t", "tree", "--stdin").strip(), last


def added_lines(root: str, first: str, last: str) -> list[AddedLines]:
    """Return the new lines between two trees, file by file. Moved files count with their changes."""
    words = ("diff-tree", "-r", "-M", "-U0", "-z", "--patch-with-raw", "--no-ext-diff", "--no-textconv")
    raw, _, patch = ask_git(root, *words, "--no-color", first, last).partition("\0\0")
    sections = [section.split("\n") for section in f"\n{patch}".split("\ndiff --git ")[1:]]
    items = iter(raw.removesuffix("\0").split("\0") if raw else ())
    found: list[AddedLines] = []
    at = 0
    for head in items:
        _, mode, _, name, status = head.split(" ")
        path = next(items)
        if status[0] in "RC":
            path = next(items)
        at += 1 if status != "T" else 2  # what was a link and is a file is told as two changes
        if mode in ("100644", "100755") and status != "D":
            hunks = [match for line in sections[at - 1] if (match := _HUNK.match(line))]
            numbers = [
                int(first) + step
                for first, count in (hunk.groups() for hunk in hunks)
                for step in range(1 if count is None else int(count))
            ]
            found.append(AddedLines(path, name, numbers))
    return found


def work_trees(root: str) -> list[str]:
    """Return the roots of all work trees of a repository; that of this folder comes first."""
    own = ask_git(root, "rev-parse", "--show-toplevel").removesuffix("\n")
    words = ask_git(root, "worktree", "list", "--porcelain", "-z").split("\0")
    tops = [word.removeprefix("worktree ") for word in words if word.startswith("worktree ")]
    return [own, *(top for top in tops if top != own)]
