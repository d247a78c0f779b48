"""Previews a commit of some files of a folder.

A preview runs nothing that the repository's configuration names, and writes nothing into the repository: it
works in a git folder of its own, with a copy of the index, and keeps new objects to itself. Its `identity` is
the commit that HEAD names and the tree that the chosen files make; whoever commits says it again, so that
what is committed is what was looked at.

Files are those below one folder, by their paths in it. What git ignores, submodules and repositories within
the repository are not among them.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from dragoman.system import git
from dragoman.system.git import GitPlaces, read_names
from dragoman.system.git_process import GitFailed, GitTimeout, git_program, run_git
from dragoman.text.sanitize import sanitize, sanitize_line
from dragoman_local.workspace.folder_snapshot import find_repository
from dragoman_local.workspace.refusals import INVALID_PARAMS, refusal

REFUSED: Final = -32600
"""The error code if no commit is possible now: JSON-RPC's code for an invalid request."""

SECONDS: Final = 20.0
"""The most seconds of one git command here."""

MOST_FILES: Final = 1000
"""The most files to offer; a folder with more of them is for a terminal."""

DIFF_BYTES: Final = 512 * 1024
"""The most bytes of the difference to show."""

COMPARED_BYTES: Final = 32 * 1024 * 1024
"""The most bytes of chosen files for which a difference is computed."""

SUBJECTS: Final = 40
"""The commits to read for the style of messages."""

HOOKS: Final = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
"""The hooks that git runs for a commit."""

_UNDER_WAY: Final = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase, or git am,",
}
_KINDS: Final = {"A": "added", "M": "modified", "T": "modified", "D": "removed"}
_EMPTY_TREE: Final = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}


class CommitFile(Struct, frozen=True, kw_only=True):
    """A file that differs from the last commit, by its path in the folder."""

    path: str
    kind: str
    """`added`, `modified` or `removed`."""
    is_chosen: bool
    lines_added: int | None = None
    """None if the file was not chosen, or is not text."""
    lines_removed: int | None = None


class CommitHook(Struct, frozen=True, kw_only=True):
    """A program of the repository that git runs for a commit."""

    name: str
    path: str
    modified: float
    """The time of its last change, in seconds since 1970."""


class CommitPreview(Struct, frozen=True, kw_only=True):
    """The files and author of a commit, and its side effects."""

    top: str
    """The root folder of the repository's files."""
    head: str
    """The last commit; empty before the first."""
    branch: str
    """Empty if HEAD is detached."""
    author: str
    files: tuple[CommitFile, ...]
    hooks: tuple[CommitHook, ...]
    subjects: tuple[str, ...]
    """The subjects of the last commits, the latest first."""
    diff: str
    is_diff_cut: bool
    identity: str
    """Empty if no file is chosen."""
    warnings: tuple[str, ...]


