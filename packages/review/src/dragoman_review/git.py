"""Reads from git which files and lines changed, and their earlier texts.

Asked with the program `git`, so that nothing is written, nothing that the repository's configuration names is
run (`system.git`), and no question is put to a person. Lines are those of the new text. What is read is the
repository, never a remote.
"""

from __future__ import annotations

import asyncio
import difflib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.errors import LocalMistake
from dragoman.system import git as foreign_git
from dragoman.system.git_files import list_git_files
from dragoman_review.places import find_program
from dragoman_review.programs import DEADLINE, ProgramResult, ToolFailed, run_program

_DIFF = (
    *("diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames"),
    *("--ignore-submodules", "--diff-filter=d", "--src-prefix=a/", "--dst-prefix=b/"),
)
_LONG = 5_000
_MOST_COPIES = 1_000
_LOG = "--format=%h %ad %an%n%w(0,2,2)%B%w(0,0,0)"
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb'\\([0-7]{3}|["\\abfnrtv])')
_LETTERS = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13, b'"': 34, b"\\": 92}


class GitRefused(LocalMistake):
    """The folder is not in a repository, or the revision does not exist."""


class GitChangedFile(NamedTuple):
    """One new or changed file."""

    path: str
    """The path from the top of the repository, with slashes."""
    lines: frozenset[int] | None
    """The new lines; None if all of them are."""


class GitChanges(NamedTuple):
    """The changes since a revision."""

    top: Path
    """The root folder of the repository's files."""
    base: str | None
    """The base commit of the comparison; None if there is none yet."""
    files: tuple[GitChangedFile, ...]
    deleted_paths: tuple[str, ...] = ()
    """Deleted files."""
    judge: str | None = None
    """The named base commit: rules, baseline and suppression comments come from it, because a change must not
    bring the rules of its own review. None: those on the disk apply.
    """

    def untrusted_lines(self, file: GitChangedFile) -> frozenset[int] | None:
        """Return the lines of a file, or None for all of them, that must not suppress a rule."""
        return frozenset() if self.judge is None else file.lines


async def find_top(folder: Path) -> Path | None:
    """Return the top of the repository around a folder; None outside of one, or without git."""
    try:
        result = await _ask(folder, "rev-parse", "--show-toplevel")
    except ToolFailed:
        return None
    return (
        Path(os.fsdecode(result.out.removesuffix(b"\n")))
        if result.status == 0 and result.out.strip()
        else None
    )


async def changes(
    folder: Path, *, against: str | None = None, is_staged: bool = False, paths: Sequence[str] = ()
) -> GitChanges:
    """Return changes since the last commit, or since the branch left `against`.

    With `is_staged` only what is in the index; otherwise the files on the disk, untracked ones included.
    `paths` are relative to the folder. Raises `GitRefused`.
    """
    top = await find_top(folder)
    if top is None:
        raise GitRefused(
            f"{folder} is not in a git repository, or git is not installed. To review files "
            f"without git: dragoman review PATH"
        )
    judge = None if against is None else await _revision(folder, against)
    base = await _base(folder, judge)
    with await _isolate(folder) as isolation:
        flags = ["--cached"] if is_staged else []
        empty = _must(await _look(folder, isolation, "hash-object", "-t", "tree", "--stdin")).decode().strip()
        diff = await _look(folder, isolation, *_DIFF, *flags, base or empty, "--", *paths)
        files = list(read_diff(_must(diff)))
        deleted = ("diff", "--name-only", "--no-ext-diff", "--find-renames", "--diff-filter=D", "-z", *flags)
        deleted_paths = foreign_git.read_names(
            _must(await _look(folder, isolation, *deleted, base or empty, "--", *paths))
        )
        if not is_staged:
            words = ("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", *paths)
            other_names = _must(await _look(folder, isolation, *words))
            files += [GitChangedFile(name, None) for name in foreign_git.read_names(other_names)]
    return GitChanges(top, base, tuple(files), tuple(deleted_paths), judge)


async def list_files(folder: Path) -> list[Path] | None:
    """Return the files of a folder that git tracks or would add; None if the folder is not
    in a repository.
    """
    program = find_program("git")
    if program is None:
        return None
    paths = await asyncio.to_thread(list_git_files, program, str(folder), seconds=DEADLINE)
    return None if paths is None else [folder / path for path in paths]


async def text_at(top: Path, revision: str, path: str) -> bytes | None:
    """Return a file at a revision, or in the index (revision `:0`); None if it was not in it."""
    result = await _ask(top, "cat-file", "blob", f"{revision}:{path}")
    return result.out if result.status == 0 else None


async def copy_at(top: Path, revision: str, path: str, folder: Path) -> None:
    """Copy a file, or the files below a folder, from a revision. Links are left out."""
    words = ("ls-tree", "-r", "-z", "--full-tree", revision, "--", path)
    for row in _must(await _ask(top, *words)).split(b"\0")[:-1][:_MOST_COPIES]:
        mode_type_id, _, name = row.partition(b"\t")
        place = folder / os.fsdecode(name)
        if mode_type_id.startswith(b"100") and ".." not in place.parts:
            data = await text_at(top, revision, os.fsdecode(name))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data or b"")


async def log(top: Path, path: str | None = None, *, since: str | None = None, most: int = 20) -> str:
    """Return the last commits, newest first: id, date, author and message; of a file, or since a commit.

    `path` is relative to the top of the repository. Raises `ToolFailed`.
    """
    head = await _base(top, None)
    if head is None:
        return ""
    revisions = [head] if since is None else [head, f"^{since}"]
    paths = [] if path is None else [path]
    with await _isolate(top) as isolation:
        words = ("log", f"--max-count={most}", "--no-color", "--date=short", _LOG, *revisions, "--", *paths)
        return _must(await _look(top, isolation, *words)).decode("utf-8", "replace").strip()


class GitBlame(NamedTuple):
    """The commit of a line."""

    commit: str
    author: str
    seconds: int
    """The time of the commit, in seconds since 1970."""
    subject: str


async def blame(top: Path, path: str, text: str, first: int, last: int) -> dict[int, GitBlame]:
    """Return the commits of some lines of a text; uncommitted lines are left out.

    `path` is relative to the top of the repository. Raises `ToolFailed`.
    """
    head = await _base(top, None)
    old_data = None if head is None else await text_at(top, head, path)
    if head is None or old_data is None:
        return {}
    lines = _old_lines(old_data.decode("utf-8", "replace"), text, first, last)
    if not lines:
        return {}
    span = f"-L{min(lines.values())},{max(lines.values())}"
    with await _isolate(top) as isolation:
        output = _must(await _look(top, isolation, "blame", "--line-porcelain", span, head, "--", path))
    commits = dict(read_blame(output))
    return {line: commits[old] for line, old in lines.items() if old in commits}


def _old_lines(before: str, after: str, first: int, last: int) -> dict[int, int]:
    """Where lines of a text were before it was changed; new ones are left out."""
    old, new = before.split("\n"), after.split("\n")
    old_numbers: dict[int, int] = {}
    for kind, start, _, begin, end in _opcodes(old, new):
        if kind == "equal":
            lines = range(max(first, begin + 1), min(last, end) + 1)
            old_numbers.update({line: line + start - begin for line in lines})
    count = len(old) - (not old[-1])  # what follows the last line end is not a line
    return {line: was for line, was in old_numbers.items() if was <= count}


def read_blame(output: bytes) -> Iterator[tuple[int, GitBlame]]:
    """Parse line numbers and commits of `git blame --line-porcelain`."""
    commit, line = "", 0
    facts: dict[str, str] = {}
    for row in output.decode("utf-8", "replace").split("\n"):
        if row.startswith("\t"):
            seconds = int(facts.get("author-time", "0"))
            yield line, GitBlame(commit, facts.get("author", ""), seconds, facts.get("summary", ""))
            commit, facts = "", {}
        elif not commit and row:
            commit, _, final, *_rest = row.split(" ")
            line = int(final)
        else:
            name, _, value = row.partition(" ")
            facts[name] = value


def changed_lines(before: str, after: str) -> frozenset[int]:
    """Return the new lines of a text, for texts that are not on the disk."""
    return moved_lines(frozenset(), before, after)


def moved_lines(lines: frozenset[int], before: str, after: str) -> frozenset[int]:
    """Return the new positions of some lines after a change, and the new lines."""
    old, new = before.split("\n"), after.split("\n")
    positions: set[int] = set()
    for kind, start, stop, begin, end in _opcodes(old, new):
        if kind == "equal":
            positions.update(line + begin - start for line in lines if start < line <= stop)
        else:
            positions.update(range(begin + 1, end + 1))
    return frozenset(positions)