class RepositoryView:
    """A repository that is ready for a commit, from a folder in it. Made by `open_repository`."""

    def __init__(self, folder: str, places: GitPlaces, scratch: Path) -> None:
        self.folder = folder
        self.places = places
        self.git_dir = Path(os.path.abspath(places.index_file)).parent
        self._own = scratch / "git"
        self._index = scratch / "index"
        git.fill_own_folder(self._own, places.algorithm)
        self._copy_settings()
        self._settings = git.read_settings(self._ask(*git.READ_SETTINGS, may_be=(0, 1)))
        self.head = self.read_head()
        self.branch = self._ask_line("symbolic-ref", "--quiet", "--short", "HEAD")

    def _copy_settings(self) -> None:
        info = self.places.exclude.parent
        for source, name in (
            (self.places.exclude, "info/exclude"),
            (info / "attributes", "info/attributes"),
            (self.places.shallow, "shallow"),
        ):
            if source.is_file():
                shutil.copyfile(source, self._own / name)
        for index_part in self.git_dir.glob("sharedindex.*"):
            shutil.copyfile(index_part, self._own / index_part.name)

    def read_head(self) -> str:
        """Return the commit of HEAD; empty before the first."""
        return self._ask_line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    def parent_of(self, commit: str) -> str:
        """Return its first parent; empty if it has none."""
        return self._ask_line("rev-parse", "--verify", "--quiet", f"{commit}^")

    def short_name(self, commit: str) -> str:
        """Return the shortest form that is unique here."""
        return self._ask_line("rev-parse", "--short", commit)

    # What stands in the way.

    def check_ready(self) -> None:
        """Raise the error with the reason why no commit is possible here now, and the next step."""
        for name, operation in _UNDER_WAY.items():
            if (self.git_dir / name).exists():
                raise refusal(
                    REFUSED,
                    "under_way",
                    f"{operation} is under way in this repository: "
                    "end it or abort it in a terminal, then commit",
                )
        if self.staged_paths():
            names = ", ".join(self.staged_paths()[:5])
            raise refusal(
                REFUSED,
                "staged",
                f"something is staged already ({sanitize_line(names)}): commit it in a terminal, "
                "or take it back with `git restore --staged .`",
            )

    def staged_paths(self) -> list[str]:
        """Paths that are in the index but not in the last commit, by path in the repository."""
        self._reset()
        words = ("diff-index", "--cached", "--name-only", "-z", "--no-renames", "--ignore-submodules=none")
        return read_names(self._run(*words, self.base, "--", cwd=self.places.top))

    def author(self) -> str:
        """The author of the commit, as `Name <address>`. Git never invents one."""
        try:
            words = ("-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
            line = os.fsdecode(self._ask(*words)).strip()
        except GitFailed:
            raise refusal(
                REFUSED,
                "no_author",
                "git does not know who commits: run `git config --global user.name NAME` and "
                "`git config --global user.email ADDRESS` on the hub's machine",
            ) from None
        return sanitize_line(line.rpartition(">")[0] + ">")

    @property
    def base(self) -> str:
        """The base of the comparison: the last commit, or nothing."""
        return self.head or _EMPTY_TREE[self.places.algorithm]

    # What would be committed.

    def changed_files(self) -> dict[str, str]:
        """Return files that differ from the index, by path in the folder: `added`,
        `modified` or `removed`.
        """
        self._reset()
        self._run("update-index", "-q", "--refresh", may_be=(0, 1))
        words = ("diff-files", "--name-status", "-z", "--no-renames", "--ignore-submodules=all")
        fields = read_names(self._run(*words, "--relative", "--", "."))
        files = {
            path: _KINDS.get(letter, "modified") for letter, path in zip(*[iter(fields)] * 2, strict=False)
        }
        new_files = read_names(self._run("ls-files", "-z", "-o", "--exclude-standard", "--", "."))
        files |= {path: "added" for path in new_files if not path.endswith("/")}
        return dict(sorted((path, kind) for path, kind in files.items() if _is_text(path)))

    def tree(self, paths: Collection[str]) -> str:
        """Return the tree of the last commit with these files from the disk; it stays in our own folder."""
        self._reset()
        feed = b"".join(os.fsencode(path) + b"\0" for path in sorted(paths))
        self._run("update-index", "-z", "--add", "--remove", "--replace", "--stdin", feed=feed)
        return self._run("write-tree", "--missing-ok").decode().strip()

    def identity(self, paths: Collection[str]) -> str:
        """Return an id of a preview of these files; empty if there are none."""
        return f"{self.head or 0}-{self.tree(paths)}" if paths else ""

    def line_counts(self) -> dict[str, tuple[int | None, int | None]]:
        """Return the added and removed lines of the files of the last `tree`, by path; None for files that
        are not text.
        """
        counts: dict[str, tuple[int | None, int | None]] = {}
        for row in read_names(self._diff("--numstat", "-z")):
            plus, minus, path = row.split("\t", 2)
            is_text = plus.isdigit() and minus.isdigit()
            counts[path] = (int(plus), int(minus)) if is_text else (None, None)
        return counts

    def diff(self) -> tuple[str, bool]:
        """Return the difference of the last `tree`, and whether it is cut."""
        text = self._diff("-p")
        return sanitize(text[:DIFF_BYTES].decode("utf-8", "replace")), len(text) > DIFF_BYTES

    def _diff(self, *words: str) -> bytes:
        options = ("--no-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
        return self._run("diff-index", "--cached", *options, "--relative", *words, self.base, "--", ".")

    def subjects(self, commit: str = "") -> list[str]:
        """Return the subjects of the last commits up to this one, or to HEAD, without merges."""
        if not (commit or self.head):
            return []
        words = ("rev-list", "--no-merges", f"--max-count={SUBJECTS}", "--format=%s", commit or self.head)
        lines = self._run(*words).decode("utf-8", "replace").splitlines()
        return [sanitize_line(line) for line in lines[1::2] if line]

    def hooks(self) -> list[CommitHook]:
        """Return the programs that git runs for a commit here."""
        # The last value is ours, which keeps git from running any.
        folders = read_names(self._ask("config", "-z", "--type=path", "--get-all", "core.hooksPath"))[:-1]
        default = self.places.exclude.parent.parent / "hooks"
        folder = Path(self.places.top, folders[-1]) if folders else default
        hooks: list[CommitHook] = []
        for name in HOOKS:
            try:
                status = (folder / name).stat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) and status.st_mode & 0o111:
                path = os.path.abspath(folder / name)
                hooks.append(CommitHook(name=name, path=path, modified=status.st_mtime))
        return hooks

    # Git.

    def _reset(self) -> None:
        """Our index is the repository's."""
        self._index.unlink(missing_ok=True)
        if self.places.index_file.is_file():
            # With its date: git goes by it where the clock was too slow to tell two changes apart.
            shutil.copy2(self.places.index_file, self._index)

    def _run(
        self, *words: str, feed: bytes = b"", may_be: tuple[int, ...] = (0,), cwd: str | None = None
    ) -> bytes:
        objects = os.path.realpath(self.places.objects).replace("\\", "\\\\").replace('"', '\\"')
        command = git.in_own_folder(
            git_program(),
            words,
            folder=str(self._own),
            top=self.places.top,
            where={
                "GIT_INDEX_FILE": str(self._index),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{objects}"',
            },
            settings=(*self._settings, "core.bigFileThreshold=1m", "core.safecrlf=false"),
        )
        return run_git(command, cwd=cwd or self.folder, seconds=SECONDS, feed=feed, may_be=may_be)

    def _ask(self, *words: str, may_be: tuple[int, ...] = (0,)) -> bytes:
        command = git.ask_repository(git_program(), words)
        return run_git(command, cwd=self.folder, seconds=SECONDS, may_be=may_be)

    def _ask_line(self, *words: str) -> str:
        return os.fsdecode(self._ask(*words, may_be=(0, 1))).strip()


@contextmanager
def open_repository(folder: str) -> Iterator[RepositoryView]:
    """Yield the repository around a folder for the length of the block. Raises an error if there is none."""
    root = os.path.realpath(folder)
    with tempfile.TemporaryDirectory(prefix="dragoman-commit-", ignore_cleanup_errors=True) as scratch:
        try:
            yield RepositoryView(root, _find(root), Path(scratch))
        except GitTimeout:
            why = f"git took longer than {SECONDS:g} s in {sanitize_line(root)}: commit in a terminal"
            raise refusal(REFUSED, "too_slow", why) from None
        except (GitFailed, OSError) as error:
            why = f"git could not look at {sanitize_line(root)}: {sanitize_line(str(error))}"
            raise refusal(REFUSED, "git_failed", why) from None


def _find(root: str) -> GitPlaces:
    try:
        return find_repository(root, SECONDS)
    except GitFailed as error:
        if "not a git repository" not in str(error):
            raise
        raise refusal(
            REFUSED,
            "no_repository",
            f"{sanitize_line(root)} is in no git repository: run `git init` there to make one",
        ) from None


def repository_top(folder: str) -> str:
    """Return the root of the repository around a folder; raises an error if there is none."""
    with open_repository(folder) as view:
        return view.places.top


def preview_commit(
    folder: str, *, paths: Collection[str] | None = None, own_paths: Collection[str] = ()
) -> CommitPreview:
    """Prepare a preview of a commit of `paths`; without them, of those of `own_paths` that differ.

    Paths are those in the folder. Raises the answer that says why no commit can be made.
    """
    with open_repository(folder) as view:
        view.check_ready()
        author = view.author()
        changed_files = view.changed_files()
        if not changed_files:
            why = "nothing differs from the last commit in the session's folder: there is nothing to commit"
            raise refusal(REFUSED, "nothing", why)
        warnings = list(_warnings(view, changed_files))
        if len(changed_files) > MOST_FILES:
            preference = set(own_paths if paths is None else paths)
            selection = sorted(changed_files, key=lambda path: (path not in preference, path))[:MOST_FILES]
            changed_files = {path: changed_files[path] for path in sorted(selection)}
        chosen_paths = (
            check_paths(changed_files, paths) if paths is not None else set(own_paths) & set(changed_files)
        )
        return _describe(view, changed_files, chosen_paths, author=author, warnings=warnings)


def check_paths(changed_files: Collection[str], paths: Collection[str]) -> set[str]:
    """Return the paths, if each of them differs."""
    strange = sorted(set(paths) - set(changed_files))
    if strange:
        is_outside = any(
            os.path.isabs(path) or path.startswith(os.pardir) for path in map(os.path.normpath, strange)
        )
        raise refusal(
            INVALID_PARAMS if is_outside else REFUSED,
            "moved",
            f"{sanitize_line(strange[0], exact=True)} does not differ from the last commit, or is not below "
            "the session's folder: look at the changes again",
        )
    return set(paths)


def _describe(
    view: RepositoryView,
    changed_files: dict[str, str],
    chosen_paths: Collection[str],
    *,
    author: str,
    warnings: Sequence[str],
) -> CommitPreview:
    identity = view.identity(chosen_paths)
    counts: dict[str, tuple[int | None, int | None]] = {}
    diff, is_cut = "", False
    if chosen_paths:
        is_cut = _total_size(view.folder, chosen_paths) > COMPARED_BYTES
        if not is_cut:
            counts = view.line_counts()
            diff, is_cut = view.diff()
    files = [
        CommitFile(
            path=path,
            kind=kind,
            is_chosen=path in chosen_paths,
            lines_added=counts.get(path, (None, None))[0],
            lines_removed=counts.get(path, (None, None))[1],
        )
        for path, kind in changed_files.items()
    ]
    return CommitPreview(
        top=view.places.top,
        head=view.head,
        branch=view.branch,
        author=author,
        files=tuple(files),
        hooks=tuple(view.hooks()),
        subjects=tuple(view.subjects()),
        diff=diff,
        is_diff_cut=is_cut,
        identity=identity,
        warnings=tuple(warnings),
    )


def _warnings(view: RepositoryView, changed_files: Collection[str]) -> Iterator[str]:
    if not view.branch:
        yield "HEAD is detached: the commit will be on no branch; make one with `git switch -c NAME`"
    if len(changed_files) > MOST_FILES:
        yield f"{len(changed_files)} files differ, and the first {MOST_FILES} are offered: add a .gitignore?"


def _total_size(folder: str, paths: Collection[str]) -> int:
    total = 0
    for path in paths:
        with suppress(OSError):  # it was removed
            total += os.lstat(os.path.join(folder, path)).st_size
    return total


def _is_text(path: str) -> bool:
    """Whether a name can be shown."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