def _opcodes(old: list[str], new: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    # Long texts are compared less thoroughly: the exact way takes the square of their length.
    return difflib.SequenceMatcher(None, old, new, autojunk=len(new) > _LONG).get_opcodes()


def read_diff(diff: bytes) -> Iterator[GitChangedFile]:
    """Parse the files and new lines of a diff without context."""
    path: str | None = None
    is_new, name = False, b""
    lines: set[int] = set()
    rows = iter(diff.split(b"\n"))
    for row in rows:
        if row.startswith(b"diff --git "):
            if path is not None:
                yield GitChangedFile(path, None if is_new else frozenset(lines))
            # The row has the name twice; other names come with `rename to`.
            path, is_new, lines, name = None, False, set(), row[len(row) // 2 + 6 :]
        elif row.startswith(b"new file mode"):
            is_new = True
        elif row.startswith(b"rename to "):
            name = re.sub(rb'"?', rb"\g<0>b/", row[10:], count=1)
        elif row.startswith(b"Binary files "):  # one sign makes a text binary: it is looked at as a whole
            path, is_new = _name(name), True
        elif row.startswith(b"+++ "):
            path = _name(row[4:])
        elif hunk := _HUNK.match(row):
            old_count, first, new_count = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
            lines.update(range(first, first + new_count))
            _skip(rows, old_count + new_count)
    if path is not None:
        yield GitChangedFile(path, None if is_new else frozenset(lines))


def _skip(rows: Iterator[bytes], count: int) -> None:
    """Pass over the rows of a hunk: they are text of the file, whatever they look like."""
    while count > 0 and (row := next(rows, None)) is not None:
        count -= not row.startswith(b"\\")  # a remark that a line has no end


def _name(name: bytes) -> str | None:
    """A file's name as a diff writes it."""
    name = name.removesuffix(b"\t")
    if name.startswith(b'"'):
        name = _ESCAPE.sub(_unescape, name[1:-1])
    return os.fsdecode(name[2:]) if name.startswith(b"b/") else None


def _unescape(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    return bytes([_LETTERS[escape] if escape in _LETTERS else int(escape, 8) & 0xFF])


async def _base(folder: Path, revision: str | None) -> str | None:
    if revision is None:
        head = await _ask(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return head.out.decode().strip() if head.status == 0 else None
    # What others did on that branch meanwhile is not a change of ours.
    merge_base = await _ask(folder, "merge-base", revision, "HEAD")
    return merge_base.out.decode().strip().partition("\n")[0] if merge_base.status == 0 else revision


async def _revision(folder: Path, name: str) -> str:
    if name.startswith("-"):
        raise GitRefused(f"{name!r} is not a revision")
    revision = await _ask(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if revision.status != 0:
        raise GitRefused(f"there is no revision {name!r} in this repository")
    return revision.out.decode().strip()


def _must(result: ProgramResult) -> bytes:
    if result.status != 0:
        message = result.err.decode("utf-8", "replace").strip().partition("\n")[0]
        raise ToolFailed("git", message or f"ended with {result.status}")
    return result.out


async def _isolate(folder: Path) -> foreign_git.Isolation:
    places = foreign_git.read_places(_must(await _ask(folder, *foreign_git.LOCATE)), folder)
    if places is None:
        raise ToolFailed("git", "the path of the repository contains a line break")
    settings = await _ask(folder, *foreign_git.READ_SETTINGS)  # ends with 1 if none of them is set
    # What is text is told by its content: attributes that call it binary would hide a change.
    return foreign_git.Isolation(
        _program(), places, settings=foreign_git.read_settings(settings.out), attributes="* !diff\n"
    )


async def _look(folder: Path, isolation: foreign_git.Isolation, *words: str) -> ProgramResult:
    command = isolation.command(*words)
    return await run_program(command.words, cwd=str(folder), env=command.env)


async def _ask(folder: Path, *words: str) -> ProgramResult:
    command = foreign_git.ask_repository(_program(), words)
    return await run_program(command.words, cwd=str(folder), env=command.env)


def _program() -> str:
    program = find_program("git")
    if program is None:
        raise ToolFailed("git", "is not installed")
    return program
